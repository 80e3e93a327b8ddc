#include "parse.hpp"

#include <gtest/gtest.h>

namespace tern::command {
namespace {

using namespace std::chrono_literals;
using enum client::deliver_policy;

TEST(durations, take_days_and_longer_beside_the_units_of_go) {
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("1d12h"), 36h);
  EXPECT_EQ(parse_duration("2w"), 14 * 24h);
  EXPECT_EQ(parse_duration("1M"), 30 * 24h);
  EXPECT_EQ(parse_duration("1y1d"), 366 * 24h);
  EXPECT_EQ(parse_duration("0"), 0s);
  for (const char* wrong : {"", "5", "d", "1x", "1d5", "300y", "9999999999999999999d", "1d-5s"}) {
    ASSERT_FALSE(parse_duration(wrong)) << wrong;
    EXPECT_EQ(parse_duration(wrong).error().code(), errc::invalid_argument);
  }
}

TEST(sizes, take_binary_units) {
  EXPECT_EQ(parse_size("512"), 512);
  EXPECT_EQ(parse_size("128B"), 128);
  EXPECT_EQ(parse_size("10k"), 10 * 1024);
  EXPECT_EQ(parse_size("1MB"), 1 << 20);
  EXPECT_EQ(parse_size("1MiB"), 1 << 20);
  EXPECT_EQ(parse_size("2g"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_size("-1"), -1);
  for (const char* wrong : {"", "k", "1kk", "-2", "1.5M", "99999999T", "1XB"}) EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(header_options, are_name_and_value) {
  const auto headers = parse_headers({"A:b", "X-Url: http://x:1/ "});
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->get("A"), "b");
  EXPECT_EQ(headers->get("X-Url"), "http://x:1/");
  EXPECT_FALSE(parse_headers({"nothing"}));
  EXPECT_FALSE(parse_headers({":x"}));
  EXPECT_FALSE(parse_headers({"a b:x"}));
}

TEST(policies, have_the_words_of_the_nats_command) {
  EXPECT_EQ(parse_retention("work"), client::retention_policy::workqueue);
  EXPECT_EQ(parse_retention("workqueue"), client::retention_policy::workqueue);
  EXPECT_EQ(parse_storage("memory"), client::storage_type::memory);
  EXPECT_EQ(parse_discard("new"), client::discard_policy::new_messages);
  EXPECT_EQ(parse_ack("all"), client::ack_policy::all);
  EXPECT_EQ(parse_storage("disk").error().message(), "'disk' is no storage (use file or memory)");
}

TEST(starts_of_delivery, are_words_sequences_or_times) {
  const time_point now = *parse_rfc3339("2026-01-02T00:00:00Z");
  const auto started = [&](std::string_view text) {
    client::consumer_config config;
    EXPECT_TRUE(apply_deliver(config, text, now)) << text;
    return config;
  };
  EXPECT_EQ(started("all").deliver_policy, all);
  EXPECT_EQ(started("subject").deliver_policy, last_per_subject);
  EXPECT_EQ(started("17").deliver_policy, by_start_sequence);
  EXPECT_EQ(started("17").opt_start_seq, 17u);
  EXPECT_EQ(started("1d").deliver_policy, by_start_time);
  EXPECT_EQ(started("1d").opt_start_time, *parse_rfc3339("2026-01-01T00:00:00Z"));
  client::consumer_config config;
  EXPECT_FALSE(apply_deliver(config, "somewhere", now));
}

TEST(backoffs, are_linear_or_listed) {
  EXPECT_EQ(parse_backoff("none", 10, 1min, 20min)->size(), 0u);
  const auto linear = parse_backoff("linear", 10, 1min, 20min);
  ASSERT_TRUE(linear);
  ASSERT_EQ(linear->size(), 10u);
  EXPECT_EQ(linear->at(0), 1min);
  EXPECT_EQ(linear->at(1), 2min + 54s);
  EXPECT_EQ(linear->at(9), 18min + 6s);
  EXPECT_EQ(parse_backoff("1s,5s,30s", 10, 1min, 20min), (std::vector<nanoseconds>{1s, 5s, 30s}));
  EXPECT_FALSE(parse_backoff("1s,,30s", 10, 1min, 20min));
  EXPECT_FALSE(parse_backoff("linear", 10, 20min, 1min));
}

}  // namespace
}  // namespace tern::command
