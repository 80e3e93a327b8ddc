// Backups over the wire: the protocol of chunks, and what goes wrong (jetstream 10, 19).
#include "jetstream/stream/stream_transfers.hpp"

#include "jetstream/consumer/consumer.hpp"
#include "jetstream/stream/archived_records.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tern::jetstream {
namespace {

class transfers : public ::testing::Test {
 protected:
  test_harness harness;
  capturing_receiver target;

  void make_stream(const std::string& name = "S", int messages = 40, const std::string& more = "") {
    harness.api("STREAM.CREATE." + name,
                R"({"name":")" + name + R"(","subjects":[")" + name + R"(.>"],"storage":"memory")" + more + "}");
    std::mt19937_64 random(1);
    for (int n = 0; n < messages; ++n) {
      std::string payload;
      while (payload.size() < 300) payload.push_back(static_cast<char>(random()));
      harness.publish(name + "." + std::to_string(n % 3), payload, n % 2 == 0 ? "NATS/1.0\r\nA: b\r\n\r\n" : "");
      harness.turn();
    }
  }

  // What re-arms itself for now runs a moment later.
  void go_on() { harness.advance(std::chrono::microseconds(10)); }
  routing::subscription* listen() { return harness.account().subscribe(target, "snap"); }

  // Asks for a snapshot and acknowledges every chunk.
  std::string snapshot(const std::string& name = "S", const std::string& more = "") {
    routing::subscription* interest = listen();
    const std::string answer = harness.api("STREAM.SNAPSHOT." + name, R"({"deliver_subject":"snap")" + more + "}");
    EXPECT_NE(answer.find("\"state\""), std::string::npos) << answer;
    std::string archive;
    for (bool ended = false; !ended;) {
      go_on();
      if (target.messages.empty()) break;
      const captured_message one = std::move(target.messages.front());
      target.messages.pop_front();
      ended = one.payload.empty();
      last_headers = one.headers;
      archive += one.payload;
      if (!one.reply.empty()) harness.publish(one.reply, "");
    }
    harness.account().unsubscribe(interest);
    harness.account().end_turn();
    target.messages.clear();
    return archive;
  }

  std::string begin_restore(const std::string& name, const std::string& config = "") {
    const std::string answer = harness.api(
        "STREAM.RESTORE." + name, R"({"config":{"subjects":["r.>"],"storage":"memory")" + config + R"(},"state":{}})");
    const std::size_t at = answer.find("$JS.SNAPSHOT.RESTORE.");
    return at == std::string::npos ? answer : answer.substr(at, answer.find('"', at) - at);
  }

  std::string restore(const std::string& name, const std::string& archive, const std::string& config = "",
                      std::size_t step = 1'000) {
    const std::string to = begin_restore(name, config);
    for (std::size_t at = 0; at < archive.size(); at += step)
      EXPECT_EQ(harness.request(to, archive.substr(at, step)), "") << at;
    return harness.request(to);
  }

