// The one place that knows Beast's HTTP for WebSockets.
#include "protocol/websocket/upgrade.hpp"

#include "base/ascii.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace tern::protocol {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view accept_guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t key_length = 24;  // of 16 bytes in base64

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_case(x) == lower_case(y); });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <class Fields>
bool lists(const Fields& fields, http::field name, std::string_view word) {
  const auto range = fields.equal_range(name);
  for (auto at = range.first; at != range.second; ++at) {
    for (const auto token : http::token_list{at->value()})
      if (same_word(view_of(token), word)) return true;
  }
  return false;
}

// An offer that asks for what we always do, and for no smaller window of ours.
template <class Fields>
bool offers_deflate(const Fields& fields) {
  const auto range = fields.equal_range(http::field::sec_websocket_extensions);
  for (auto at = range.first; at != range.second; ++at) {
    for (const auto& offer : http::ext_list{at->value()}) {
      if (!same_word(view_of(offer.first), "permessage-deflate")) continue;
      bool fits = true;
      for (const auto& parameter : offer.second) {
        const std::string_view name = view_of(parameter.first);
        fits = fits && (same_word(name, "client_max_window_bits") || same_word(name, "server_no_context_takeover") ||
                        same_word(name, "client_no_context_takeover"));
      }
      if (fits) return true;
    }
  }
  return false;
}

void read_cookies(std::string_view line, std::map<std::string, std::string, std::less<>>& into) {
  constexpr std::size_t cookies_max = 64;
  while (!line.empty() && into.size() < cookies_max) {
    const std::size_t end = std::min(line.find(';'), line.size());
    const std::string_view pair = trimmed(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    std::string_view value = trimmed(pair.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    into.try_emplace(std::string(trimmed(pair.substr(0, equals))), value);
  }
}

std::string_view status_text(int status) {
  switch (status) {
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Request";
  }
}

template <class Message>
void read_request(const Message& from, upgrade_request& to) {
  const auto text = [&from](http::field name) { return std::string(trimmed(view_of(from[name]))); };
  to.method = view_of(from.method_string());
  const std::string_view target = view_of(from.target());
  to.path = target.substr(0, target.find('?'));
  to.host = text(http::field::host);
  to.origin = text(http::field::origin);
  if (to.origin.empty()) to.origin = trimmed(view_of(from["Sec-Websocket-Origin"]));
  to.key = text(http::field::sec_websocket_key);
  to.version = text(http::field::sec_websocket_version);
  to.user_agent = text(http::field::user_agent);
  const std::string_view forwarded = view_of(from["X-Forwarded-For"]);
  to.forwarded_for = trimmed(forwarded.substr(0, forwarded.find(',')));
  to.upgrade = lists(from, http::field::upgrade, "websocket");
  to.connection = lists(from, http::field::connection, "upgrade");
  to.deflate = offers_deflate(from);
  to.no_masking = same_word(trimmed(view_of(from["Nats-No-Masking"])), "true");
  const auto cookies = from.equal_range(http::field::cookie);
  for (auto at = cookies.first; at != cookies.second; ++at) read_cookies(view_of(at->value()), to.cookies);
}

}  // namespace

upgrade_parse parse_upgrade_request(std::string_view bytes) {
  upgrade_parse out;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(upgrade_bytes_max);
  parser.eager(false);
  boost::system::error_code status;
  // The end of the headers is looked for first: what stands behind it belongs to the WebSocket.
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() > upgrade_bytes_max) out.what = upgrade_parse::state::malformed;
    parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), status);
    if (status && status != http::error::need_more) out.what = upgrade_parse::state::malformed;
    return out;
  }
  out.size = end + 4;
  parser.put(boost::asio::const_buffer(bytes.data(), out.size), status);
  if (status || !parser.is_header_done()) {
    out.what = upgrade_parse::state::malformed;
    return out;
  }
  read_request(parser.get(), out.request);
  out.what = upgrade_parse::state::complete;
  return out;
}

std::optional<upgrade_refusal> check_upgrade_request(const upgrade_request& what) {
  if (what.method != "GET") return upgrade_refusal{405, "request method must be GET"};
  if (what.host.empty()) return upgrade_refusal{400, "'Host' missing in request"};
  if (!what.upgrade) return upgrade_refusal{400, "invalid value for header 'Upgrade'"};
  if (!what.connection) return upgrade_refusal{400, "invalid value for header 'Connection'"};
  if (what.key.empty()) return upgrade_refusal{400, "key missing"};
  const bool fits =
      what.key.size() == key_length && what.key.ends_with("==") &&
      what.key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == key_length - 2;
  if (!fits) return upgrade_refusal{400, "invalid websocket key"};
  if (what.version != "13") return upgrade_refusal{400, "invalid version"};
  return std::nullopt;
}

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

std::string websocket_accept_key(std::string_view key) {
  const std::string text = std::string(key).append(accept_guid);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  return base64({reinterpret_cast<const char*>(digest.data()), length});
}

std::string upgrade_answer(const upgrade_request& to, bool deflate, const std::map<std::string, std::string>& headers) {
  std::string out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  out.append("Sec-WebSocket-Accept: ").append(websocket_accept_key(to.key)).append("\r\n");
  if (deflate)
    out.append(
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
        "client_no_context_takeover\r\n");
  if (to.no_masking) out.append("Nats-No-Masking: true\r\n");
  for (const auto& [name, value] : headers) out.append(name).append(": ").append(value).append("\r\n");
  return out.append("\r\n");
}

std::string upgrade_refusal_answer(int status, std::string_view date) {
  const std::string_view text = status_text(status);
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(text).append("\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\n");
  out.append("X-Content-Type-Options: nosniff\r\nDate: ").append(date).append("\r\nContent-Length: ");
  return out.append(std::to_string(text.size() + 1)).append("\r\nConnection: close\r\n\r\n").append(text).append("\n");
}

std::string bad_request_answer(std::string_view detail) {
  const std::string text = "400 Bad Request" + (detail.empty() ? std::string() : ": " + std::string(detail));
  return "HTTP/1.1 " + text + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" + text;
}

std::string upgrade_request_text(const upgrade_call& what) {
  std::string out = "GET " + what.path + " HTTP/1.1\r\nHost: " + what.host;
  out.append("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ").append(what.key);
  out.append("\r\nSec-WebSocket-Version: 13\r\n");
  if (what.deflate)
    out.append(
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
        "client_no_context_takeover\r\n");
  for (const auto& [name, value] : what.headers) out.append(name).append(": ").append(value).append("\r\n");
  return out.append("\r\n");
}

upgrade_answer_parse parse_upgrade_answer(std::string_view bytes, std::string_view key) {
  upgrade_answer_parse out;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() > upgrade_bytes_max) out.what = upgrade_parse::state::malformed;
    return out;
  }
  http::response_parser<http::empty_body> parser;
  parser.header_limit(upgrade_bytes_max);
  parser.skip(true);
  boost::system::error_code status;
  out.size = end + 4;
  parser.put(boost::asio::const_buffer(bytes.data(), out.size), status);
  if (status || !parser.is_header_done()) {
    out.what = upgrade_parse::state::malformed;
    return out;
  }
  const auto& answer = parser.get();
  out.what = upgrade_parse::state::complete;
  out.status = static_cast<int>(answer.result_int());
  out.accepted = out.status == 101 && lists(answer, http::field::upgrade, "websocket") &&
                 trimmed(view_of(answer[http::field::sec_websocket_accept])) == websocket_accept_key(key);
  out.deflate = offers_deflate(answer);
  return out;
}

}  // namespace tern::protocol
