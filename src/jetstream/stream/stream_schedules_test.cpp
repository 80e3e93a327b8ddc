#include "jetstream/machine_harness.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view scheduling =
    R"({"name":"S","subjects":["s.>","t.>"],"allow_msg_schedules":true,"allow_msg_ttl":true})";

template <class Server>
std::uint64_t count(Server& server, std::string_view subject) {
  return server.jetstream().find_stream("$G", "S")->log().totals(subject).messages;
}

std::string schedule(std::string_view pattern, std::string_view more = {}) {
  return "NATS/1.0\r\nNats-Schedule: " + std::string(pattern) + "\r\nNats-Schedule-Target: t.x\r\n" +
         std::string(more) + "\r\n";
}

TEST(message_schedules, a_repeating_one_runs_until_it_is_removed) {  // jetstream 5.9
  machine_harness server;
  server.api("STREAM.CREATE.S", scheduling);
  server.request("s.1", "x", schedule("@every 10s"));
  server.advance(45s);
  EXPECT_EQ(count(server, "t.x"), 4U);
  server.api("STREAM.PURGE.S", R"({"filter":"s.1"})");
  server.advance(1min);
  EXPECT_EQ(count(server, "t.x"), 4U);
}

TEST(message_schedules, a_run_carries_the_lifetime_and_roll_up_that_were_asked_for) {  // jetstream 5.9
  machine_harness server;
  server.api("STREAM.CREATE.S", scheduling);
  server.request("s.1", "x", schedule("@every 10s", "Nats-Schedule-TTL: 15s\r\nNats-Schedule-Rollup: sub\r\nK: v\r\n"));
  server.advance(35s);
  EXPECT_EQ(count(server, "t.x"), 1U);
  server.api("STREAM.PURGE.S", R"({"filter":"s.1"})");
  server.advance(20s);
  EXPECT_EQ(count(server, "t.x"), 0U);
}

TEST(message_schedules, a_crash_repeats_no_run_and_a_missed_one_comes_once) {  // jetstream 5.9, 22
  machine_harness server;
  server.api("STREAM.CREATE.S", scheduling);
  server.request("s.1", "x", schedule("@every 10s"));
  server.advance(25s);
  EXPECT_EQ(count(server, "t.x"), 2U);
  server.crash();
  server.advance(1s);
  EXPECT_EQ(count(server, "t.x"), 2U);
  server.crash();
  server.pass_without_power(1min);
  server.advance(1s);
  EXPECT_EQ(count(server, "t.x"), 3U);
  server.advance(10s);
  EXPECT_EQ(count(server, "t.x"), 4U);
}

TEST(message_schedules, a_single_run_ends_its_schedule_over_any_crash) {  // jetstream 5.9
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    machine_harness server(seed);
    server.api("STREAM.CREATE.S", scheduling);
    server.request("s.1", "x", schedule("@at 2020-01-01T00:00:00Z"));
    server.advance(std::chrono::milliseconds(100 * seed));
    server.crash(runtime::crash_loss::random_subset);
    server.advance(5s);
    EXPECT_EQ(count(server, "t.x"), 1U) << seed;
    EXPECT_EQ(count(server, "s.1"), 0U) << seed;
  }
}

TEST(message_schedules, a_schedule_of_a_batch_counts_from_its_commit) {  // jetstream 5.9, 5.10
  machine_harness server;
  server.api("STREAM.CREATE.S",
             R"({"name":"S","subjects":["s.>","t.>"],"allow_msg_schedules":true,"allow_atomic":true})");
  EXPECT_THAT(server.request("s.1", "x",
                             schedule("@at 2020-01-01T00:00:00Z",
                                      "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: 1\r\n")),
              HasSubstr("\"count\":1"));
  server.advance(1s);
  EXPECT_EQ(count(server, "t.x"), 1U);
}

}  // namespace
}  // namespace tern::jetstream
