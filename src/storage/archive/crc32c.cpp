#include "storage/archive/crc32c.hpp"

#include <array>
#include <cstring>

namespace tern::storage::archive {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
using table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr table make_tables() {
  table made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
    made[0][byte] = value;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t slice = 1; slice < 8; ++slice) {
      const std::uint32_t before = made[slice - 1][byte];
      made[slice][byte] = before >> 8 ^ made[0][before & 0xff];
    }
  }
  return made;
}

constexpr table tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint32_t low, high;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
          tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^ tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ tables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  return ~crc;
}

}  // namespace tern::storage::archive
