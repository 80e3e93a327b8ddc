#include "server/monitoring/connection_report.hpp"

#include <gtest/gtest.h>

namespace tern::server {
namespace {

connection_report report_with(std::uint64_t id, std::size_t bytes) {
  connection_report out;
  out.id = id;
  out.subscription_count = 1;
  out.subscriptions.push_back({.subject = std::string(bytes, 's'), .queue = {}, .sid = "1"});
  return out;
}

TEST(closed_connections, keeps_the_newest) {
  closed_connections closed(3);
  for (std::uint64_t id = 1; id <= 5; ++id) closed.add(report_with(id, 10));
  ASSERT_EQ(closed.all().size(), 3u);
  EXPECT_EQ(closed.all().front().id, 3u);
  EXPECT_EQ(closed.all().back().id, 5u);
}

TEST(closed_connections, older_ones_forget_their_subscriptions_before_memory_grows) {
  constexpr std::size_t big = closed_connections::subscription_bytes_max / 4;
  closed_connections closed(8);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    closed.add(report_with(id, big));
    std::size_t held = 0;
    for (const connection_report& one : closed.all())
      for (const subscription_report& subscription : one.subscriptions) held += subscription.subject.size();
    ASSERT_LE(held, closed_connections::subscription_bytes_max);
    ASSERT_EQ(closed.all().back().subscriptions.size(), 1u);
  }
  EXPECT_EQ(closed.all().size(), 8u);
  EXPECT_TRUE(closed.all().front().subscriptions.empty());
  EXPECT_EQ(closed.all().front().subscription_count, 1u);
  // One that alone is over the limit is still shown.
  closed.add(report_with(21, closed_connections::subscription_bytes_max + 1));
  EXPECT_EQ(closed.all().back().subscriptions.size(), 1u);
}

}  // namespace
}  // namespace tern::server
