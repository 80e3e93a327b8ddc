// WebSocket frames (RFC 6455) of both sides: headers, masks, close codes. Functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tern::protocol {

enum class websocket_opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

enum class websocket_close : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  no_code = 1005,  // never on the wire
  policy = 1008,
  too_big = 1009,
  internal_error = 1011,
  tls = 1015,
};

inline constexpr std::size_t websocket_header_max = 14;
inline constexpr std::size_t websocket_control_max = 125;  // payload of a control frame

struct websocket_header {
  websocket_opcode opcode = websocket_opcode::binary;
  bool final = true;
  bool compressed = false;  // the first reserved bit, permessage-deflate's
  bool masked = false;
  std::uint32_t mask = 0;  // its four bytes as they lie in memory
  std::uint64_t length = 0;
};

// Writes at most websocket_header_max bytes; the end of what was written.
char* put_websocket_header(char* to, const websocket_header& what);
// Masks or unmasks, beginning with the byte of the mask that `offset` bytes before have led to.
void apply_websocket_mask(std::span<char> bytes, std::uint32_t mask, std::uint64_t offset = 0);

// A whole control frame; the payload is cut to what one may hold.
void append_websocket_control(std::string& out, websocket_opcode what, std::string_view payload,
                              const std::uint32_t* mask = nullptr);
// The payload of a close frame.
std::string websocket_close_payload(websocket_close code, std::string_view reason);

}  // namespace tern::protocol
