#include "base/numbers.hpp"
#include "jetstream/test_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tern::jetstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The number behind `"key":` in JSON text; -1 when there is none.
std::int64_t number_of(std::string_view json, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return -1;
  const std::string_view rest = json.substr(at + quoted.size());
  return parse_signed_decimal(rest.substr(0, rest.find_first_not_of("-0123456789"))).value_or(-1);
}

struct position {
  std::int64_t consumer = 0, stream = 0;
  friend bool operator==(const position&, const position&) = default;
};
void PrintTo(const position& at, std::ostream* out) { *out << at.consumer << "/" << at.stream; }

position position_of(std::string_view json, std::string_view key) {
  const std::size_t at = json.find("\"" + std::string(key) + "\":{");
  if (at == std::string_view::npos) return {-1, -1};
  return {number_of(json.substr(at), "consumer_seq"), number_of(json.substr(at), "stream_seq")};
}

// The tokens of an ack reply behind stream and consumer.
struct delivery {
  std::uint64_t count = 0, stream = 0, consumer = 0, pending = 0;
  std::string subject, reply, headers, payload;
};

class consumer_test : public ::testing::Test {
 protected:
  void create_stream(std::string_view more = "") {
    const std::string answer = harness.api(
        "STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"],"storage":"memory")" + std::string(more) + "}");
    ASSERT_EQ(answer.find("\"error\""), std::string::npos) << answer;
  }
  std::string create(std::string_view config, std::string_view name = "C") {
    return harness.api(
        "CONSUMER.CREATE.S." + std::string(name),
        R"({"stream_name":"S","config":{"durable_name":")" + std::string(name) + "\"," + std::string(config) + "}}");
  }
  void create_explicit(std::string_view more = "") {
    const std::string answer = create(R"("ack_policy":"explicit")" + std::string(more));
    ASSERT_EQ(answer.find("\"error\""), std::string::npos) << answer;
  }
  void store(std::string_view subject, std::string_view payload = "x") {
    harness.publish(subject, payload);
    harness.turn();
  }
  std::string info(std::string_view name = "C") { return harness.api("CONSUMER.INFO.S." + std::string(name)); }
  void pull(std::string_view body, std::string_view inbox = "_INBOX.p") {
    harness.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", body, {}, inbox);
    harness.turn();
  }
  // Messages that came, and statuses apart.
  std::vector<delivery> deliveries() {
    std::vector<delivery> out;
    for (captured_message& one : harness.take_messages()) {
      if (!one.reply.starts_with("$JS.ACK.S.C.")) {
        statuses.push_back(one.headers.substr(0, one.headers.find("\r\n")));
        continue;
      }
      delivery got;
      std::vector<std::uint64_t> numbers;
      std::string_view rest = std::string_view(one.reply).substr(std::string_view("$JS.ACK.S.C.").size());
      while (!rest.empty()) {
        numbers.push_back(parse_decimal(rest.substr(0, rest.find('.'))).value_or(0));
        rest = rest.find('.') == std::string_view::npos ? std::string_view() : rest.substr(rest.find('.') + 1);
      }
      EXPECT_EQ(numbers.size(), 5u) << one.reply;
      got.count = numbers[0];
      got.stream = numbers[1];
      got.consumer = numbers[2];
      got.pending = numbers[4];
      got.subject = one.subject;
      got.reply = one.reply;
      got.headers = one.headers;
      got.payload = one.payload;
      out.push_back(std::move(got));
    }
    return out;
  }
  std::vector<std::string> take_statuses() { return std::exchange(statuses, {}); }
  void ack(const delivery& of, std::string_view body = "+ACK") {
    harness.publish(of.reply, body);
    harness.turn();
  }

  capturing_receiver events;
  test_harness harness;
  std::vector<std::string> statuses;
};

TEST_F(consumer_test, delivers_the_stored_subject_with_an_ack_reply_of_nine_tokens) {  // jetstream 13.4
  create_stream();
  store("s.a", "one");
  create_explicit();
  pull("1");
  const auto got = deliveries();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].subject, "s.a");
  EXPECT_EQ(got[0].payload, "one");
  EXPECT_EQ(std::count(got[0].reply.begin(), got[0].reply.end(), '.'), 8);
  EXPECT_EQ(got[0].count, 1u);
  EXPECT_EQ(got[0].pending, 0u);
}

