// How a WebSocket begins: the HTTP request and its answer, of both sides (RFC 6455 4, core 8). Functions of bytes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/base/error.hpp>

namespace tern::protocol {

inline constexpr std::size_t upgrade_bytes_max = 64 << 10;  // of a request or an answer, all headers together

struct upgrade_request {
  std::string method, path;  // without the query
  std::string host, origin, key, version, user_agent;
  std::string forwarded_for;  // the first of X-Forwarded-For
  bool upgrade = false;       // the Upgrade header names websocket
  bool connection = false;    // the Connection header names upgrade
  bool deflate = false;       // permessage-deflate is offered in a form that we speak
  bool no_masking = false;    // a leaf node that wants to send unmasked frames
  std::map<std::string, std::string, std::less<>> cookies;
};

struct upgrade_parse {
  enum class state { incomplete, malformed, complete };
  state what = state::incomplete;
  std::size_t size = 0;  // of the request, when complete
  upgrade_request request;
};

upgrade_parse parse_upgrade_request(std::string_view bytes);

// The HTTP status and the reason for the log ("invalid version"), when it is no request for a WebSocket.
struct upgrade_refusal {
  int status;
  std::string reason;
};
std::optional<upgrade_refusal> check_upgrade_request(const upgrade_request& what);

std::string websocket_accept_key(std::string_view key);
// The 101 answer; `headers` are added as they are.
std::string upgrade_answer(const upgrade_request& to, bool deflate, const std::map<std::string, std::string>& headers);
std::string upgrade_refusal_answer(int status, std::string_view date);
// When the HTTP itself is broken.
std::string bad_request_answer(std::string_view detail);

// --- the client's side ---
struct upgrade_call {
  std::string host;  // as the Host header has it
  std::string path = "/";
  std::string key;  // 16 random bytes in base64
  bool deflate = false;
  std::map<std::string, std::string> headers;
};
std::string upgrade_request_text(const upgrade_call& what);

struct upgrade_answer_parse {
  upgrade_parse::state what = upgrade_parse::state::incomplete;
  std::size_t size = 0;
  int status = 0;
  bool accepted = false;  // 101, with the right key
  bool deflate = false;
};
upgrade_answer_parse parse_upgrade_answer(std::string_view bytes, std::string_view key);

std::string base64(std::string_view bytes);

}  // namespace tern::protocol
