#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using ::testing::HasSubstr;

class direct_get : public ::testing::Test {
 protected:
  void SetUp() override {
    server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s.>"],"allow_direct":true})");
    for (const std::string_view subject : {"s.a", "s.b", "s.a", "s.c.x"}) {
      server.request(subject, std::to_string(++stored));
    }
  }
  std::string status(std::string_view body, std::string_view rest = {}) {
    return server.request_message("$JS.API.DIRECT.GET.S" + std::string(rest), body).headers;
  }
  std::vector<captured_message> all(std::string_view body) {
    server.publish("$JS.API.DIRECT.GET.S", body, {}, "_INBOX.batch");
    server.turn();
    const auto messages = server.take_messages();
    return {messages.begin(), messages.end()};
  }

  test_harness server;
  int stored = 0;
};

TEST_F(direct_get, answers_with_the_message_and_where_it_stands) {  // jetstream 8.2
  const auto got = server.request_message("$JS.API.DIRECT.GET.S", R"({"seq":2})");
  EXPECT_EQ(got.payload, "2");
  EXPECT_EQ(got.headers,
            "NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s.b\r\nNats-Sequence: 2\r\n"
            "Nats-Time-Stamp: 2026-01-01T00:00:00Z\r\n\r\n");
  EXPECT_EQ(server.request("$JS.API.DIRECT.GET.S.s.a"), "3");
  EXPECT_EQ(server.request_message("$JS.API.DIRECT.GET.S", R"({"seq":2,"no_hdr":true})").headers, "");
}

TEST_F(direct_get, says_what_is_missing_or_wrong) {  // jetstream 8.2
  EXPECT_EQ(status(""), "NATS/1.0 408 Empty Request\r\n\r\n");
  EXPECT_EQ(status("{"), "NATS/1.0 408 Malformed Request\r\n\r\n");
  EXPECT_EQ(status(R"({"seq":1,"last_by_subj":"s.a"})"), "NATS/1.0 408 Bad Request\r\n\r\n");
  EXPECT_EQ(status(R"({"last_by_subj":"s.a","batch":2})"), "NATS/1.0 408 Bad Request\r\n\r\n");
  EXPECT_EQ(status(R"({"seq":9})"), "NATS/1.0 404 Message Not Found\r\n\r\n");
  EXPECT_EQ(status(R"({"seq":1})", ".s.a"), "NATS/1.0 408 Bad Request\r\n\r\n");
  EXPECT_EQ(status("junk", ".s.a"), "NATS/1.0 408 Malformed Request\r\n\r\n");
  EXPECT_EQ(status(R"({"multi_last":["x.>"]})"), "NATS/1.0 404 No Results\r\n\r\n");
}

TEST_F(direct_get, a_batch_counts_down_and_ends) {  // jetstream 8.2
  const auto got = all(R"({"seq":1,"batch":3})");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_THAT(got[0].headers, HasSubstr("Nats-Num-Pending: 3\r\nNats-Last-Sequence: 0\r\n"));
  EXPECT_THAT(got[2].headers, HasSubstr("Nats-Num-Pending: 1\r\nNats-Last-Sequence: 2\r\n"));
  EXPECT_EQ(got[3].headers, "NATS/1.0 204 EOB\r\nNats-Num-Pending: 1\r\nNats-Last-Sequence: 3\r\n\r\n");
}

TEST_F(direct_get, a_batch_follows_its_filter_and_its_bytes) {  // jetstream 8.2
  auto got = all(R"({"next_by_subj":"s.a","batch":10})");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].payload, "1");
  EXPECT_EQ(got[1].payload, "3");
  got = all(R"({"seq":1,"batch":3,"max_bytes":1})");
  ASSERT_EQ(got.size(), 2u);  // checked after sending, so one goes out
  EXPECT_THAT(got[1].headers, HasSubstr("204 EOB\r\nNats-Num-Pending: 3"));
  got = all(R"({"next_by_subj":"x","batch":10})");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_THAT(got[0].headers, HasSubstr("404 Message Not Found"));
}

