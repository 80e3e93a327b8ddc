#include "protocol/websocket/frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tern::protocol {

char* put_websocket_header(char* to, const websocket_header& what) {
  *to++ = static_cast<char>((what.final ? 0x80 : 0) | (what.compressed ? 0x40 : 0) | static_cast<int>(what.opcode));
  const int masked = what.masked ? 0x80 : 0;
  int bytes = 0;
  if (what.length < 126) {
    *to++ = static_cast<char>(masked | static_cast<int>(what.length));
  } else if (what.length < 65536) {
    *to++ = static_cast<char>(masked | 126);
    bytes = 2;
  } else {
    *to++ = static_cast<char>(masked | 127);
    bytes = 8;
  }
  while (bytes-- > 0) *to++ = static_cast<char>(what.length >> (8 * bytes) & 0xff);
  if (what.masked) {
    std::memcpy(to, &what.mask, sizeof what.mask);
    to += sizeof what.mask;
  }
  return to;
}

void apply_websocket_mask(std::span<char> bytes, std::uint32_t mask, std::uint64_t offset) {
  std::uint32_t turned = mask;
  if (const unsigned shift = offset % 4; shift != 0) {
    char parts[4];
    std::memcpy(parts, &mask, sizeof parts);
    std::rotate(parts, parts + shift, parts + 4);
    std::memcpy(&turned, parts, sizeof parts);
  }
  const std::uint64_t wide = std::uint64_t{turned} << 32 | turned;
  char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof wide; left -= sizeof wide, at += sizeof wide) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word ^= wide;
    std::memcpy(at, &word, sizeof word);
  }
  char parts[4];
  std::memcpy(parts, &turned, sizeof parts);
  for (std::size_t i = 0; i < left; ++i) at[i] = static_cast<char>(at[i] ^ parts[i % 4]);
}

void append_websocket_control(std::string& out, websocket_opcode what, std::string_view payload,
                              const std::uint32_t* mask) {
  payload = payload.substr(0, websocket_control_max);
  char header[websocket_header_max];
  const char* const end = put_websocket_header(
      header,
      {.opcode = what, .masked = mask != nullptr, .mask = mask != nullptr ? *mask : 0, .length = payload.size()});
  out.append(header, static_cast<std::size_t>(end - header));
  const std::size_t begin = out.size();
  out.append(payload);
  if (mask != nullptr) apply_websocket_mask({out.data() + begin, payload.size()}, *mask);
}

std::string websocket_close_payload(websocket_close code, std::string_view reason) {
  if (code == websocket_close::no_code) return {};
  const auto number = static_cast<std::uint16_t>(code);
  std::string out{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  return out.append(reason.substr(0, websocket_control_max - 2));
}

}  // namespace tern::protocol
