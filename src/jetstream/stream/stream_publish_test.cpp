#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class stream_publish : public ::testing::Test {
 protected:
  void create(std::string_view settings) {
    const std::string body = R"({"name":"S","storage":"memory","subjects":["s.>"],"allow_direct":true)" +
                             std::string(settings.empty() ? "" : ",") + std::string(settings) + "}";
    ASSERT_THAT(server.api("STREAM.CREATE.S", body), HasSubstr("did_create"));
  }
  std::string put(std::string_view subject, std::string_view payload, std::string_view header = {}) {
    const std::string block = header.empty() ? "" : "NATS/1.0\r\n" + std::string(header) + "\r\n\r\n";
    return server.request(subject, payload, block);
  }
  const storage::log_state& state() { return server.jetstream().find_stream("$G", "S")->state(); }

  test_harness server;
};

TEST_F(stream_publish, is_acknowledged_with_its_sequence) {  // jetstream 5.2
  create("");
  EXPECT_EQ(put("s.1", "a"), R"({"stream":"S","seq":1})");
  EXPECT_EQ(put("s.2", "b"), R"({"stream":"S","seq":2})");
}

TEST_F(stream_publish, acknowledgements_wait_for_the_commit_and_keep_their_order) {  // design 5
  create("");
  server.publish("s.1", "a", {}, "_INBOX.1");
  server.publish("s.2", "b", {}, "_INBOX.2");
  EXPECT_TRUE(server.take_messages().empty());
  EXPECT_EQ(state().messages, 0u);
  server.turn();
  const auto answers = server.take_messages();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].subject, "_INBOX.1");
  EXPECT_EQ(answers[1].payload, R"({"stream":"S","seq":2})");
}

TEST_F(stream_publish, a_repeated_id_is_answered_with_the_first_sequence) {  // jetstream 5.5
  create("");
  EXPECT_EQ(put("s.1", "a", "Nats-Msg-Id: x"), R"({"stream":"S","seq":1})");
  EXPECT_EQ(put("s.2", "b", "Nats-Msg-Id: x"), R"({"stream":"S","seq":1,"duplicate": true})");
  server.advance(2min);
  EXPECT_EQ(put("s.2", "b", "Nats-Msg-Id: x"), R"({"stream":"S","seq":2})");
}

TEST_F(stream_publish, a_duplicate_of_a_staged_message_is_answered_after_its_commit) {
  create("");
  const std::string_view id = "NATS/1.0\r\nNats-Msg-Id: x\r\n\r\n";
  server.publish("s.1", "a", id, "_INBOX.1");
  server.publish("s.1", "a", id, "_INBOX.2");
  EXPECT_TRUE(server.take_messages().empty());
  server.turn();
  const auto answers = server.take_messages();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].payload, R"({"stream":"S","seq":1,"duplicate": true})");
}

TEST_F(stream_publish, expectations_are_checked_against_the_staged_state) {  // jetstream 5.4, design 5
  create("");
  server.publish("s.1", "a", {}, "_INBOX.1");
  server.publish("s.1", "b", "NATS/1.0\r\nNats-Expected-Last-Sequence: 1\r\n\r\n", "_INBOX.2");
  server.publish("s.1", "c", "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 2\r\n\r\n", "_INBOX.3");
  server.publish("s.2", "d", "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n", "_INBOX.4");
  server.publish("s.2", "e",
                 "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 4\r\n"
                 "Nats-Expected-Last-Subject-Sequence-Subject: s.*\r\n\r\n",
                 "_INBOX.5");
  server.turn();
  const auto answers = server.take_messages();
  ASSERT_EQ(answers.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(answers[i].payload, "{\"stream\":\"S\",\"seq\":" + std::to_string(i + 1) + "}");
  EXPECT_EQ(put("s.1", "x", "Nats-Expected-Last-Sequence: 7"),
            R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"S","seq":0})");
}

