/// Errors as values: every fallible function of Tern returns `tern::result<T>`.
///
///     tern::result<int> parse_port(std::string_view text);
///     if (auto port = parse_port("42x"); !port) std::cerr << port.error().message() << '\n';
///
/// Thread safety: an error is a plain value. Source: service specification section 27.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tern {

/// What went wrong, for programs. The text for people is in error::message().
enum class errc {
  invalid_argument = 1,
  invalid_options,
  invalid_subject,
  invalid_header,
  connect_failed,
  subscribe_failed,
  not_started,
  closed,
  unsupported,
  settle_failed,
  payload_too_large,
  no_responders,
  timeout,
  no_stream_for_subject,
  wrong_last_sequence,
  decode_error,
  encode_error,
  extract_failed,
  handler_failed,
  missing_heartbeat,
  consumer_deleted,
  pull_failed,
  shutdown_timeout,
  not_quiescent,
  api_error,  ///< A JetStream API answer carried an error; api_code() has its number.
  disconnected,
  not_found,
  already_exists,
  config_error,
  io_error,
  disk_full,
  corrupted,
  protocol_error,
  limit_exceeded,
  cancelled,
};

const std::error_category& tern_category() noexcept;
inline std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), tern_category()}; }

/// A code, the context ("stream ORDERS: open segment 3") and, where there is one, what to do about it.
class error {
 public:
  error(errc code, std::string context) : code_(code), context_(std::move(context)) {}
  error(errc code, std::string context, std::string hint)
      : code_(code), context_(std::move(context)), hint_(std::move(hint)) {}

  errc code() const noexcept { return code_; }
  std::error_code error_code() const noexcept { return make_error_code(code_); }
  const std::string& context() const noexcept { return context_; }
  const std::string& hint() const noexcept { return hint_; }
  /// The JetStream `err_code` when code() is errc::api_error (also kept for errors derived from one), else 0.
  int api_code() const noexcept { return api_code_; }
  /// A line for people: context, then the hint in brackets.
  std::string message() const;

  error& with_api_code(int code) & {
    api_code_ = code;
    return *this;
  }
  error&& with_api_code(int code) && {
    api_code_ = code;
    return std::move(*this);
  }
  /// Puts `prefix: ` before the context, as an error travels up.
  error&& within(std::string_view prefix) &&;

  friend bool operator==(const error&, const error&) = default;

 private:
  errc code_;
  int api_code_ = 0;
  std::string context_;
  std::string hint_;
};

template <class T>
using result = std::expected<T, error>;

inline std::unexpected<error> fail(errc code, std::string context, std::string hint = {}) {
  return std::unexpected(error(code, std::move(context), std::move(hint)));
}

}  // namespace tern

template <>
struct std::is_error_code_enum<tern::errc> : std::true_type {};
