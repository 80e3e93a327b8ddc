#include "runtime/forward_offset.hpp"

#include <gtest/gtest.h>

namespace tern::runtime {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(forward_offset, a_step_forward_is_followed_at_the_next_comparison) {
  forward_offset offset(0, 1000 * second);
  EXPECT_EQ(offset.at(second / 100, [] { return 5000 * second; }), 1000 * second);  // not compared yet
  EXPECT_EQ(offset.at(second, [] { return 1061 * second; }), 1060 * second);
  EXPECT_EQ(offset.at(second + 1, [] { return 9999 * second; }), 1060 * second);
}

TEST(forward_offset, a_step_back_is_not_followed) {
  forward_offset offset(0, 1000 * second);
  EXPECT_EQ(offset.at(second, [] { return 10 * second; }), 1000 * second);
  EXPECT_EQ(offset.at(2 * second, [] { return 1002 * second; }), 1000 * second);
}

TEST(forward_offset, slewing_and_reading_jitter_are_no_steps) {
  forward_offset offset(0, 1000 * second);
  EXPECT_EQ(offset.at(second, [] { return 1001 * second + 900'000; }), 1000 * second);
  EXPECT_EQ(offset.at(2 * second, [] { return 1002 * second + 1'100'000; }), 1000 * second + 1'100'000);
}

}  // namespace
}  // namespace tern::runtime