TEST_F(stream_publish, what_is_too_large_is_refused_before_anything_else_is_looked_at) {  // jetstream 5.4
  create(R"("max_msg_size":60)");
  EXPECT_EQ(put("s.1", "x", "Nats-Msg-Id: a"), R"({"stream":"S","seq":1})");
  const std::string large(61, 'x');
  EXPECT_THAT(put("s.1", large, "Nats-Msg-Id: a"), HasSubstr("10054"));
  EXPECT_THAT(put("s.1", large, "Nats-Expected-Stream: T"), HasSubstr("10054"));
  EXPECT_THAT(put("s.1", large, "Nats-Incr: x"), HasSubstr("10054"));
}

TEST_F(stream_publish, a_bad_time_to_live_is_told_last) {  // jetstream 5.4, 5.8
  create("");
  EXPECT_THAT(put("s.1", "x", "Nats-TTL: x\r\nNats-Expected-Last-Sequence: 4"), HasSubstr("10071"));
  EXPECT_THAT(put("s.1", "x", "Nats-TTL: x\r\nNats-Rollup: sub"), HasSubstr("10111"));
  EXPECT_THAT(put("s.1", "x", "Nats-TTL: x"), HasSubstr("10165"));
}

TEST_F(stream_publish, a_message_above_max_bytes_is_republished_before_it_goes) {  // jetstream 5.12, 6.1
  create(R"("max_bytes":20,"republish":{"src":"s.>","dest":"copy.>"})");
  capturing_receiver listener;
  server.account().subscribe(listener, "copy.>");
  server.publish("s.1", std::string(40, 'x'));
  server.turn();
  ASSERT_EQ(listener.messages.size(), 1u);
  EXPECT_EQ(listener.messages[0].subject, "copy.1");
  EXPECT_EQ(state().messages, 0u);
  EXPECT_EQ(state().last, 1u);
}

TEST_F(stream_publish, interest_without_any_consumer_keeps_nothing) {  // jetstream 4, 6.3
  create("");
  EXPECT_EQ(put("s.1", "x"), R"({"stream":"S","seq":1})");
  const std::string answer =
      server.api("STREAM.UPDATE.S",
                 R"({"name":"S","storage":"memory","subjects":["s.>"],"allow_direct":true,"retention":"interest"})");
  EXPECT_THAT(answer, HasSubstr("\"messages\":0,"));
}

TEST_F(stream_publish, refusals_name_what_is_wrong) {  // jetstream 5.4
  create(R"("max_msg_size":200)");
  EXPECT_THAT(put("s.1", "x", "Nats-Expected-Stream: T"), HasSubstr("10060"));
  EXPECT_THAT(put("s.1", "x", "Nats-Expected-Last-Msg-Id: zz"), HasSubstr("wrong last msg ID: "));
  EXPECT_THAT(put("s.1", "x", "Nats-Rollup: sub"), HasSubstr("rollup not permitted"));
  EXPECT_THAT(put("s.1", "x", "Nats-TTL: 5"), HasSubstr("10166"));
  EXPECT_THAT(put("s.1", "x", "Nats-TTL: 0"), HasSubstr("10165"));
  EXPECT_THAT(put("s.1", "x", "Nats-Incr: 1"), HasSubstr("10168"));
  EXPECT_THAT(put("s.1", "x", "Nats-Batch-Id: b"), HasSubstr("10174"));
  EXPECT_THAT(put("s.1", "x", "Nats-Schedule: @every 1m"), HasSubstr("10188"));
  EXPECT_THAT(put("s.1", "x", "Nats-Expected-Last-Subject-Sequence-Subject: s.1"), HasSubstr("10193"));
  EXPECT_THAT(put("s.1", std::string(201, 'x')), HasSubstr("10054"));
  EXPECT_EQ(put("s.1", "x"), R"({"stream":"S","seq":1})");
}

