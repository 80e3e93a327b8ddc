#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Where a consumer stands, as its info tells.
class consumer_start : public ::testing::Test {
 protected:
  void SetUp() override { server.api("STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"],"storage":"memory"})"); }
  std::string create(std::string_view more) {
    return server.api(
        "CONSUMER.CREATE.S.C",
        R"({"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit")" + std::string(more) + "}}");
  }
  std::string info() { return server.api("CONSUMER.INFO.S.C"); }

  test_harness server;
};

TEST_F(consumer_start, a_purge_of_other_subjects_moves_an_untouched_position_to_the_first_message) {  // jetstream 13.9
  create("");
  for (const char* subject : {"s.a", "s.a", "s.b"}) server.request(subject, "x");
  server.api("STREAM.PURGE.S", R"({"filter":"s.a"})");
  EXPECT_THAT(info(),
              AllOf(HasSubstr(R"("delivered":{"consumer_seq":0,"stream_seq":2})"),
                    HasSubstr(R"("ack_floor":{"consumer_seq":0,"stream_seq":2})"), HasSubstr(R"("num_pending":1)")));
}

TEST_F(consumer_start, a_purge_below_a_sequence_moves_positions_no_further_than_the_first_message) {  // jetstream 13.9
  create(R"(,"filter_subject":"s.a")");
  for (const char* subject : {"s.b", "s.b", "s.b"}) server.request(subject, "x");
  server.api("STREAM.PURGE.S", R"({"seq":1})");
  EXPECT_THAT(info(), HasSubstr(R"("delivered":{"consumer_seq":0,"stream_seq":0})"));
  server.api("STREAM.PURGE.S", R"({"seq":3})");
  EXPECT_THAT(info(), HasSubstr(R"("delivered":{"consumer_seq":0,"stream_seq":2})"));
}

TEST_F(consumer_start, a_no_wait_pull_that_reached_max_ack_pending_waits_for_room) {  // jetstream 15
  create(R"(,"max_ack_pending":1)");
  server.request("s.a", "x");
  server.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", R"({"batch":5,"no_wait":true})", {}, "_INBOX.p");
  server.turn();
  const auto seen = server.take_messages();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].payload, "x");
  EXPECT_THAT(info(), HasSubstr(R"("num_waiting":1)"));
}

TEST_F(consumer_start, last_without_a_match_starts_at_the_first_message) {  // jetstream 13.2
  for (const char* subject : {"s.a", "s.a"}) server.request(subject, "x");
  EXPECT_THAT(create(R"(,"deliver_policy":"last","filter_subject":"s.b")"),
              HasSubstr(R"("delivered":{"consumer_seq":0,"stream_seq":0})"));
}

}  // namespace
}  // namespace tern::jetstream
