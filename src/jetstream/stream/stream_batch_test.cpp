#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class stream_batch : public ::testing::Test {
 protected:
  void create(std::string_view settings = {}) {
    const std::string body = R"({"name":"S","storage":"memory","subjects":["s.>"],"allow_atomic":true)" +
                             std::string(settings.empty() ? "" : ",") + std::string(settings) + "}";
    ASSERT_THAT(server.api("STREAM.CREATE.S", body), HasSubstr("did_create"));
  }
  std::string put(std::string_view id, int sequence, std::string_view subject, std::string_view more = {}) {
    std::string block = "NATS/1.0\r\nNats-Batch-Id: " + std::string(id) +
                        "\r\nNats-Batch-Sequence: " + std::to_string(sequence) + "\r\n";
    if (!more.empty()) block.append(more).append("\r\n");
    return server.request(subject, "x", block + "\r\n");
  }
  std::string commit(std::string_view id, int sequence, std::string_view subject, std::string more = {}) {
    return put(id, sequence, subject, "Nats-Batch-Commit: 1" + (more.empty() ? more : "\r\n" + more));
  }
  const storage::log_state& state() { return server.jetstream().find_stream("$G", "S")->state(); }

  test_harness server;
};

TEST_F(stream_batch, is_stored_whole_with_its_commit) {  // jetstream 5.10
  create();
  EXPECT_EQ(put("b", 1, "s.a"), "");
  EXPECT_EQ(put("b", 2, "s.b"), "");
  EXPECT_EQ(state().messages, 0u);
  EXPECT_EQ(server.request("s.z", "alone"), R"({"stream":"S","seq":1})");
  EXPECT_EQ(commit("b", 3, "s.c"), R"({"stream":"S","seq":4,"batch":"b","count":3})");
  EXPECT_EQ(state().messages, 4u);
}

TEST_F(stream_batch, eob_commits_without_being_stored) {  // jetstream 5.10
  create();
  put("b", 1, "s.a");
  EXPECT_EQ(put("b", 2, "s.b", "Nats-Batch-Commit: eob"), R"({"stream":"S","seq":1,"batch":"b","count":1})");
  EXPECT_THAT(put("c", 1, "s.b", "Nats-Batch-Commit: eob"), HasSubstr("10176"));
}

TEST_F(stream_batch, one_failing_check_leaves_nothing_behind) {  // jetstream 5.10
  create(R"("max_msgs":2,"discard":"new")");
  server.request("s.a", "0");
  put("b", 1, "s.a", "Nats-Msg-Id: m1");
  EXPECT_THAT(commit("b", 2, "s.a"), HasSubstr("maximum messages exceeded"));
  EXPECT_EQ(state().last, 1u);
  EXPECT_EQ(commit("c", 1, "s.a", "Nats-Msg-Id: m1"), R"({"stream":"S","seq":2,"batch":"c","count":1})");
}

TEST_F(stream_batch, expectations_hold_against_the_state_before_it) {  // jetstream 5.10
  create();
  server.request("s.a", "0");
  put("b", 1, "s.a", "Nats-Expected-Last-Subject-Sequence: 1");
  EXPECT_THAT(commit("b", 2, "s.b", "Nats-Expected-Last-Subject-Sequence: 0"), HasSubstr("\"seq\":3"));
  put("c", 1, "s.a", "Nats-Expected-Last-Subject-Sequence: 2");
  EXPECT_THAT(commit("c", 2, "s.a", "Nats-Expected-Last-Subject-Sequence: 4"), HasSubstr("10164"));
  put("d", 1, "s.c");
  EXPECT_THAT(commit("d", 2, "s.b", "Nats-Expected-Last-Subject-Sequence: 1"), HasSubstr("wrong last sequence: 3"));
  EXPECT_THAT(commit("e", 1, "s.c", "Nats-Expected-Last-Msg-Id: x"), HasSubstr("10177"));
  EXPECT_EQ(state().last, 3u);
}

TEST_F(stream_batch, an_id_in_the_batch_or_the_window_is_a_duplicate) {  // jetstream 5.10
  create();
  put("b", 1, "s.a", "Nats-Msg-Id: m1");
  EXPECT_THAT(commit("b", 2, "s.a", "Nats-Msg-Id: m1"), HasSubstr("10201"));
  put("c", 1, "s.a", "Nats-Msg-Id: m1");
  EXPECT_THAT(commit("c", 2, "s.a", "Nats-Msg-Id: m2"), HasSubstr("\"seq\":2"));
  EXPECT_THAT(server.request("s.a", "x", "NATS/1.0\r\nNats-Msg-Id: m2\r\n\r\n"), HasSubstr("duplicate"));
}

TEST_F(stream_batch, gaps_sizes_and_idleness_end_it) {  // jetstream 5.10
  server.surroundings().settings.batches.max_messages = 2;
  server.surroundings().settings.batches.max_inflight_per_stream = 2;
  create();
  capturing_receiver listener;
  server.account().subscribe(listener, "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.>");
  put("b", 1, "s.a");
  EXPECT_THAT(put("b", 1, "s.a"), HasSubstr("10176"));
  put("c", 1, "s.a");
  put("d", 1, "s.a");
  EXPECT_THAT(put("e", 1, "s.a"), HasSubstr("10210"));
  put("c", 2, "s.a");
  EXPECT_THAT(commit("c", 3, "s.a"), HasSubstr("atomic publish batch is too large: 2"));
  server.advance(10s);
  EXPECT_THAT(commit("d", 2, "s.a"), HasSubstr("10176"));
  ASSERT_EQ(listener.messages.size(), 3u);
  EXPECT_THAT(listener.messages[0].payload, HasSubstr(R"("batch":"b","reason":"incomplete")"));
  EXPECT_THAT(listener.messages[1].payload, HasSubstr(R"("batch":"c","reason":"large")"));
  EXPECT_THAT(listener.messages[2].payload, HasSubstr(R"("batch":"d","reason":"timeout")"));
}