TEST_F(stream_publish, a_refused_publish_does_not_use_up_its_id) {  // jetstream 5.5
  create(R"("max_msgs":1,"discard":"new")");
  put("s.1", "a");
  EXPECT_THAT(put("s.2", "b", "Nats-Msg-Id: x"), HasSubstr("maximum messages exceeded"));
  server.api("STREAM.PURGE.S");
  EXPECT_EQ(put("s.2", "b", "Nats-Msg-Id: x"), R"({"stream":"S","seq":2})");
}

TEST_F(stream_publish, discard_new_lets_a_full_subject_overwrite_itself) {  // jetstream 6.1, Appendix D
  create(R"("max_msgs":3,"max_msgs_per_subject":2,"discard":"new")");
  put("s.1", "1");
  put("s.1", "2");
  EXPECT_THAT(put("s.1", "3"), HasSubstr("\"seq\":3"));
  EXPECT_THAT(put("s.2", "4"), HasSubstr("\"seq\":4"));
  EXPECT_THAT(put("s.3", "5"), HasSubstr("maximum messages exceeded"));
  EXPECT_THAT(put("s.2", "6"), HasSubstr("maximum messages exceeded"));
  EXPECT_THAT(put("s.1", "7"), HasSubstr("\"seq\":5"));
}

TEST_F(stream_publish, discard_new_counts_what_is_staged) {  // design 5
  create(R"("max_msgs":2,"discard":"new")");
  for (int i = 1; i <= 3; ++i) server.publish("s.1", "x", {}, "_INBOX." + std::to_string(i));
  server.turn();
  const auto answers = server.take_messages();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(answers[0].payload, HasSubstr("10077"));  // refused at once, the others after their commit
  EXPECT_EQ(state().messages, 2u);
}

TEST_F(stream_publish, discard_new_per_subject_refuses_the_full_subject_only) {  // jetstream 6.1
  create(R"("max_msgs_per_subject":1,"discard":"new","discard_new_per_subject":true)");
  put("s.1", "a");
  EXPECT_THAT(put("s.1", "b"), HasSubstr("maximum messages per subject exceeded"));
  EXPECT_THAT(put("s.2", "c"), HasSubstr("\"seq\":2"));
}

TEST_F(stream_publish, the_oldest_make_room) {  // jetstream 6.1
  create(R"("max_msgs":4,"max_msgs_per_subject":2)");
  for (const std::string_view subject : {"s.a", "s.a", "s.a", "s.b", "s.c", "s.c", "s.c", "s.b"}) put(subject, "x");
  const std::string info = server.api("STREAM.INFO.S", R"({"subjects_filter":">","deleted_details":true})");
  EXPECT_THAT(info, HasSubstr(R"("messages":4)"));
  EXPECT_THAT(info, HasSubstr(R"("first_seq":4)"));
  EXPECT_THAT(info, HasSubstr(R"("subjects":{"s.b":2,"s.c":2},"num_deleted":1,"deleted":[5])"));
}

TEST_F(stream_publish, a_message_above_max_bytes_is_acknowledged_and_empties_the_stream) {  // jetstream 6.1
  create(R"("max_bytes":100)");
  put("s.1", "a");
  EXPECT_THAT(put("s.1", std::string(200, 'x')), HasSubstr("\"seq\":2"));
  EXPECT_EQ(state().messages, 0u);
  EXPECT_EQ(state().first, 3u);
  EXPECT_THAT(put("s.1", "b"), HasSubstr("\"seq\":3"));
}

TEST_F(stream_publish, old_messages_expire_at_their_time) {  // jetstream 6.2
  create(R"("max_age":1000000000)");
  put("s.a", "1");
  server.advance(600ms);
  put("s.b", "2");
  server.advance(399ms);
  EXPECT_EQ(state().messages, 2u);
  server.advance(1ms);
  EXPECT_EQ(state().first, 2u);
  server.advance(600ms);
  EXPECT_EQ(state().messages, 0u);
  EXPECT_EQ(state().first, 3u);
}

