#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tern::storage {
namespace {

using testing::payload_of;
using testing::simulated_machine;
using testing::small_options;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));

void append(stream_record& stream, sequence number, std::string_view subject, std::string_view payload,
            std::string_view headers = {}) {
  stream.log().append({number, some_time + std::chrono::seconds(number), subject, headers, payload});
}

struct recorder final : log_owner {
  void on_committed(sequence number, std::string_view subject, std::uint64_t bytes) override {
    committed.emplace_back(number, std::string(subject));
    total += bytes;
  }
  void on_commit_failed(const error& why) override { failures.push_back(why.message()); }
  std::vector<std::pair<sequence, std::string>> committed;
  std::vector<std::string> failures;
  std::uint64_t total = 0;
};

TEST(memory_store, commits_at_the_end_of_the_turn) {
  auto opened = store::open(nullptr, {});
  ASSERT_TRUE(opened);
  store& messages = **opened;
  auto stream = messages.create_stream("$G", "M", "{}", durability::memory, 0);
  ASSERT_TRUE(stream);
  recorder owner;
  (*stream)->set_owner(&owner);
  append(**stream, 1, "a.b", "one");
  append(**stream, 2, "a.c", "two", "NATS/1.0\r\n\r\n");
  EXPECT_EQ((*stream)->log().state().messages, 0u);
  bool durable = false;
  messages.when_durable([&](const result<void>& outcome) { durable = outcome.has_value(); });
  EXPECT_FALSE(durable);
  messages.commit();
  EXPECT_TRUE(durable);
  ASSERT_EQ(owner.committed.size(), 2u);
  const auto& state = (*stream)->log().state();
  EXPECT_EQ(state.messages, 2u);
  EXPECT_EQ(state.bytes, memory_record_bytes(3, 0, 3) + memory_record_bytes(3, 12, 3));  // jetstream 6.1
  EXPECT_EQ(owner.total, state.bytes);
  auto loaded = (*stream)->log().load(2);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->payload, "two");
  EXPECT_EQ(loaded->headers, "NATS/1.0\r\n\r\n");
  EXPECT_EQ(loaded->subject, "a.c");
  EXPECT_TRUE((*stream)->log().remove(1, false));
  EXPECT_EQ((*stream)->log().load(1).error().code(), errc::not_found);
  EXPECT_EQ(state.first, 2u);
  EXPECT_FALSE(messages.create_stream("$G", "F", "{}", durability::synced, 0));
}

TEST(memory_store, frees_segments_that_are_empty) {
  auto opened = store::open(nullptr, {});
  auto& stream = **(*opened)->create_stream("$G", "M", "{}", durability::memory, 100);
  const std::string payload(1000, 'x');
  for (sequence number = 100; number < 5100; ++number) {
    append(stream, number, "s", payload);
    (*opened)->commit();
    if (number >= 110) {
      ASSERT_TRUE(stream.log().remove(number - 10));
    }
  }
  EXPECT_EQ(stream.log().state().messages, 10u);
  EXPECT_EQ(stream.log().state().first, 5090u);
  EXPECT_EQ(stream.log().load(5099)->payload, payload);
}

