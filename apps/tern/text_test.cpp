#include "text.hpp"

#include <gtest/gtest.h>

namespace tern::command {
namespace {

using namespace std::chrono_literals;

TEST(numbers_for_people, have_thousands_and_binary_units) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1'000), "1,000");
  EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
  EXPECT_EQ(human_bytes(336), "336 B");
  EXPECT_EQ(human_bytes(1 << 20), "1.0 MiB");
  EXPECT_EQ(human_bytes(112 * 1024), "112 KiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}), "16 EiB");
}

TEST(numbers_for_people, say_unlimited_where_there_is_no_limit) {
  EXPECT_EQ(limit_text(-1), "unlimited");
  EXPECT_EQ(limit_text(0), "unlimited");
  EXPECT_EQ(limit_text(1'500), "1,500");
  EXPECT_EQ(byte_limit_text(-1), "unlimited");
  EXPECT_EQ(byte_limit_text(1 << 20), "1.0 MiB");
}

TEST(durations_for_people, are_rounded_to_what_matters) {
  EXPECT_EQ(short_duration(0ns), "0ns");
  EXPECT_EQ(short_duration(-5s), "0s");
  EXPECT_EQ(short_duration(93'400ns), "93µs");
  EXPECT_EQ(short_duration(9'340ns), "9.3µs");
  EXPECT_EQ(short_duration(108ms), "108ms");
  EXPECT_EQ(short_duration(30'770ms), "30.77s");
  EXPECT_EQ(short_duration(30s), "30s");
  EXPECT_EQ(short_duration(62s), "1m2s");
  EXPECT_EQ(short_duration(25h + 3s), "1d1h0m3s");
}

TEST(times_for_people, are_utc) {
  const auto at = *parse_rfc3339("2026-11-30T21:19:07.638718891Z");
  EXPECT_EQ(day_and_time(at), "2026-11-30 21:19:07");
  EXPECT_EQ(time_of_day(at), "21:19:07");
  EXPECT_EQ(kitchen_time(at), "9:19PM");
  EXPECT_EQ(kitchen_time(*parse_rfc3339("2026-01-01T00:05:00Z")), "12:05AM");
  EXPECT_EQ(day_and_time(*parse_rfc3339("1969-12-31T23:59:59Z")), "1969-12-31 23:59:59");
}

TEST(field_lists, align_labels_over_all_sections) {
  field_list list;
  list.section("First");
  list.field("A", "1");
  list.section("Second");
  list.field("Longer", true);
  EXPECT_EQ(list.text(), "First:\n\n       A: 1\n\nSecond:\n\n  Longer: true\n");
}

TEST(tables, give_each_column_its_longest_cell) {
  table columns;
  columns.column("NAME");
  columns.column("SIZE", table::alignment::right);
  columns.column("LAST");
  columns.row({"ORDERS", "5", "9µs"});
  columns.row({"x", "12345", ""});
  EXPECT_EQ(columns.text(),
            "NAME     SIZE  LAST\n"
            "ORDERS      5  9µs\n"
            "x       12345\n");
}

}  // namespace
}  // namespace tern::command