TEST_F(consumer_test, create_answers_with_the_start_before_anything_is_delivered) {  // jetstream 2, 13.2
  create_stream();
  for (int i = 0; i < 3; ++i) store("s.a");
  const std::string answer = create(R"("ack_policy":"explicit")");
  EXPECT_EQ(number_of(answer, "num_pending"), 3);
  EXPECT_EQ(position_of(answer, "delivered"), (position{0, 0}));
}

TEST_F(consumer_test, waiting_pulls_are_served_by_turns) {  // jetstream 15
  create_stream();
  create_explicit();
  pull(R"({"batch":2,"expires":5000000000})", "_INBOX.one");
  pull(R"({"batch":2,"expires":5000000000})", "_INBOX.two");
  for (int i = 0; i < 4; ++i) store("s.a");
  EXPECT_EQ(deliveries().size(), 4u);
  EXPECT_EQ(number_of(info(), "num_waiting"), 0);
}

TEST_F(consumer_test, a_pull_that_expires_says_what_was_left) {  // jetstream 15
  create_stream();
  store("s.a");
  create_explicit();
  pull(R"({"batch":5,"expires":300000000})");
  EXPECT_EQ(deliveries().size(), 1u);
  harness.advance(milliseconds(299));
  EXPECT_TRUE(deliveries().empty());
  EXPECT_TRUE(take_statuses().empty());
  harness.advance(milliseconds(1));
  const auto messages = harness.take_messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].headers,
            "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 4\r\nNats-Pending-Bytes: 0\r\n\r\n");
}

TEST_F(consumer_test, no_wait_ends_at_the_end_of_data) {  // jetstream 15
  create_stream();
  store("s.a");
  create_explicit();
  pull(R"({"batch":3,"no_wait":true})");
  EXPECT_EQ(deliveries().size(), 1u);
  EXPECT_EQ(take_statuses(), std::vector<std::string>{"NATS/1.0 404 No Messages"});
  pull(R"({"batch":3,"no_wait":true})");
  EXPECT_TRUE(deliveries().empty());
  EXPECT_EQ(take_statuses(), std::vector<std::string>{"NATS/1.0 404 No Messages"});
}

TEST_F(consumer_test, heartbeats_come_between_deliveries) {  // jetstream 15
  create_stream();
  create_explicit();
  pull(R"({"batch":1,"expires":1000000000,"idle_heartbeat":300000000})");
  harness.advance(milliseconds(1000));
  deliveries();
  EXPECT_EQ(take_statuses(), (std::vector<std::string>{"NATS/1.0 100 Idle Heartbeat", "NATS/1.0 100 Idle Heartbeat",
                                                       "NATS/1.0 100 Idle Heartbeat", "NATS/1.0 408 Request Timeout"}));
}

TEST_F(consumer_test, a_pull_nobody_listens_for_takes_nothing) {  // jetstream 15
  create_stream();
  store("s.a");
  create_explicit();
  pull(R"({"batch":1,"expires":5000000000})", "nobody.there");
  EXPECT_TRUE(deliveries().empty());
  const std::string now = info();
  EXPECT_EQ(number_of(now, "num_pending"), 1);
  EXPECT_EQ(number_of(now, "num_ack_pending"), 0);
  EXPECT_EQ(number_of(now, "num_waiting"), 0);
  pull("1");
  const auto got = deliveries();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].count, 1u);
  EXPECT_EQ(got[0].consumer, 1u);
}

TEST_F(consumer_test, one_large_pull_is_served_over_several_turns_in_order) {
  create_stream();
  create_explicit(R"(,"max_ack_pending":-1)");
  for (int i = 0; i < 2000; ++i) harness.publish("s.a", "x");
  harness.turn();
  pull("2000");
  for (int turns = 0; turns < 4; ++turns) harness.advance(milliseconds(1));
  const auto got = deliveries();
  ASSERT_EQ(got.size(), 2000u);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].stream, i + 1);
    ASSERT_EQ(got[i].pending, 1999 - i);
  }
}