TEST_F(direct_get, the_last_of_many_subjects_come_in_sequence_order) {  // jetstream 8.2
  auto got = all(R"({"multi_last":["s.c.>","s.a","s.*"]})");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].payload, "2");
  EXPECT_EQ(got[1].payload, "3");
  EXPECT_EQ(got[2].payload, "4");
  EXPECT_EQ(got[3].headers,
            "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 4\r\nNats-UpTo-Sequence: 4\r\n\r\n");
  got = all(R"({"multi_last":["s.*"],"up_to_seq":2})");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].payload, "1");
  EXPECT_EQ(got[1].payload, "2");
  got = all(R"({"multi_last":["s.>"],"seq":3,"batch":1})");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(got[0].headers, HasSubstr("Nats-Num-Pending: 1\r\nNats-Last-Sequence: 0"));
}

TEST_F(direct_get, more_than_1024_subjects_are_too_many) {  // jetstream 8.2
  for (int i = 0; i < 1024; ++i) server.publish("s.many." + std::to_string(i), "x");
  server.turn();
  EXPECT_EQ(status(R"({"multi_last":["s.>"]})"), "NATS/1.0 413 Too Many Results\r\n\r\n");
  EXPECT_EQ(all(R"({"multi_last":["s.many.>"]})").size(), 1025u);
}

TEST_F(direct_get, turned_off_nobody_responds) {  // jetstream 8.2
  server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"memory","subjects":["s.>"]})");
  EXPECT_EQ(server.account().publish({.subject = "$JS.API.DIRECT.GET.S", .reply = "_INBOX.x"}), 0u);
}

TEST_F(direct_get, message_get_answers_in_json) {  // jetstream 8.1
  EXPECT_EQ(server.api("STREAM.MSG.GET.S", R"({"last_by_subj":"s.*"})"),
            R"({"type":"io.nats.jetstream.api.v1.stream_msg_get_response","message":{"subject":"s.a","seq":3,)"
            R"("data":"Mw==","time":"2026-01-01T00:00:00Z"}})");
  EXPECT_THAT(server.api("STREAM.MSG.GET.S", R"({"next_by_subj":"s.a","seq":2})"), HasSubstr("\"seq\":3"));
  EXPECT_THAT(server.api("STREAM.MSG.GET.S", R"({"seq":1,"batch":2})"), HasSubstr("10003"));
  EXPECT_THAT(server.api("STREAM.MSG.GET.S"), HasSubstr("10003"));
  EXPECT_THAT(server.api("STREAM.MSG.GET.S", R"({"seq":9})"), HasSubstr("10037"));
}

TEST_F(direct_get, purges_say_how_many_went) {  // jetstream 9
  EXPECT_THAT(server.api("STREAM.PURGE.S", R"({"filter":"s.a","seq":3})"), HasSubstr("\"purged\":1"));
  EXPECT_THAT(server.api("STREAM.PURGE.S", R"({"seq":1,"keep":1})"), HasSubstr("10003"));
  EXPECT_THAT(server.api("STREAM.PURGE.S", R"({"keep":1})"), HasSubstr("\"purged\":2"));
  EXPECT_THAT(server.api("STREAM.PURGE.S", R"({"seq":100})"), HasSubstr("\"purged\":1"));
  EXPECT_THAT(server.request("s.a", "x"), HasSubstr("\"seq\":100"));
}

TEST_F(direct_get, deleting_twice_says_that_it_is_gone) {  // jetstream 9
  EXPECT_THAT(server.api("STREAM.MSG.DELETE.S", R"({"seq":2})"), HasSubstr("\"success\":true"));
  EXPECT_THAT(server.api("STREAM.MSG.DELETE.S", R"({"seq":2})"), HasSubstr("sequence 2 not found"));
}

}  // namespace
}  // namespace tern::jetstream
