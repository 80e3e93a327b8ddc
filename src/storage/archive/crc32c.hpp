// CRC-32C (Castagnoli), as Snappy and S2 frames carry it. Tables of eight bytes at a time: Boost's is a byte at a time,
// and a snapshot passes every byte through it on the loop.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::storage::archive {

std::uint32_t crc32c(std::string_view bytes);

// The masked form that stands in a frame.
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

}  // namespace tern::storage::archive