TEST_F(consumer_test, expired_messages_come_again_in_stream_order_before_new_ones) {  // jetstream 13.3, 13.7
  create_stream();
  for (int i = 0; i < 4; ++i) store("s.a");
  create_explicit(R"(,"ack_wait":1000000000)");
  pull("3");
  EXPECT_EQ(deliveries().size(), 3u);
  harness.advance(milliseconds(999));
  pull(R"({"batch":1,"no_wait":true})");
  auto got = deliveries();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].stream, 4u);  // nothing is due before its time
  harness.advance(milliseconds(1));
  pull("3");
  got = deliveries();
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i].stream, i + 1);
    EXPECT_EQ(got[i].count, 2u);
    EXPECT_EQ(got[i].consumer, i + 5);
  }
}

TEST_F(consumer_test, backoff_sets_the_wait_of_each_delivery_and_its_last_entry_repeats) {  // jetstream 13.7
  create_stream();
  store("s.a");
  create_explicit(R"(,"backoff":[1000000000,3000000000],"max_deliver":5)");
  pull("5");
  EXPECT_EQ(deliveries().size(), 1u);
  for (const int wait : {1, 3, 3, 3}) {
    harness.advance(seconds(wait) - milliseconds(1));
    EXPECT_TRUE(deliveries().empty()) << wait;
    harness.advance(milliseconds(1));
    EXPECT_EQ(deliveries().size(), 1u) << wait;
  }
}

TEST_F(consumer_test, progress_starts_the_wait_anew) {  // jetstream 13.8
  create_stream();
  store("s.a");
  create_explicit(R"(,"ack_wait":1000000000)");
  pull("2");
  const auto first = deliveries();
  harness.advance(milliseconds(800));
  ack(first[0], "+WPI");
  harness.advance(milliseconds(900));
  EXPECT_TRUE(deliveries().empty());
  harness.advance(milliseconds(100));
  EXPECT_EQ(deliveries().size(), 1u);
}

TEST_F(consumer_test, a_delayed_nak_keeps_its_slot_and_comes_after_the_delay) {  // jetstream 14
  create_stream();
  store("s.a");
  store("s.b");
  create_explicit(R"(,"max_ack_pending":1)");
  pull("1");
  const auto first = deliveries();
  ack(first[0], "-NAK {\"delay\":2000000000}");
  pull("1");
  EXPECT_TRUE(deliveries().empty());
  EXPECT_EQ(number_of(info(), "num_ack_pending"), 1);
  harness.advance(seconds(2));
  const auto again = deliveries();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].stream, 1u);
  EXPECT_EQ(again[0].count, 2u);
}

TEST_F(consumer_test,
       a_message_that_had_all_its_deliveries_leaves_pending_and_the_next_ack_passes_it) {  // jetstream 13.7
  create_stream();
  store("s.a");
  store("s.b");
  harness.account().subscribe(events, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>");
  create_explicit(R"(,"max_deliver":1,"ack_wait":1000000000)");
  pull("1");
  EXPECT_EQ(deliveries().size(), 1u);
  harness.advance(seconds(1));
  EXPECT_EQ(events.messages.size(), 1u);
  std::string now = info();
  EXPECT_EQ(number_of(now, "num_ack_pending"), 0);
  EXPECT_EQ(position_of(now, "ack_floor"), (position{0, 0}));
  pull("1");
  const auto second = deliveries();
  ASSERT_EQ(second.size(), 1u);
  ack(second[0]);
  EXPECT_EQ(position_of(info(), "ack_floor"), (position{2, 2}));
}

TEST_F(consumer_test, a_sync_ack_is_answered_and_one_beyond_what_was_delivered_is_not) {  // jetstream 13.8, 14
  create_stream();
  store("s.a");
  store("s.b");
  create_explicit();
  pull("1");
  const auto got = deliveries();
  const auto answered = [&](std::string_view subject, std::string_view body) {
    harness.publish(subject, body, {}, "_INBOX.sync");
    harness.turn();
    return harness.take_messages().size() == 1;
  };
  EXPECT_TRUE(answered(got[0].reply, "+ACK"));
  EXPECT_TRUE(answered(got[0].reply, "+ACK"));
  EXPECT_TRUE(answered(got[0].reply, "garbage"));
  EXPECT_FALSE(answered("$JS.ACK.S.C.1.2.2.0.0", "+ACK"));
  EXPECT_FALSE(answered("$JS.ACK.S.C.1.x.2.0.0", "+TERM"));
  EXPECT_TRUE(answered("$JS.ACK._.szMpdrwD.S.C.1.1.1.0.0.x9", "+ACK"));
}

TEST_F(consumer_test, an_ack_that_comes_again_still_counts_as_activity) {  // jetstream 13.8
  create_stream();
  store("s.a");
  create_explicit();
  pull("1");
  const delivery got = deliveries().at(0);
  ack(got);
  const std::string before = info();
  harness.advance(seconds(1));
  ack(got);
  const std::string after = info();
  EXPECT_NE(after.substr(after.find("ack_floor"), 90), before.substr(before.find("ack_floor"), 90));
}

TEST_F(consumer_test, ack_all_settles_everything_below) {  // jetstream 14
  create_stream();
  for (int i = 0; i < 4; ++i) store("s.a");
  create(R"("ack_policy":"all")");
  pull("4");
  const auto got = deliveries();
  ack(got[2]);
  EXPECT_EQ(position_of(info(), "ack_floor"), (position{3, 3}));
  EXPECT_EQ(number_of(info(), "num_ack_pending"), 1);
}

TEST_F(consumer_test, last_per_subject_skips_what_was_removed_before_its_turn) {  // jetstream 13.2, 13.5
  create_stream();
  for (const auto* subject : {"s.a", "s.b", "s.a", "s.c"}) store(subject);
  const std::string answer = create(R"("deliver_policy":"last_per_subject","filter_subject":"s.>")");
  EXPECT_EQ(number_of(answer, "num_pending"), 3);
  harness.api("STREAM.MSG.DELETE.S", R"({"seq":3})");
  EXPECT_EQ(number_of(info(), "num_pending"), 2);
  store("s.a");
  pull("9");
  const auto got = deliveries();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].stream, 2u);
  EXPECT_EQ(got[1].stream, 4u);
  EXPECT_EQ(got[2].stream, 5u);
  EXPECT_EQ(got[2].pending, 0u);
}

