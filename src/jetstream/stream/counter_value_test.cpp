#include "jetstream/stream/counter_value.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tern::jetstream {
namespace {

TEST(counter_value, adds_like_integers) {  // jetstream 5.7
  for (const std::int64_t a : {0, 1, -1, 9, 10, -10, 99, 100, -101, 12345}) {
    for (const std::int64_t b : {0, 1, -1, 9, -9, 10, 91, -100, 101, -12345})
      EXPECT_EQ(add_decimal_integers(std::to_string(a), std::to_string(b)), std::to_string(a + b)) << a << " + " << b;
  }
}

TEST(counter_value, goes_beyond_64_bits) {
  EXPECT_EQ(add_decimal_integers("100000000000000000000000000000000000000", "+42"),
            "100000000000000000000000000000000000042");
  EXPECT_EQ(add_decimal_integers("1", "-100000000000000000000000000000000000000"),
            "-99999999999999999999999999999999999999");
}

TEST(counter_value, writes_the_shortest_form) {
  EXPECT_EQ(add_decimal_integers("+007", "-0"), "7");
  EXPECT_EQ(add_decimal_integers("-0", "-0"), "0");
}

TEST(counter_value, reads_its_own_bodies_only) {
  EXPECT_EQ(parse_counter_body(counter_body("-42")), "-42");
  for (const std::string_view bad : {"", "{}", "[]", "{\"val\":42}", "{\"val\":\"x\"}", "42"})
    EXPECT_FALSE(parse_counter_body(bad)) << bad;
}

}  // namespace
}  // namespace tern::jetstream
