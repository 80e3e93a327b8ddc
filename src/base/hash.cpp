#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tern {

std::uint64_t hash64(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tern
