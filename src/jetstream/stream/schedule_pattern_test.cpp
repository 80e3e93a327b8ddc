#include "jetstream/stream/schedule_pattern.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tern::jetstream {
namespace {

time_point at(std::string_view text) { return *parse_rfc3339(text); }

// Central Europe in 2026.
class summer_and_winter final : public time_zone {
 public:
  nanoseconds offset_at(time_point when) const override {
    const bool summer = when >= at("2026-03-29T01:00:00Z") && when < at("2026-10-25T01:00:00Z");
    return std::chrono::hours(summer ? 2 : 1);
  }
};
const std::shared_ptr<const time_zone> europe = std::make_shared<summer_and_winter>();

std::string next(std::string_view pattern, std::string_view after, std::shared_ptr<const time_zone> zone = nullptr) {
  const auto parsed = schedule_pattern::parse(pattern, std::move(zone));
  if (!parsed) return "bad";
  const auto found = parsed->next(at(after), at(after));
  return found ? to_rfc3339(*found) : "never";
}

TEST(schedule_pattern, cron_runs_on_the_next_second_that_all_fields_allow) {  // jetstream 5.9
  EXPECT_EQ(next("* * * * * *", "2026-01-01T00:00:00.5Z"), "2026-01-01T00:00:01Z");
  EXPECT_EQ(next("0 0 0 1 1 *", "2026-01-01T00:00:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("30 15 10 * * *", "2026-01-31T10:15:30Z"), "2026-02-01T10:15:30Z");
  EXPECT_EQ(next("5/10 * * * * *", "2026-01-01T00:00:06Z"), "2026-01-01T00:00:15Z");
  EXPECT_EQ(next("0 0-30/10 */4 * * *", "2026-01-01T00:30:00Z"), "2026-01-01T04:00:00Z");
  EXPECT_EQ(next("0 0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 0 ? JAN mon-fri", "2026-01-02T00:00:00Z"), "2026-01-05T00:00:00Z");
  EXPECT_EQ(next("@weekly", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00Z");
}

TEST(schedule_pattern, either_kind_of_day_is_enough_when_both_are_restricted) {  // jetstream 5.9
  EXPECT_EQ(next("0 0 0 13 * 5", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
  EXPECT_EQ(next("0 0 0 13 * 5", "2026-01-12T00:00:00Z"), "2026-01-13T00:00:00Z");
}

TEST(schedule_pattern, intervals_fall_on_whole_seconds_and_skip_what_was_missed) {  // jetstream 5.9
  const auto pattern = *schedule_pattern::parse("@every 1m30s");
  const time_point stored = at("2026-01-01T00:00:00.6Z");
  EXPECT_EQ(to_rfc3339(pattern.first(stored)), "2026-01-01T00:01:31Z");
  EXPECT_EQ(to_rfc3339(*pattern.next(stored, at("2026-01-01T00:01:31Z"))), "2026-01-01T00:03:01Z");
  EXPECT_EQ(to_rfc3339(*pattern.next(stored, at("2026-01-01T01:00:00Z"))), "2026-01-01T01:00:01Z");
}

TEST(schedule_pattern, a_zone_moves_the_runs_and_leaves_out_what_its_clocks_skip) {  // jetstream 5.9
  EXPECT_EQ(next("0 0 12 * * *", "2026-07-01T00:00:00Z", europe), "2026-07-01T10:00:00Z");
  EXPECT_EQ(next("0 30 2 * * *", "2026-03-29T00:00:00Z", europe), "2026-03-30T00:30:00Z");
  EXPECT_EQ(next("0 30 2 * * *", "2026-10-24T23:00:00Z", europe), "2026-10-25T00:30:00Z");
  EXPECT_EQ(next("0 30 2 * * *", "2026-10-25T00:30:00Z", europe), "2026-10-26T01:30:00Z");
}

TEST(schedule_pattern, bad_ones_are_refused) {  // jetstream 5.9
  for (const auto* text : {"",
                           "soon",
                           "@at tomorrow",
                           "@at 1700000000",
                           "@every 999ms",
                           "@every 5",
                           "@every -5s",
                           "* * * * *",
                           "* * * * * * *",
                           "60 * * * * *",
                           "* * 24 * * *",
                           "* * * 0 * *",
                           "* * * * 13 *",
                           "* * * * * 7",
                           "*/0 * * * * *",
                           "10-5 * * * * *",
                           "0 0 0 30 2 *",
                           "@Daily",
                           "@reboot",
                           "1, * * * * *",
                           "-1 * * * * *",
                           "*/ * * * * *"})
    EXPECT_FALSE(schedule_pattern::parse(text)) << text;
  EXPECT_FALSE(schedule_pattern::parse("@every 5s", europe));
  EXPECT_FALSE(schedule_pattern::parse("@at 2099-01-01T00:00:00Z", europe));
  EXPECT_TRUE(schedule_pattern::parse("@daily", europe));
}

}  // namespace
}  // namespace tern::jetstream