TEST_F(consumer_test, an_unused_ephemeral_goes_after_its_threshold_and_a_waiting_pull_keeps_it) {  // jetstream 13.10
  create_stream();
  harness.api("CONSUMER.CREATE.S.C", R"({"stream_name":"S","config":{"inactive_threshold":1000000000}})");
  pull(R"({"batch":1,"expires":20000000000})");
  harness.advance(seconds(10));
  EXPECT_EQ(number_of(info(), "num_waiting"), 1);
  harness.advance(seconds(15));
  EXPECT_NE(info().find("10014"), std::string::npos);
}

TEST_F(consumer_test, a_deleted_consumer_ends_its_pulls_behind_the_answer) {  // jetstream 12.4
  create_stream();
  create_explicit();
  pull(R"({"batch":1,"expires":20000000000})");
  harness.publish("$JS.API.CONSUMER.DELETE.S.C", "", {}, "_INBOX.d");
  harness.turn();
  const auto messages = harness.take_messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[0].payload.find("\"success\":true"), std::string::npos);
  EXPECT_TRUE(messages[1].headers.starts_with("NATS/1.0 409 Consumer Deleted\r\n"));
}

TEST_F(consumer_test, a_workqueue_message_goes_with_its_ack) {  // jetstream 6.4
  create_stream(R"(,"retention":"workqueue")");
  store("s.a");
  create_explicit();
  pull("1");
  ack(deliveries()[0]);
  EXPECT_EQ(number_of(harness.api("STREAM.INFO.S"), "messages"), 0);
}

TEST_F(consumer_test, an_interest_message_goes_with_the_last_ack) {  // jetstream 6.3
  create_stream(R"(,"retention":"interest")");
  create_explicit();
  create(R"("ack_policy":"none")", "N");
  store("s.a");
  harness.publish("$JS.API.CONSUMER.MSG.NEXT.S.N", "1", {}, "_INBOX.n");
  harness.turn();
  harness.take_messages();
  EXPECT_EQ(number_of(harness.api("STREAM.INFO.S"), "messages"), 1);
  pull("1");
  ack(deliveries()[0]);
  EXPECT_EQ(number_of(harness.api("STREAM.INFO.S"), "messages"), 0);
}

TEST_F(consumer_test, replay_original_keeps_the_distance_between_messages) {  // jetstream 13.11
  create_stream();
  store("s.a");
  harness.advance(seconds(4));
  store("s.a");
  create(R"("ack_policy":"explicit","replay_policy":"original")");
  pull("2");
  EXPECT_EQ(deliveries().size(), 1u);
  harness.advance(milliseconds(3999));
  EXPECT_TRUE(deliveries().empty());
  harness.advance(milliseconds(1));
  EXPECT_EQ(deliveries().size(), 1u);
}

