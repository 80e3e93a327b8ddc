#include "base/hash.hpp"

#include <gtest/gtest.h>

namespace tern {
namespace {

// XXH3 of the published algorithm: these values stand in files on disk and may never change.
TEST(hash, is_xxh3_of_64_bits) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash64("", 0), hash64(""));
  EXPECT_NE(hash64("a", 1), hash64("a", 2));
  EXPECT_NE(hash64("ab"), hash64("ba"));
}

}  // namespace
}  // namespace tern