TEST_F(stream_publish, a_message_ends_when_its_own_time_is_up) {  // jetstream 5.8
  create(R"("allow_msg_ttl":true)");
  put("s.a", "1");
  put("s.b", "2", "Nats-TTL: 10");
  put("s.c", "3", "Nats-TTL: 1s");
  put("s.d", "4", "Nats-TTL: never");
  EXPECT_THAT(put("s.e", "5", "Nats-TTL: 0"), HasSubstr("10165"));
  server.advance(999ms);
  EXPECT_EQ(state().messages, 4u);
  server.advance(101ms);
  EXPECT_EQ(state().messages, 3u);
  server.advance(10s);
  EXPECT_EQ(state().messages, 2u);
  EXPECT_EQ(state().last, 4u);
}

TEST_F(stream_publish, a_message_that_never_ends_outlives_max_age) {  // jetstream 5.8
  create(R"("allow_msg_ttl":true,"max_age":1000000000)");
  put("s.a", "1", "Nats-TTL: never");
  put("s.b", "2");
  put("s.c", "3", "Nats-TTL: never");
  server.advance(500ms);
  put("s.d", "4");
  server.advance(500ms);
  EXPECT_EQ(state().messages, 3u);
  server.advance(5s);
  EXPECT_EQ(state().messages, 2u);
  EXPECT_EQ(state().first, 1u);
}

TEST_F(stream_publish, the_last_message_of_a_subject_leaves_a_marker) {  // jetstream 5.8
  create(R"("subject_delete_marker_ttl":60000000000,"max_msgs_per_subject":1)");
  put("s.a", "1", "Nats-TTL: 1s");
  server.advance(2s);
  EXPECT_EQ(state().messages, 1u);
  const auto marker = server.request_message("$JS.API.DIRECT.GET.S.s.a");
  EXPECT_EQ(marker.payload, "");
  EXPECT_THAT(marker.headers, ::testing::StartsWith(
                                  "NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\nNats-Rollup: sub\r\n"));
  server.advance(1min);
  EXPECT_EQ(state().messages, 0u);  // a marker leaves no marker
  EXPECT_EQ(state().last, 2u);
}

TEST_F(stream_publish, max_age_leaves_one_marker_for_each_subject) {  // jetstream 5.8
  create(R"("subject_delete_marker_ttl":3600000000000,"max_age":1000000000)");
  put("s.a", "1");
  put("s.a", "2");
  put("s.b", "3");
  server.advance(1100ms);
  EXPECT_EQ(state().messages, 2u);
  EXPECT_EQ(state().last, 5u);
  server.advance(2s);
  EXPECT_EQ(state().messages, 0u);
}

TEST_F(stream_publish, a_small_time_to_live_is_raised_to_that_of_the_marker) {  // jetstream 5.8
  create(R"("subject_delete_marker_ttl":3600000000000)");
  put("s.a", "1", "Nats-TTL: 5\r\nA: b");
  EXPECT_THAT(server.request_message("$JS.API.DIRECT.GET.S.s.a").headers,
              ::testing::StartsWith("NATS/1.0\r\nA: b\r\nNats-TTL: 3600\r\n"));
}

TEST_F(stream_publish, turning_on_times_to_live_reads_the_stored_headers) {  // jetstream 4
  create(R"("max_age":3600000000000)");
  put("s.a", "1");
  server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"memory","subjects":["s.>"],"allow_msg_ttl":true})");
  put("s.b", "2", "Nats-TTL: 1");
  server.advance(1100ms);
  EXPECT_EQ(state().messages, 1u);
}

TEST_F(stream_publish, a_roll_up_keeps_the_new_message_only) {  // jetstream 5.6
  create(R"("allow_rollup_hdrs":true)");
  put("s.a", "1");
  put("s.b", "2");
  put("s.a", "3");
  put("s.a", "4", "Nats-Rollup: sub");
  EXPECT_EQ(state().messages, 2u);
  put("s.a", "5", "Nats-Rollup: ALL");
  EXPECT_EQ(state().messages, 1u);
  EXPECT_EQ(state().first, 5u);
  EXPECT_THAT(put("s.a", "6", "Nats-Rollup: Any"), HasSubstr(R"(rollup value invalid: \"any\")"));
}

