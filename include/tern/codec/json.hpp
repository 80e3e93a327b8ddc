/// JSON for plain records: `write_json` appends, `read_json<T>` reads.
///
///     auto order = tern::codec::read_json<order_placed>(R"({"id":"o-1","amount":1299})");
///     if (!order) log(order.error().message());             // "amount: expected integer"
///
/// Integers are exact to 64 bits, floats are refused for integer members, trailing bytes and malformed text anywhere
/// (in ignored members too) are refused, UTF-8 is validated, the last of duplicate keys wins, null is absent. Thread
/// safety: functions without shared state; each thread keeps a parser and its buffers between calls. Source: JetStream
/// specification 1.5, service specification section 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <tern/base/error.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::codec {

enum class unknown_fields : std::uint8_t { ignore, refuse };
enum class key_case : std::uint8_t { exact, insensitive };
enum class missing_fields : std::uint8_t { use_default, refuse };

struct read_options {
  unknown_fields unknown = unknown_fields::ignore;
  key_case keys = key_case::exact;
  missing_fields missing = missing_fields::use_default;  ///< `refuse` holds for all members but std::optional ones
  std::size_t depth_max = 64;
};

/// As the peer's decoder reads API requests: key case does not matter; unknown fields refused or ignored.
inline constexpr read_options peer_strict{.unknown = unknown_fields::refuse, .keys = key_case::insensitive};
inline constexpr read_options peer_lenient{.keys = key_case::insensitive};
/// As payloads of services are read: every member that is not optional must be there.
inline constexpr read_options payload_options{.missing = missing_fields::refuse};

enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

/// A value of a JSON text while it is read; for custom_json hooks and documents without a record. Each value is read
/// once, front to back. A function that returns false has failed (or, for next_*, met the end): check failed().
class json_reader {
 public:
  virtual ~json_reader() = default;

  virtual json_kind kind() = 0;
  virtual bool as_bool(bool& value) = 0;
  virtual bool as_int64(std::int64_t& value) = 0;
  virtual bool as_uint64(std::uint64_t& value) = 0;
  virtual bool as_double(double& value) = 0;
  virtual bool as_string(std::string_view& value) = 0;  // valid until the next call
  virtual bool as_null() = 0;
  /// Reads and checks the value; `text` is its source.
  virtual bool raw(std::string_view& text) = 0;
  /// Reads and checks the value, then forgets it.
  virtual bool skip() = 0;
  /// The value as a described type.
  virtual bool as(const value_type& type, void* object) = 0;
  template <class T>
  bool as(T& value) {
    return as(type_of<T>(), &value);
  }

  /// Enters the object or array; next_key() / next_element() move to the next member, whose value must then be read or
  /// skipped, and return false at the end, which also leaves it.
  virtual bool enter_object() = 0;
  virtual bool next_key(std::string_view& key) = 0;  // key valid until the value is read
  virtual bool enter_array() = 0;
  virtual bool next_element() = 0;

  virtual bool failed() const = 0;
  /// Notes what is wrong with the current value (the first note counts) and returns false.
  virtual bool fail(std::string_view what) = 0;
};

/// Appends the JSON text of a described value.
void write_json(std::string& out, const value_type& type, const void* object);

template <class T>
void write_json(std::string& out, const T& value) {
  write_json(out, type_of<T>(), &value);
}

template <class T>
std::string to_json(const T& value) {
  std::string out;
  write_json(out, value);
  return out;
}

/// Appends a quoted and escaped string; bytes that are no UTF-8 become U+FFFD.
void write_json_string(std::string& out, std::string_view text);
void write_json_number(std::string& out, std::int64_t value);
void write_json_number(std::string& out, std::uint64_t value);
void write_json_number(std::string& out, double value);

/// Reads into an existing object: members that are absent or null keep their values. On an error the object holds what
/// was read until then.
result<void> read_json_into(std::string_view text, const value_type& type, void* object, const read_options& options);

template <class T>
result<void> read_json_into(std::string_view text, T& value, const read_options& options = {}) {
  return read_json_into(text, type_of<T>(), &value, options);
}

template <class T>
result<T> read_json(std::string_view text, const read_options& options = {}) {
  T value{};
  if (auto read = read_json_into(text, type_of<T>(), &value, options); !read) {
    return std::unexpected(std::move(read).error());
  }
  return value;
}

/// Walks a text that has no record. `visit` reads the root value and returns false when it has failed.
result<void> walk_json(std::string_view text, const std::function<bool(json_reader&)>& visit,
                       const read_options& options = {});

/// Checks that the text is one JSON value and nothing else.
result<void> check_json(std::string_view text);

/// True for the error of an unknown field, whose context is exactly `json: unknown field "x"`.
bool is_unknown_field(const error& problem);

/// Standard base64 with padding, as json_bytes uses it; decoding also takes the URL alphabet and missing padding.
std::string to_base64(std::string_view bytes);
result<std::string> from_base64(std::string_view text);

}  // namespace tern::codec
