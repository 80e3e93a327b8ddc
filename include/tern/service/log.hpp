/// Where an application's records go. Library code never installs a global sink; the default writes one line per record
/// to the standard error stream.
///
///     app_builder("payments", "0.1.0").log_to(std::make_shared<my_sink>());
///
/// Thread safety: write() is called on the application's thread. Source: service specification section 23.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tern::service {

enum class log_level { debug, info, warn, error };
std::string_view to_word(log_level level);

struct log_field {
  log_field(std::string_view name, std::string_view value) : name(name), value(value) {}
  log_field(std::string_view name, const char* value) : name(name), value(value) {}
  log_field(std::string_view name, const std::string& value) : name(name), value(value) {}
  log_field(std::string_view name, std::integral auto value) : name(name), value(std::to_string(value)) {}
  template <class Counter>  // nats::delivered_count and the like
    requires(std::is_class_v<Counter> && std::convertible_to<Counter, std::uint64_t> &&
             !std::convertible_to<Counter, std::string_view>)
  log_field(std::string_view name, Counter value) : log_field(name, static_cast<std::uint64_t>(value)) {}
  std::string name;
  std::string value;
};

struct log_record {
  log_level level = log_level::info;
  std::string text;
  std::vector<log_field> fields;
  std::string line() const;  // text name=value ...
};

class log_sink {
 public:
  virtual ~log_sink() = default;
  virtual bool enabled(log_level level) const { return level != log_level::debug; }
  virtual void write(const log_record& record) = 0;
};
std::shared_ptr<log_sink> standard_error_sink();

/// For handlers: to the sink of the application whose handler is running.
namespace log {
void write(log_level level, std::string_view text, std::initializer_list<log_field> fields);
inline void debug(std::string_view text, std::initializer_list<log_field> fields = {}) {
  write(log_level::debug, text, fields);
}
inline void info(std::string_view text, std::initializer_list<log_field> fields = {}) {
  write(log_level::info, text, fields);
}
inline void warn(std::string_view text, std::initializer_list<log_field> fields = {}) {
  write(log_level::warn, text, fields);
}
inline void error(std::string_view text, std::initializer_list<log_field> fields = {}) {
  write(log_level::error, text, fields);
}
}  // namespace log

}  // namespace tern::service
