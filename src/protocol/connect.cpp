#include "protocol/connect.hpp"

#include <tern/codec/json.hpp>

namespace tern::protocol {
namespace {

bool is_secret(std::string_view key) {
  std::string lower(key);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter | 0x20);
  }
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

}  // namespace

void append_connect(std::string& out, const connect_options& options) {
  out += "CONNECT ";
  codec::write_json(out, options);
  out += "\r\n";
}

result<connect_options> read_connect(std::string_view json) {
  return codec::read_json<connect_options>(json, codec::peer_lenient);
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
