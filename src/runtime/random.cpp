#include "runtime/random.hpp"

#include <sys/random.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tern::runtime {

std::uint64_t real_random::next() {
  std::uint64_t value;
  unsigned char bytes[sizeof value];
  fill(bytes);
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void real_random::fill(std::span<unsigned char> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      // Going on with predictable keys would be worse than not going on.
      std::fputs("the operating system gives no random numbers\n", stderr);
      std::abort();
    }
  }
}

// splitmix64: every seed, 0 included, gives a full-period sequence.
std::uint64_t seeded_random::next() {
  std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

void seeded_random::fill(std::span<unsigned char> out) {
  while (!out.empty()) {
    const std::uint64_t value = next();
    const std::size_t take = std::min(out.size(), sizeof value);
    std::memcpy(out.data(), &value, take);
    out = out.subspan(take);
  }
}

}  // namespace tern::runtime
