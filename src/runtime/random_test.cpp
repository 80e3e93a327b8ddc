#include "runtime/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tern::runtime {
namespace {

TEST(seeded_random, repeats_itself_for_a_seed) {
  seeded_random a(7), b(7), c(8);
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  std::array<unsigned char, 13> left{}, right{};
  a.fill(left);
  b.fill(right);
  EXPECT_EQ(left, right);
  EXPECT_EQ(a.next(), b.next());
}

TEST(real_random, gives_different_numbers) {
  real_random source;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(source.next()).second);
  std::array<unsigned char, 1000> bytes{};
  source.fill(bytes);
  EXPECT_GT((std::set<unsigned char>(bytes.begin(), bytes.end()).size()), 200u);
}

}  // namespace
}  // namespace tern::runtime
