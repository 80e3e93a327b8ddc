#include "base/go_duration.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tern {
namespace {

using namespace std::chrono_literals;

nanoseconds parsed(std::string_view text) {
  const auto value = parse_go_duration(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value.value_or(nanoseconds(-77));
}

TEST(go_duration, reads_what_go_reads) {
  EXPECT_EQ(parsed("1h30m"), 90min);
  EXPECT_EQ(parsed("300ms"), 300ms);
  EXPECT_EQ(parsed("1.5h"), 90min);
  EXPECT_EQ(parsed("-5s"), -5s);
  EXPECT_EQ(parsed("+5s"), 5s);
  EXPECT_EQ(parsed("0"), 0ns);
  EXPECT_EQ(parsed("-0"), 0ns);
  EXPECT_EQ(parsed(".5s"), 500ms);
  EXPECT_EQ(parsed("5.s"), 5s);
  EXPECT_EQ(parsed("1us"), 1us);
  EXPECT_EQ(parsed("1\xc2\xb5s"), 1us);
  EXPECT_EQ(parsed("1\xce\xbcs"), 1us);
  EXPECT_EQ(parsed("2h3m4s5ms6us7ns"), 2h + 3min + 4s + 5ms + 6us + 7ns);
  EXPECT_EQ(parsed("0.3333333333333333333h"), 20min);
  EXPECT_EQ(parsed("9223372036854775807ns"), nanoseconds::max());
  EXPECT_EQ(parsed("-9223372036854775808ns"), nanoseconds::min());
}

TEST(go_duration, refuses_what_go_refuses) {
  for (const std::string_view text : {"", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "1h 30m", "--5s", "1e3s", "5sx",
                                      "9223372036854775808ns", "3000000h", "99999999999999999999s", "\x85\x85"}) {
    const auto value = parse_go_duration(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code(), errc::invalid_argument);
  }
}

TEST(go_duration, names_what_is_wrong_as_go_does) {
  EXPECT_EQ(parse_go_duration("3").error().message(), "missing unit in duration \"3\"");
  EXPECT_EQ(parse_go_duration("1h").has_value(), true);
  EXPECT_EQ(parse_go_duration("").error().message(), "invalid duration \"\"");
}

TEST(go_duration, prints_as_go_prints) {
  EXPECT_EQ(to_go_duration(0ns), "0s");
  EXPECT_EQ(to_go_duration(1min), "1m0s");
  EXPECT_EQ(to_go_duration(1h), "1h0m0s");
  EXPECT_EQ(to_go_duration(1500ms), "1.5s");
  EXPECT_EQ(to_go_duration(300ms), "300ms");
  EXPECT_EQ(to_go_duration(1100us), "1.1ms");
  EXPECT_EQ(to_go_duration(2200ns), "2.2\xc2\xb5s");
  EXPECT_EQ(to_go_duration(7ns), "7ns");
  EXPECT_EQ(to_go_duration(-90min), "-1h30m0s");
  EXPECT_EQ(to_go_duration(4min + 5001ms), "4m5.001s");
  EXPECT_EQ(to_go_duration(5h + 6min + 7001ms), "5h6m7.001s");
  EXPECT_EQ(to_go_duration(8min + 1ns), "8m0.000000001s");
  EXPECT_EQ(to_go_duration(nanoseconds::max()), "2562047h47m16.854775807s");
  EXPECT_EQ(to_go_duration(nanoseconds::min()), "-2562047h47m16.854775808s");
}

TEST(go_duration, reads_what_it_prints) {
  for (const nanoseconds value : {1ns, 999ns, 1000ns, 123'456ns, 1'000'001ns, 59'999'999'999ns, 86'400'000'000'001ns}) {
    EXPECT_EQ(parsed(to_go_duration(value)), value);
    EXPECT_EQ(parsed(to_go_duration(-value)), -value);
  }
}

}  // namespace
}  // namespace tern
