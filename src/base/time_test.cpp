#include <tern/base/time.hpp>

#include <gtest/gtest.h>

namespace tern {
namespace {

time_point parsed(std::string_view text) {
  const auto at = parse_rfc3339(text);
  EXPECT_TRUE(at.has_value()) << text;
  return at.value_or(time_point{});
}

TEST(rfc3339, prints_only_the_fraction_digits_that_are_needed) {
  EXPECT_EQ(to_rfc3339(from_unix_nanoseconds(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(from_unix_nanoseconds(7)), "1970-01-01T00:00:00.000000007Z");
  EXPECT_EQ(to_rfc3339(from_unix_nanoseconds(1'500'000'000)), "1970-01-01T00:00:01.5Z");
  EXPECT_EQ(to_rfc3339(from_unix_nanoseconds(-1)), "1969-12-31T23:59:59.999999999Z");
}

TEST(rfc3339, reads_what_it_prints) {
  for (const std::int64_t count : {0LL, 1LL, -1LL, 1'767'322'645'000'000'007LL, 951'782'400'000'000'000LL}) {
    EXPECT_EQ(parsed(to_rfc3339(from_unix_nanoseconds(count))), from_unix_nanoseconds(count));
  }
}

TEST(rfc3339, zone_offsets_are_taken_off) {
  EXPECT_EQ(parsed("2026-01-02T03:04:05+02:00"), parsed("2026-01-02T01:04:05Z"));
  EXPECT_EQ(parsed("2026-01-02T03:04:05.25-03:30"), parsed("2026-01-02T06:34:05.25Z"));
  EXPECT_EQ(parsed("2026-01-01T00:30:00+01:00"), parsed("2025-12-31T23:30:00Z"));
}

TEST(rfc3339, fraction_digits_after_the_ninth_do_not_count) {
  EXPECT_EQ(parsed("1970-01-01T00:00:00.1234567899999Z"), from_unix_nanoseconds(123'456'789));
}

TEST(rfc3339, the_zero_time_of_go_goes_both_ways) {
  EXPECT_EQ(parsed("0001-01-01T00:00:00Z"), time_point::min());
  EXPECT_EQ(to_rfc3339(time_point::min()), "0001-01-01T00:00:00Z");
}

TEST(rfc3339, refuses_everything_else) {
  for (const std::string_view text :
       {"", "2026", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Zjunk",
        "2026-01-02T03:04:05+2:00", "2026-01-02T03:04:05+24:00", "9999-01-01T00:00:00Z", "26-01-02T03:04:05Z"}) {
    const auto at = parse_rfc3339(text);
    ASSERT_FALSE(at.has_value()) << text;
    EXPECT_EQ(at.error().code(), errc::invalid_argument);
  }
}

}  // namespace
}  // namespace tern
