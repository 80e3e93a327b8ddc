#include "server/public_key.hpp"

namespace tern::server {
namespace {

// CRC-16/XMODEM.
std::uint16_t checksum(const unsigned char* bytes, std::size_t size) {
  std::uint16_t crc = 0;
  for (std::size_t at = 0; at < size; ++at) {
    crc = static_cast<std::uint16_t>(crc ^ (bytes[at] << 8));
    for (int bit = 0; bit < 8; ++bit)
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
  }
  return crc;
}

}  // namespace

std::string encode_public_key(key_prefix prefix, const std::array<unsigned char, 32>& key) {
  constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::array<unsigned char, 35> raw{};
  raw[0] = static_cast<unsigned char>(prefix);
  for (std::size_t at = 0; at < key.size(); ++at) raw[at + 1] = key[at];
  const std::uint16_t crc = checksum(raw.data(), 33);
  raw[33] = static_cast<unsigned char>(crc & 0xff);
  raw[34] = static_cast<unsigned char>(crc >> 8);
  std::string out;
  out.reserve(56);
  std::uint32_t bits = 0;
  int held = 0;
  for (const unsigned char byte : raw) {
    bits = (bits << 8) | byte;
    for (held += 8; held >= 5; held -= 5) out += alphabet[(bits >> (held - 5)) & 31];
  }
  return out;
}

}  // namespace tern::server
