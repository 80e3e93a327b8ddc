#include "protocol/connect.hpp"

#include "base/ascii.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::protocol {
namespace {

bool is_secret(std::string_view key) {
  const std::string lower = lower_case(key);
  return lower.starts_with("pass") || lower.starts_with("auth_token") || lower == "sig" || lower == "proxy_sig" ||
         lower == "nkey";
}

// Behind the string that begins at the quote; the end of the text when it is not closed.
std::size_t end_of_string(std::string_view text, std::size_t quote) {
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Length of the UTF-8 sequence at the front; 0 when there is none (overlong forms and surrogates are none).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&text](std::size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  };
  const auto follows = [&byte](std::size_t at) { return (byte(at) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second_fits = first == 0xE0 ? second >= 0xA0 : first == 0xED ? second <= 0x9F : true;
    return follows(1) && second_fits && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second_fits = first == 0xF0 ? second >= 0x90 : first == 0xF4 ? second <= 0x8F : true;
    return follows(1) && second_fits && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// The code unit of the escape `\uXXXX` at the front; -1 when there is none.
int code_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return -1;
  int unit = 0;
  for (const char letter : text.substr(2, 4)) {
    const int digit = letter >= '0' && letter <= '9'   ? letter - '0'
                      : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                      : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                                       : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

// A JSON text whose strings are UTF-8, for one whose strings may not be.
std::string with_valid_text(std::string_view json) {
  std::string out;
  const auto is_high = [](int unit) { return unit >= 0xD800 && unit <= 0xDBFF; };
  const auto is_low = [](int unit) { return unit >= 0xDC00 && unit <= 0xDFFF; };
  for (std::size_t at = 0; at < json.size();) {
    const std::string_view rest = json.substr(at);
    std::size_t length = sequence_length(rest);
    if (const int unit = code_unit(rest); unit >= 0) {
      const bool pair = is_high(unit) && is_low(code_unit(rest.substr(6)));
      length = pair ? 12 : 6;
      if (!pair && (is_high(unit) || is_low(unit))) {
        out += replacement;
        at += length;
        continue;
      }
    } else if (rest.front() == '\\') {
      length = std::min<std::size_t>(rest.size(), 2);
    }
    if (length == 0)
      out += replacement, ++at;
    else
      out.append(rest.substr(0, length)), at += length;
  }
  return out;
}

}  // namespace

void append_connect(std::string& out, const connect_options& options) {
  out += "CONNECT ";
  codec::write_json(out, options);
  out += "\r\n";
}

result<connect_options> read_connect(std::string_view json, const connect_options& onto) {
  connect_options out = onto;
  if (codec::read_json_into(json, out, codec::peer_lenient)) return out;
  out = onto;
  if (auto read = codec::read_json_into(with_valid_text(json), out, codec::peer_lenient); !read)
    return std::unexpected(std::move(read).error());
  return out;
}

std::string redact_connect(std::string_view json) {
  std::string out;
  std::size_t at = 0;
  while (at < json.size()) {
    if (json[at] != '"') {
      out += json[at++];
      continue;
    }
    const std::size_t end = end_of_string(json, at);
    const std::size_t colon = skip_blanks(json, end);
    const bool is_key = colon < json.size() && json[colon] == ':';
    const bool secret = is_key && end - at >= 2 && is_secret(json.substr(at + 1, end - at - 2));
    out.append(json, at, end - at);
    at = end;
    if (!secret) continue;
    const std::size_t value = skip_blanks(json, colon + 1);
    out.append(json, at, value - at);
    out += "\"[REDACTED]\"";
    if (value < json.size() && json[value] == '"') {
      at = end_of_string(json, value);
    } else {
      at = std::min(json.find_first_of(",}", value), json.size());
    }
  }
  return out;
}

}  // namespace tern::protocol
