// Public keys as NATS writes them: base32 of a prefix byte, 32 bytes and a checksum (core 3.1).
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tern::server {

enum class key_prefix : std::uint8_t { server = 13 << 3, curve = 23 << 3 };  // N..., X...

// 56 letters and digits.
std::string encode_public_key(key_prefix prefix, const std::array<unsigned char, 32>& key);

}  // namespace tern::server
