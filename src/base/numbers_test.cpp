#include "base/numbers.hpp"

#include <gtest/gtest.h>

namespace tern {
namespace {

TEST(numbers, decimals_are_appended) {
  std::string out = "n=";
  append_decimal(out, 0);
  append_decimal(out, 18446744073709551615u);
  EXPECT_EQ(out, "n=018446744073709551615");
  out.clear();
  append_signed_decimal(out, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out, "-9223372036854775808");
}

TEST(numbers, only_whole_texts_of_digits_are_decimals) {
  EXPECT_EQ(parse_decimal("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(parse_decimal("007"), 7u);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "-1", "1a", "18446744073709551616", "0x1"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  }
}

TEST(numbers, signed_decimals_know_a_minus_only) {
  EXPECT_EQ(parse_signed_decimal("-42"), -42);
  EXPECT_EQ(parse_signed_decimal("42"), 42);
  EXPECT_EQ(parse_signed_decimal("+42"), std::nullopt);
  EXPECT_EQ(parse_signed_decimal("-"), std::nullopt);
}

}  // namespace
}  // namespace tern