TEST_F(stream_publish, interest_without_a_consumer_uses_a_sequence_and_stores_nothing) {  // jetstream 5.4
  create(R"("retention":"interest")");
  EXPECT_EQ(put("s.1", "a", "Nats-Msg-Id: x"), R"({"stream":"S","seq":1})");
  EXPECT_EQ(put("s.1", "a", "Nats-Msg-Id: x"), R"({"stream":"S","seq":1,"duplicate": true})");
  EXPECT_EQ(put("s.1", "b"), R"({"stream":"S","seq":2})");
  EXPECT_EQ(state().messages, 0u);
  EXPECT_EQ(state().last, 2u);
}

TEST_F(stream_publish, an_acknowledged_message_leaves_a_work_queue) {  // jetstream 6.4
  create(R"("retention":"workqueue")");
  put("s.1", "a");
  ASSERT_THAT(server.api("CONSUMER.CREATE.S.c",
                         R"({"stream_name":"S","config":{"name":"c","durable_name":"c","ack_policy":"explicit"}})"),
              HasSubstr("\"name\":\"c\""));
  const auto pulled = server.request_message("$JS.API.CONSUMER.MSG.NEXT.S.c", "1");
  server.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", "1", {}, "_INBOX.pull");
  server.turn();
  captured_message message;
  for (auto& one : server.take_messages()) message = std::move(one);
  const std::string ack = message.reply.empty() ? pulled.reply : message.reply;
  ASSERT_THAT(ack, HasSubstr("$JS.ACK.S.c."));
  EXPECT_EQ(server.request_message(ack, "+ACK").payload, "");
  EXPECT_EQ(state().messages, 0u);
}

TEST_F(stream_publish, no_ack_streams_stay_silent) {
  create(R"("no_ack":true)");
  EXPECT_EQ(put("s.1", "a"), "");
  EXPECT_EQ(put("s.1", "a", "Nats-Expected-Last-Sequence: 9"), "");
  EXPECT_EQ(state().messages, 1u);
}

TEST_F(stream_publish, a_publish_whose_reply_is_captured_by_the_same_stream_does_no_harm) {
  create("");
  for (int i = 0; i < 100; ++i) server.publish("s.1", "x", {}, "s.2");
  server.turn();
  server.turn();
  EXPECT_EQ(state().messages, 200u);  // the acknowledgements are stored, and ask for none themselves
}

TEST_F(stream_publish, beyond_its_bounds_a_stream_answers_429) {  // jetstream 5.3
  server.surroundings().settings.max_buffered_messages = 2;
  create("");
  for (int i = 1; i <= 3; ++i) server.publish("s.1", "x", {}, "_INBOX." + std::to_string(i));
  const auto refused = server.take_messages();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].headers, "NATS/1.0 429 Too Many Requests\r\n\r\n");
  EXPECT_THAT(refused[0].payload, HasSubstr("10167"));
}

TEST_F(stream_publish, account_and_server_limits_hold) {  // jetstream 5.4
  create("");
  server.jetstream().attach(server.account(), {.max_memory = 50});
  put("s.1", "12345");
  put("s.1", "12345");
  EXPECT_THAT(put("s.1", "12345"), HasSubstr("10002"));
  server.jetstream().attach(server.account());
  server.surroundings().settings.server_limits.max_memory = 40;
  EXPECT_THAT(put("s.1", "12345"), HasSubstr("10023"));
}

