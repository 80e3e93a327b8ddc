// XXH3 behind one name. Values are written to disk, so the function and its seed never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern {

std::uint64_t hash64(std::string_view bytes) noexcept;
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) noexcept;

}  // namespace tern