TEST_F(stream_batch, bad_ids_sequences_and_commit_words_are_refused) {  // jetstream 5.10
  create();
  EXPECT_THAT(commit(std::string(65, 'x'), 1, "s.a"), HasSubstr("10179"));
  EXPECT_THAT(commit("b", 0, "s.a"), HasSubstr("10175"));
  EXPECT_THAT(put("b", 1, "s.a", "Nats-Batch-Commit: yes"), HasSubstr("10200"));
  EXPECT_THAT(put("b", 1, "s.a", "Nats-Required-Api-Level: 99"), HasSubstr("10185"));
}

TEST_F(stream_batch, counters_run_through_it) {  // jetstream 5.7, 5.10
  create(R"("allow_msg_counter":true,"allow_direct":true)");
  const auto increment = [this](int sequence, std::string_view subject, std::string_view more) {
    return server.request(subject, {},
                          "NATS/1.0\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: " + std::to_string(sequence) + "\r\n" +
                              std::string(more) + "\r\n\r\n");
  };
  server.request("s.a", {}, "NATS/1.0\r\nNats-Incr: 5\r\n\r\n");
  increment(1, "s.a", "Nats-Incr: 1");
  increment(2, "s.b", "Nats-Incr: 10");
  EXPECT_EQ(increment(3, "s.a", "Nats-Incr: 2\r\nNats-Batch-Commit: 1"),
            R"({"stream":"S","seq":4,"batch":"b","count":3})");
  EXPECT_EQ(server.request("$JS.API.DIRECT.GET.S.s.a"), R"({"val":"8"})");
}

TEST_F(stream_batch, a_fast_one_is_visible_while_it_runs) {  // jetstream 5.11
  create(R"("allow_batched":true)");
  capturing_receiver replies;
  server.account().subscribe(replies, "r.>");
  const auto send = [this](std::string_view reply, std::string_view headers = {}) {
    server.publish("s.a", "x", headers, reply);
    server.turn();
  };
  send("r.u.100.ok.1.0.$FI");
  send("r.u.100.ok.2.1.$FI");
  EXPECT_EQ(state().messages, 2u);
  send("r.u.100.ok.3.4.$FI");  // a ping tells of the gap and repeats
  send("r.u.100.ok.4.3.$FI");
  ASSERT_EQ(replies.messages.size(), 4u);
  EXPECT_EQ(replies.messages[0].payload, R"({"type":"ack","seq":0,"msgs":100})");
  EXPECT_EQ(replies.messages[1].payload, R"({"type":"gap","last_seq":3,"seq":3})");
  EXPECT_EQ(replies.messages[2].payload, R"({"type":"ack","seq":0,"msgs":100})");
  EXPECT_EQ(replies.messages[3].payload, R"({"stream":"S","seq":2,"batch":"u","count":3})");
  EXPECT_EQ(state().messages, 2u);
}

TEST_F(stream_batch, a_fast_one_in_fail_mode_ends_at_a_gap_or_an_error) {  // jetstream 5.11
  create(R"("allow_batched":true)");
  capturing_receiver replies;
  server.account().subscribe(replies, "r.>");
  const auto send = [&](std::string_view reply, std::string_view headers = {}) {
    replies.messages.clear();
    server.publish("s.a", "x", headers, reply);
    server.turn();
    std::string all;
    for (const auto& one : replies.messages) all += one.payload + "\n";
    return all;
  };
  send("r.u.10.fail.1.0.$FI");
  EXPECT_EQ(send("r.u.10.fail.4.1.$FI"),
            "{\"type\":\"gap\",\"last_seq\":2,\"seq\":4}\n{\"stream\":\"S\",\"seq\":1,\"batch\":\"u\",\"count\":1}\n");
  EXPECT_THAT(send("r.u.10.fail.5.1.$FI"), HasSubstr("10208"));
  send("r.v.10.fail.1.0.$FI");
  EXPECT_THAT(send("r.v.10.fail.2.1.$FI", "NATS/1.0\r\nNats-Expected-Last-Sequence: 7\r\n\r\n"),
              HasSubstr(R"({"type":"err","seq":2,"error":{"code":400,"err_code":10071)"));
  EXPECT_EQ(state().messages, 2u);
}

TEST_F(stream_batch, control_subjects_of_fast_ones_are_checked) {  // jetstream 5.11
  for (const std::string_view bad :
       {"r.u.10.ok.1.9.$FI", "r.u.10.ok.1.x.$FI", "r.u.10.maybe.1.0.$FI", "r.u.10.ok.0.0.$FI", "r.u.10.ok.2.0.$FI",
        "r.u.10.ok.1.1.$FI", "r.u.10.ok.1.3.$FI", "0.$FI", "r.0.$FI", "u.10.ok.1.0.$FI", ".$FI", ""})
    EXPECT_FALSE(parse_fast_control(bad)) << bad;
  EXPECT_EQ(parse_fast_control("r.x.u.many.ok.1.0.$FI")->flow, 10u);
  EXPECT_EQ(parse_fast_control("r.x.u.99999.ok.1.0.$FI")->flow, 65'535u);
  EXPECT_EQ(parse_fast_control("r.x.u.5.fail.7.1.$FI")->id, "u");
}

}  // namespace
}  // namespace tern::jetstream