TEST(file_store, keeps_messages_over_a_clean_stop) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto& stream = **machine.messages->create_stream("$G", "ORDERS", "meta", durability::synced, 0);
  recorder owner;
  stream.set_owner(&owner);
  std::uint64_t confirmed = 0;
  for (sequence number = 1; number <= 300; ++number) {
    append(stream, number, "orders." + std::to_string(number % 7), payload_of("ORDERS", number),
           number % 3 == 0 ? "NATS/1.0\r\nA: b\r\n\r\n" : "");
    machine.messages->when_durable([&](const result<void>& outcome) { confirmed += outcome.has_value(); });
    if (number % 5 == 0) machine.one_turn();
  }
  machine.settle();
  EXPECT_EQ(confirmed, 300u);
  EXPECT_EQ(owner.committed.size(), 300u);
  EXPECT_TRUE(stream.log().remove(17));
  EXPECT_TRUE(stream.log().remove(18, true));
  const auto before = stream.log().state();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  ASSERT_TRUE(machine.start(small_options()));
  for (const auto& each : machine.messages->findings()) ADD_FAILURE() << each.text;
  auto* again = machine.messages->find_stream("$G", "ORDERS");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->metadata(), "meta");
  const auto& after = again->log().state();
  EXPECT_EQ(after.messages, before.messages);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.first, before.first);
  EXPECT_EQ(after.last, 300u);
  EXPECT_EQ(after.subjects, 7u);
  EXPECT_EQ(after.deleted, 2u);
  EXPECT_EQ(after.first_timestamp, before.first_timestamp);
  EXPECT_EQ(after.last_timestamp, before.last_timestamp);
  for (sequence number = 1; number <= 300; ++number) {
    auto loaded = again->log().load(number);
    if (number == 17 || number == 18) {
      EXPECT_EQ(loaded.error().code(), errc::not_found);
      continue;
    }
    ASSERT_TRUE(loaded) << number << " " << loaded.error().message();
    EXPECT_EQ(loaded->payload, payload_of("ORDERS", number));
    EXPECT_EQ(loaded->timestamp, some_time + std::chrono::seconds(number));
    EXPECT_EQ(loaded->headers.empty(), number % 3 != 0);
  }
  EXPECT_EQ(again->log().totals("orders.3").messages, 42u);
}

// The first message may be one whose number recovery knew before it had seen it.
TEST(file_store, knows_the_time_of_the_first_message_after_a_crash) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto* stream = *machine.messages->create_stream("$G", "ORDERS", "meta", durability::synced, 0);
  for (sequence number = 1; number <= 2; ++number) append(*stream, number, "orders", "settled");
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  ASSERT_TRUE(machine.start(small_options()));
  stream = machine.messages->find_stream("$G", "ORDERS");
  append(*stream, 3, "orders", "kept");
  append(*stream, 4, "orders", "kept");
  machine.settle();
  EXPECT_TRUE(stream->log().remove(1));
  EXPECT_TRUE(stream->log().remove(2));
  machine.settle();
  machine.crash(runtime::crash_loss::nothing);
  ASSERT_TRUE(machine.start(small_options()));
  const auto& state = machine.messages->find_stream("$G", "ORDERS")->log().state();
  EXPECT_EQ(state.first, 3u);
  EXPECT_EQ(state.first_timestamp, some_time + std::chrono::seconds(3));
}

TEST(file_store, consumers_and_their_deltas_survive) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto& stream = **machine.messages->create_stream("A", "S", "m", durability::synced, 0);
  auto& consumer = stream.create_consumer("C", "config", false);
  stream.create_consumer("gone", "x", false);
  stream.create_consumer("volatile", "x", true);
  for (int number = 0; number < 200; ++number) {
    consumer.append_delta("delta " + std::to_string(number));
    if (number % 3 == 0) machine.one_turn();
  }
  stream.remove_consumer("gone");
  consumer.set_metadata("config 2");
  machine.settle();
  machine.crash(runtime::crash_loss::all_unsynced);
  ASSERT_TRUE(machine.start(small_options()));
  for (const auto& each : machine.messages->findings()) ADD_FAILURE() << each.text;
  auto* again = machine.messages->find_stream("A", "S");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->consumer_names(), std::vector<std::string>{"C"});
  auto* found = again->find_consumer("C");
  EXPECT_EQ(found->metadata(), "config 2");
  const auto known = found->take_recovered();
  ASSERT_EQ(known.deltas.size(), 200u);
  EXPECT_EQ(known.deltas[199], "delta 199");
  // A snapshot replaces them.
  found->set_snapshot_source([] { return std::string("snapshot"); });
  found->append_delta("later");
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  ASSERT_TRUE(machine.start(small_options()));
  const auto settled = machine.messages->find_stream("A", "S")->find_consumer("C")->take_recovered();
  EXPECT_EQ(settled.snapshot, "snapshot");
  EXPECT_TRUE(settled.deltas.empty());
}

}  // namespace
}  // namespace tern::storage
