#include "base/nuid.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tern {
namespace {

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

TEST(nuid, has_22_letters_and_digits_and_never_repeats) {
  nuid_source source(1);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = source.next();
    ASSERT_EQ(id.size(), 22u);
    for (const char c : id) ASSERT_TRUE(is_letter_or_digit(c)) << id;
    ASSERT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(nuid, the_same_seed_gives_the_same_ids) {
  nuid_source a(42), b(42), c(43);
  const std::string first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_EQ(a.random_text(8), b.random_text(8));
}

TEST(nuid, one_prefix_serves_many_ids) {
  nuid_source source(7);
  const std::string first = source.next(), second = source.next();
  EXPECT_EQ(first.substr(0, 12), second.substr(0, 12));
  EXPECT_NE(first.substr(12), second.substr(12));
}

}  // namespace
}  // namespace tern
