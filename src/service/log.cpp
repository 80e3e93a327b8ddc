#include <tern/service/log.hpp>

#include "runtime/clock.hpp"
#include "runtime/host/log.hpp"
#include "service/app_core.hpp"

namespace tern::service {
namespace {

runtime::host::log_level to_host(log_level level) {
  switch (level) {
    case log_level::debug:
      return runtime::host::log_level::debug;
    case log_level::info:
      return runtime::host::log_level::info;
    case log_level::warn:
      return runtime::host::log_level::warn;
    case log_level::error:
      return runtime::host::log_level::error;
  }
  return runtime::host::log_level::info;
}

class process_sink final : public log_sink {
 public:
  process_sink() {
    if (auto opened = runtime::host::open_log({}, clock_)) log_ = std::move(*opened);
  }
  void write(const log_record& record) override {
    if (log_) log_->write(to_host(record.level), record.line());
  }

 private:
  runtime::real_clock clock_;
  std::unique_ptr<runtime::host::process_log> log_;
};

}  // namespace

std::string_view to_word(log_level level) {
  switch (level) {
    case log_level::debug:
      return "debug";
    case log_level::info:
      return "info";
    case log_level::warn:
      return "warn";
    case log_level::error:
      return "error";
  }
  return "unknown";
}

std::string log_record::line() const {
  std::string made = text;
  for (const auto& field : fields) {
    const bool quote = field.value.empty() || field.value.find_first_of(" \"=") != std::string::npos;
    made += ' ' + field.name + '=' + (quote ? '"' + field.value + '"' : field.value);
  }
  return made;
}

std::shared_ptr<log_sink> standard_error_sink() { return std::make_shared<process_sink>(); }

void log::write(log_level level, std::string_view text, std::initializer_list<log_field> fields) {
  if (detail::app_core* app = detail::current_app()) app->log(level, text, fields);
}

}  // namespace tern::service