TEST_F(stream_publish, a_counter_adds_up_in_acknowledgement_and_body) {  // jetstream 5.7
  create(R"("allow_msg_counter":true,"allow_rollup_hdrs":true)");
  EXPECT_EQ(put("s.a", "", "Nats-Incr: 1"), R"({"stream":"S","seq":1,"val":"1"})");
  EXPECT_EQ(put("s.a", "", "Nats-Incr: +41"), R"({"stream":"S","seq":2,"val":"42"})");
  EXPECT_EQ(put("s.b", "", "Nats-Incr: -7"), R"({"stream":"S","seq":3,"val":"-7"})");
  EXPECT_EQ(server.request("$JS.API.DIRECT.GET.S.s.a"), R"({"val":"42"})");
  EXPECT_THAT(put("s.a", ""), HasSubstr("10169"));
  EXPECT_THAT(put("s.a", "x", "Nats-Incr: 1"), HasSubstr("10170"));
  EXPECT_THAT(put("s.a", "", "Nats-Incr: 1.5"), HasSubstr("10171"));
  EXPECT_THAT(put("s.a", "", "Nats-Incr: 1\r\nNats-Rollup: sub"), HasSubstr("10171"));
  server.api("STREAM.PURGE.S", R"({"filter":"s.a"})");
  EXPECT_THAT(put("s.a", "", "Nats-Incr: 2"), HasSubstr("\"val\":\"2\""));
}

TEST_F(stream_publish, a_counter_counts_what_is_staged) {  // jetstream 5.7, design 5
  create(R"("allow_msg_counter":true)");
  for (int i = 1; i <= 3; ++i)
    server.publish("s.a", {}, "NATS/1.0\r\nNats-Incr: 5\r\n\r\n", "_INBOX." + std::to_string(i));
  server.turn();
  const auto answers = server.take_messages();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[2].payload, R"({"stream":"S","seq":3,"val":"15"})");
}

TEST_F(stream_publish, a_transform_decides_the_stored_subject) {  // jetstream 5.4, 7.4
  create(R"("subject_transform":{"src":"s.in.*.*","dest":"out.{{wildcard(2)}}.$1"})");
  put("s.in.a.b", "1");
  put("s.plain", "2");
  EXPECT_EQ(put("s.in.a.b", "3", "Nats-Expected-Last-Subject-Sequence: 1"), R"({"stream":"S","seq":3})");
  EXPECT_THAT(server.api("STREAM.INFO.S", R"({"subjects_filter":">"})"),
              HasSubstr(R"("subjects":{"out.b.a":2,"s.plain":1})"));
}

TEST_F(stream_publish, a_republished_copy_says_what_was_stored) {  // jetstream 5.12
  create(R"("republish":{"src":"s.*","dest":"copy.$1"},"max_msgs_per_subject":1)");
  capturing_receiver listener;
  server.account().subscribe(listener, "copy.>");
  put("s.a", "1", "X: y");
  put("s.a", "2");
  ASSERT_EQ(listener.messages.size(), 2u);
  EXPECT_EQ(listener.messages[0].subject, "copy.a");
  EXPECT_EQ(listener.messages[0].headers,
            "NATS/1.0\r\nX: y\r\nNats-Stream: S\r\nNats-Subject: s.a\r\nNats-Sequence: 1\r\n"
            "Nats-Time-Stamp: 2026-01-01T00:00:00Z\r\nNats-Last-Sequence: 0\r\n\r\n");
  EXPECT_THAT(listener.messages[1].headers, HasSubstr("Nats-Last-Sequence: 1\r\n"));
}

TEST_F(stream_publish, status_and_request_info_are_not_stored) {  // jetstream 1.2, 5.4
  create("");
  server.request("s.1", "x", "NATS/1.0 100 Idle\r\nNats-Request-Info: {}\r\nA: b\r\n\r\n");
  const auto got = server.request_message("$JS.API.DIRECT.GET.S.s.1");
  EXPECT_THAT(got.headers, ::testing::StartsWith("NATS/1.0\r\nA: b\r\nNats-Stream: S\r\n"));
}

}  // namespace
}  // namespace tern::jetstream
