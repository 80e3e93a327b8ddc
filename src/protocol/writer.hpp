// The control lines of both sides, appended as bytes. The `put_` functions write to memory that has room (see the
// `_size_max` functions) and return the end: what fans a message out into output blocks uses them. The `append_` ones
// grow a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/numbers.hpp"

namespace tern::protocol {

inline constexpr std::string_view crlf = "\r\n";
inline constexpr std::string_view ping_line = "PING\r\n";
inline constexpr std::string_view pong_line = "PONG\r\n";
inline constexpr std::string_view ok_line = "+OK\r\n";

inline constexpr std::size_t decimal_digits_max = 20;

namespace detail {
// Pairs of digits, so that a number costs one division per two digits.
inline constexpr char digit_pairs[] =
    "000102030405060708091011121314151617181920212223242526272829303132333435363738394041424344454647484950515253545556"
    "57"
    "585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
}  // namespace detail

inline char* put_decimal(char* out, std::uint64_t value) {
  if (value < 10) {
    *out = static_cast<char>('0' + value);
    return out + 1;
  }
  if (value < 100) {
    std::memcpy(out, detail::digit_pairs + value * 2, 2);
    return out + 2;
  }
  char digits[decimal_digits_max];
  char* at = digits + decimal_digits_max;
  while (value >= 100) {
    at -= 2;
    std::memcpy(at, detail::digit_pairs + (value % 100) * 2, 2);
    value /= 100;
  }
  if (value >= 10) {
    at -= 2;
    std::memcpy(at, detail::digit_pairs + value * 2, 2);
  } else {
    *--at = static_cast<char>('0' + value);
  }
  const auto count = static_cast<std::size_t>(digits + decimal_digits_max - at);
  std::memcpy(out, at, count);
  return out + count;
}

inline char* put_text(char* out, std::string_view text) {
  if (text.empty()) return out;  // which may be no text at all: memcpy() wants none of its null
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Room that one message line needs at most, with header or without.
inline std::size_t message_line_size_max(std::string_view subject, std::string_view sid, std::string_view reply) {
  return subject.size() + sid.size() + reply.size() + 12 + 2 * decimal_digits_max;
}

// `MSG <subject> <sid> [reply] <size> CRLF`
inline char* put_message_line(char* out, std::string_view subject, std::string_view sid, std::string_view reply,
                              std::size_t size) {
  std::memcpy(out, "MSG ", 4);
  out = put_text(out + 4, subject);
  *out++ = ' ';
  out = put_text(out, sid);
  *out++ = ' ';
  if (!reply.empty()) {
    out = put_text(out, reply);
    *out++ = ' ';
  }
  out = put_decimal(out, size);
  std::memcpy(out, "\r\n", 2);
  return out + 2;
}

// `HMSG <subject> <sid> [reply] <header size> <total size> CRLF`
inline char* put_header_message_line(char* out, std::string_view subject, std::string_view sid, std::string_view reply,
                                     std::size_t header_size, std::size_t total_size) {
  std::memcpy(out, "HMSG ", 5);
  out = put_text(out + 5, subject);
  *out++ = ' ';
  out = put_text(out, sid);
  *out++ = ' ';
  if (!reply.empty()) {
    out = put_text(out, reply);
    *out++ = ' ';
  }
  out = put_decimal(out, header_size);
  *out++ = ' ';
  out = put_decimal(out, total_size);
  std::memcpy(out, "\r\n", 2);
  return out + 2;
}

void append_message_line(std::string& out, std::string_view subject, std::string_view sid, std::string_view reply,
                         std::size_t size);
void append_header_message_line(std::string& out, std::string_view subject, std::string_view sid,
                                std::string_view reply, std::size_t header_size, std::size_t total_size);
// Whole frames; an empty header makes a MSG or PUB.
void append_message(std::string& out, std::string_view subject, std::string_view sid, std::string_view reply,
                    std::string_view header, std::string_view payload);
void append_publish(std::string& out, std::string_view subject, std::string_view reply, std::string_view header,
                    std::string_view payload);

void append_subscribe(std::string& out, std::string_view subject, std::string_view queue, std::string_view sid);
void append_subscribe(std::string& out, std::string_view subject, std::string_view queue, std::uint64_t sid);
// A max of 0 is left out.
void append_unsubscribe(std::string& out, std::string_view sid, std::uint64_t max = 0);
void append_unsubscribe(std::string& out, std::uint64_t sid, std::uint64_t max = 0);
void append_connect(std::string& out, std::string_view json);
// With a blank before CRLF, as the peer writes it (core 1.1).
void append_info(std::string& out, std::string_view json);
// `-ERR '<text>' CRLF`
void append_error(std::string& out, std::string_view text);
// Go's %q: quoted, with backslash escapes for what is not printable; for subjects in -ERR texts and log lines.
void append_quoted(std::string& out, std::string_view text);
std::string quoted(std::string_view text);

}  // namespace tern::protocol