  std::string last_headers;
};

TEST_F(transfers, a_stream_comes_back_with_its_sequences_times_headers_and_gaps) {
  make_stream();
  for (const char* number : {"1", "7", "8", "40"})
    harness.api("STREAM.MSG.DELETE.S", std::string(R"({"seq":)") + number + "}");
  const std::string archive = snapshot("S", R"(,"chunk_size":1024,"window_size":2048)");
  EXPECT_EQ(last_headers, "NATS/1.0 204\r\n\r\n");
  harness.advance(std::chrono::hours(1));
  EXPECT_NE(restore("R", archive).find("\"messages\":36"), std::string::npos);
  const auto& from = harness.jetstream().find_stream("$G", "S")->state();
  const auto& to = harness.jetstream().find_stream("$G", "R")->state();
  EXPECT_EQ(from.first, to.first);
  EXPECT_EQ(from.last, to.last);
  EXPECT_EQ(from.bytes, to.bytes);
  EXPECT_EQ(from.deleted, to.deleted);
  for (int number = 1; number <= 40; ++number) {
    const std::string body = R"({"seq":)" + std::to_string(number) + "}";
    EXPECT_EQ(harness.api("STREAM.MSG.GET.S", body), harness.api("STREAM.MSG.GET.R", body));
  }
}

TEST_F(transfers, a_consumer_comes_back_with_what_is_pending) {
  make_stream();
  harness.api(
      "CONSUMER.CREATE.S.C",
      R"({"stream_name":"S","config":{"name":"C","durable_name":"C","ack_policy":"explicit","ack_wait":3600000000000}})");
  harness.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", R"({"batch":9})", {}, "_INBOX.pull");
  harness.turn();
  auto got = harness.take_messages();
  ASSERT_EQ(got.size(), 9U);
  harness.publish(got[0].reply, "+ACK");
  harness.publish(got[4].reply, "+ACK");
  harness.turn();
  const std::string archive = snapshot();
  restore("R", archive);
  const std::string info = harness.api("CONSUMER.INFO.R.C");
  EXPECT_NE(info.find(R"("delivered":{"consumer_seq":9,"stream_seq":9)"), std::string::npos) << info;
  EXPECT_NE(info.find(R"("ack_floor":{"consumer_seq":1,"stream_seq":1)"), std::string::npos) << info;
  EXPECT_NE(info.find(R"("num_ack_pending":7)"), std::string::npos) << info;
  EXPECT_NE(info.find(R"("num_pending":31)"), std::string::npos) << info;
  restore("N", snapshot("S", R"(,"no_consumers":true)"), R"(,"subjects":["n"])");
  EXPECT_NE(harness.api("STREAM.INFO.N").find("\"consumer_count\":0"), std::string::npos);
}

TEST_F(transfers, nothing_is_sent_beyond_the_window_and_silence_ends_the_snapshot) {
  make_stream();
  listen();
  harness.api("STREAM.SNAPSHOT.S", R"({"deliver_subject":"snap","chunk_size":1024,"window_size":3000})");
  go_on();
  EXPECT_EQ(target.messages.size(), 2U);
  harness.advance(std::chrono::seconds(4));
  EXPECT_EQ(target.messages.size(), 2U);
  harness.advance(std::chrono::seconds(2));
  ASSERT_EQ(target.messages.size(), 3U);
  EXPECT_EQ(target.messages.back().headers, "NATS/1.0 408 No Flow Response\r\n\r\n");
}

TEST_F(transfers, a_receiver_that_goes_away_ends_the_snapshot) {
  make_stream();
  harness.account().subscribe(target, "$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S");
  routing::subscription* interest = listen();
  harness.api("STREAM.SNAPSHOT.S", R"({"deliver_subject":"snap","chunk_size":1024,"window_size":1024})");
  go_on();
  harness.account().unsubscribe(interest);
  go_on();
  ASSERT_FALSE(target.messages.empty());
  EXPECT_NE(target.messages.back().payload.find(R"("error":"no interest")"), std::string::npos);
}

TEST_F(transfers, whoever_subscribes_within_two_seconds_gets_everything) {
  make_stream();
  harness.api("STREAM.SNAPSHOT.S", R"({"deliver_subject":"snap"})");
  harness.advance(std::chrono::seconds(1));
  listen();
  go_on();
  go_on();
  EXPECT_GE(target.messages.size(), 2U);
}

TEST_F(transfers, a_deleted_stream_ends_its_snapshot) {
  make_stream("S", 400);
  listen();
  harness.api("STREAM.SNAPSHOT.S", R"({"deliver_subject":"snap","chunk_size":1024,"window_size":1024})");
  go_on();
  harness.api("STREAM.DELETE.S");
  while (!target.messages.back().reply.empty()) {  // what was read already is sent
    harness.publish(target.messages.back().reply, "");
    go_on();
  }
  EXPECT_TRUE(target.messages.back().headers.starts_with("NATS/1.0 500 ")) << target.messages.back().headers;
}

TEST_F(transfers, a_bad_archive_is_told_at_the_end_and_leaves_nothing) {
  make_stream();
  const std::string archive = snapshot();
  std::string flipped = archive;
  flipped[200] = static_cast<char>(flipped[200] ^ 1);
  const std::pair<std::string, std::string> cases[] = {{"", "restore failed: EOF"},
                                                       {"garbage that is long enough", "s2: corrupt input"},
                                                       {archive.substr(0, archive.size() / 2), "s2: corrupt input"},
                                                       {archive.substr(0, archive.size() - 1), "s2: corrupt input"},
                                                       {flipped, "crc mismatch"}};
  for (const auto& [bytes, text] : cases) {
    const std::string answer = restore("R", bytes);
    EXPECT_NE(answer.find(text), std::string::npos) << answer;
    EXPECT_NE(answer.find("\"err_code\":10062"), std::string::npos) << answer;
    harness.turn();
    EXPECT_EQ(harness.store().find_stream("$G", "R"), nullptr);
  }
  EXPECT_NE(restore("R", archive + "more").find("\"messages\":40"), std::string::npos);
}

TEST_F(transfers, subjects_sizes_and_names_are_checked) {
  make_stream();
  const std::string archive = snapshot();
  EXPECT_NE(restore("R", archive, R"(,"subjects":["S.>"])").find("subjects overlap"), std::string::npos);
  EXPECT_NE(restore("R", archive, R"(,"max_msg_size":10)").find("exceeds maximum message size"), std::string::npos);
  EXPECT_NE(restore("R", archive, R"(,"num_replicas":3)").find("(10074)"), std::string::npos);
  EXPECT_NE(begin_restore("S").find("10130"), std::string::npos);
  EXPECT_NE(begin_restore("R", R"(,"name":"X")").find("10056"), std::string::npos);
}

TEST_F(transfers, a_chunk_that_nobody_waits_for_ends_the_restore) {
  make_stream();
  const std::string archive = snapshot();
  harness.account().subscribe(target, "$JS.EVENT.ADVISORY.STREAM.RESTORE_COMPLETE.R");
  const std::string to = begin_restore("R");
  harness.publish(to, archive);
  go_on();
  EXPECT_EQ(target.messages.size(), 1U);
  EXPECT_FALSE(harness.account().has_interest(to));
  EXPECT_EQ(harness.store().find_stream("$G", "R"), nullptr);
}

TEST_F(transfers, the_request_is_read_as_strictly_as_others) {
  EXPECT_NE(harness.api("STREAM.RESTORE.R", R"({"config":{},"state":{"messages":1,"what":2}})").find("unknown field"),
            std::string::npos);
}

TEST_F(transfers, two_may_begin_and_one_ends) {
  make_stream();
  const std::string archive = snapshot();
  const std::string first = begin_restore("R"), second = begin_restore("R");
  EXPECT_EQ(harness.request(first, archive), "");
  EXPECT_EQ(harness.request(second, archive), "");
  EXPECT_NE(harness.request(second).find("10062"), std::string::npos);
  EXPECT_NE(harness.request(first).find("\"messages\":40"), std::string::npos);
}

TEST_F(transfers, a_sender_that_stops_is_given_up) {
  make_stream("S", 400);
  const std::string archive = snapshot();
  const std::string to = begin_restore("R");
  harness.request(to, archive.substr(0, archive.size() * 3 / 4));
  EXPECT_NE(harness.store().find_stream("$G", "R"), nullptr);
  harness.advance(std::chrono::seconds(6));
  EXPECT_EQ(harness.store().find_stream("$G", "R"), nullptr);
  EXPECT_FALSE(harness.account().has_interest(to));
}

TEST_F(transfers, what_a_crash_left_of_a_restore_is_removed_at_the_next_start) {
  make_stream();
  const std::string archive = snapshot();
  harness.request(begin_restore("R"), archive.substr(0, archive.size() / 2));
  // As if the process had ended here: a new engine over the same store.
  stored_stream half{.config = {}, .loading = true};
  half.config.name = "HALF";
  ASSERT_TRUE(harness.store().create_stream("$G", "HALF", codec::to_json(half), storage::durability::memory, 1));
  engine again(harness.surroundings());
  routing::account account("$G", 2);
  again.attach(account);
  again.recover();
  EXPECT_EQ(harness.store().find_stream("$G", "HALF"), nullptr);
  EXPECT_EQ(again.find_stream("$G", "HALF"), nullptr);
  again.detach(account);
}

TEST(archived_records, states_that_contradict_themselves_are_refused) {
  EXPECT_TRUE(read_archived_state(R"({"messages":2,"first_seq":1,"last_seq":2,"consumer_count":1,"num_subjects":1})"));
  EXPECT_TRUE(read_archived_state(R"({"first_seq":11,"last_seq":10})"));
  for (const char* bad : {R"({"consumer_count":-1})", R"({"messages":1})", R"({"first_seq":5,"last_seq":3})",
                          R"({"messages":3,"first_seq":1,"last_seq":2})", R"({"first_seq":-1})", "[]", ""}) {
    EXPECT_FALSE(read_archived_state(bad)) << bad;
  }
}

TEST(archived_records, a_consumer_is_the_same_after_both_ways) {
  consumer_config config;
  config.ack_policy = ack_mode::explicit_each;
  config.ack_wait = std::chrono::seconds(30);
  config.max_deliver = 3;
  consumer_state state;
  const time_point now = from_unix_nanoseconds(1'700'000'000'000'000'000);
  state.next_stream = 21;
  state.next_consumer = 15;
  state.delivered_stream = 20;
  state.floor_consumer = 3;
  state.floor_stream = 4;
  pending_entry& entry = state.pending.append(6);
  entry.consumer_sequence = 5;
  entry.deliveries = 2;
  entry.delivered_at = now;
  entry.due = now + std::chrono::seconds(30);
  state.exhausted[9] = 3;
  const auto archived = write_archived_consumer(config, "C", to_peer_state(state, config, 20, now));
  const auto read = read_archived_consumer("C", archived);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->config.name, "C");
  const consumer_state back = from_peer_state(read->state, config);
  EXPECT_EQ(encode_snapshot(back), encode_snapshot(state));
}

}  // namespace
}  // namespace tern::jetstream