// Random publishes, pulls, acknowledgements, deletions and time, against a model that counts the slow way (13.5, 13.6).
TEST_F(consumer_test, counts_and_floor_agree_with_a_naive_model) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    if (seed > 1) harness.api("STREAM.DELETE.S");
    create_stream();
    create_explicit(R"(,"filter_subjects":["s.a","s.b"],"max_ack_pending":20,"ack_wait":10000000000)");
    struct out_there {
      std::uint64_t first_consumer = 0, count = 0;
    };
    std::map<std::uint64_t, std::string> stream;  // live messages
    std::map<std::uint64_t, out_there> pending;
    std::map<std::uint64_t, delivery> last_delivery;
    std::uint64_t last = 0, next_stream = 1, next_consumer = 1, delivered = 0;
    position floor;
    // The floor moves when the first pending message is settled (13.6).
    const auto settle = [&](std::uint64_t number) {
      const bool first = !pending.empty() && pending.begin()->first == number;
      if (pending.erase(number) == 0 || !first) return;
      const auto at = [](std::uint64_t consumer, std::uint64_t stream_sequence) {
        return position{static_cast<std::int64_t>(consumer), static_cast<std::int64_t>(stream_sequence)};
      };
      floor = pending.empty() ? at(next_consumer - 1, delivered)
                              : at(pending.begin()->second.first_consumer - 1, pending.begin()->first - 1);
    };
    for (int step = 0; step < 250; ++step) {
      const auto dice = random() % 12;
      if (dice < 4) {
        static constexpr const char* subjects[] = {"s.a", "s.b", "s.other"};
        const std::string subject = subjects[random() % 3];
        store(subject);
        stream[++last] = subject;
      } else if (dice < 7) {
        pull(R"({"batch":)" + std::to_string(1 + random() % 5) + R"(,"no_wait":true})");
      } else if (dice < 10 && !last_delivery.empty()) {
        auto some = last_delivery.begin();
        std::advance(some, static_cast<std::ptrdiff_t>(random() % last_delivery.size()));
        const bool nak = random() % 4 == 0;
        ack(some->second, nak ? "-NAK" : random() % 2 == 0 ? "+ACK" : "+TERM");
        if (!nak) settle(some->first);
        if (!nak) last_delivery.erase(some);
      } else if (dice == 10 && !stream.empty()) {
        auto some = stream.begin();
        std::advance(some, static_cast<std::ptrdiff_t>(random() % stream.size()));
        harness.api("STREAM.MSG.DELETE.S", R"({"seq":)" + std::to_string(some->first) + "}");
        settle(some->first);
        last_delivery.erase(some->first);
        stream.erase(some);
      } else if (dice == 11) {
        harness.advance(seconds(1 + random() % 6));
      }
      // A pull that max_ack_pending holds back is served by an acknowledgement, too.
      for (const delivery& got : deliveries()) {
        ASSERT_EQ(got.consumer, next_consumer++);
        auto& entry = pending[got.stream];
        if (entry.count++ == 0) {
          ASSERT_GE(got.stream, next_stream);
          entry.first_consumer = got.consumer;
          next_stream = got.stream + 1;
          delivered = got.stream;
        }
        ASSERT_EQ(got.count, entry.count);
        last_delivery[got.stream] = got;
      }
      take_statuses();
      const std::string now = info();
      const auto undelivered = std::count_if(stream.begin(), stream.end(), [&](const auto& one) {
        return one.first >= next_stream && one.second != "s.other";
      });
      ASSERT_TRUE(harness.warnings.empty()) << harness.warnings.front();
      ASSERT_EQ(number_of(now, "num_pending"), undelivered) << "seed " << seed << " step " << step;
      ASSERT_EQ(number_of(now, "num_ack_pending"), static_cast<std::int64_t>(pending.size())) << seed << " " << step;
      ASSERT_EQ(position_of(now, "ack_floor"), floor) << "seed " << seed << " step " << step;
      ASSERT_LE(pending.size(), 20u);
    }
  }
}

}  // namespace
}  // namespace tern::jetstream
