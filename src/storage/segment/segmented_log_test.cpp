#include "storage/segment/segmented_log.hpp"
#include "storage/segment/name_encoding.hpp"
#include "storage/segment/record_reader.hpp"
#include "storage/segment/segment_footer.hpp"
#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tern::storage {
namespace {

using testing::payload_of;
using testing::simulated_machine;
using testing::small_options;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));

// The same behaviour on both kinds of storage, and for files also after a restart.
class log_kinds : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(machine.start(small_options()));
    stream =
        *machine.messages->create_stream("$G", "S", "m", in_memory() ? durability::memory : durability::synced, first);
  }
  bool in_memory() const { return GetParam() == 0; }
  void append(sequence number, const std::string& subject, std::size_t size = 50) {
    stream->log().append({number,
                          some_time + std::chrono::seconds(std::min<sequence>(number, 1'000'000)),
                          subject,
                          {},
                          payload_of(subject, number, size)});
  }
  void commit() {
    machine.settle();
    if (in_memory()) machine.one_turn();
  }
  stream_log& log() { return stream->log(); }
  // Parameter 2 restarts after a clean stop, 3 after a power cut.
  void maybe_restart() {
    if (GetParam() < 2) return;
    if (GetParam() == 2) {
      ASSERT_TRUE(machine.messages->close());
    }
    machine.crash(runtime::crash_loss::all_unsynced);
    ASSERT_TRUE(machine.start(small_options()));
    for (const auto& each : machine.messages->findings()) ADD_FAILURE() << each.text;
    stream = machine.messages->find_stream("$G", "S");
    ASSERT_NE(stream, nullptr);
  }
  sequence first = 0;
  simulated_machine machine;
  stream_record* stream = nullptr;
};

TEST_P(log_kinds, sequences_may_jump_far) {
  append(5, "a.x");
  append(6, "a.y");
  append(1'000'000'000'000, "a.x");
  append(1'000'000'000'100, "a.y");
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().messages, 4u);
  EXPECT_EQ(log().state().first, 5u);
  EXPECT_EQ(log().state().last, 1'000'000'000'100u);
  EXPECT_EQ(log().state().deleted, 1'000'000'000'100u - 5 + 1 - 4);
  EXPECT_TRUE(log().state().lost.empty());
  EXPECT_EQ(log().next_live(7), 1'000'000'000'000u);
  EXPECT_EQ(log().previous_live(999), 6u);
  EXPECT_EQ(log().load(1'000'000'000'100)->subject, "a.y");
  EXPECT_EQ(log().load(7).error().code(), errc::not_found);
  const std::vector<sequence_range> gaps = {{7, 999'999'999'999}, {1'000'000'000'001, 1'000'000'000'099}};
  EXPECT_EQ(log().deleted_ranges(), gaps);
}

TEST_P(log_kinds, an_emptied_log_keeps_its_number) {
  for (sequence number = 1; number <= 60; ++number) append(number, "a");
  commit();
  EXPECT_EQ(log().purge({}), 60u);
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().messages, 0u);
  EXPECT_EQ(log().state().bytes, 0u);
  EXPECT_EQ(log().state().first, 61u);
  EXPECT_EQ(log().state().last, 60u);
  EXPECT_EQ(log().state().subjects, 0u);
  append(61, "a");
  commit();
  EXPECT_EQ(log().state().first, 61u);
}

TEST_P(log_kinds, a_purge_below_a_later_sequence_moves_last) {
  for (sequence number = 1; number <= 5; ++number) append(number, "a");
  commit();
  EXPECT_EQ(log().purge({"", 100, 0}), 5u);
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().first, 100u);
  EXPECT_EQ(log().state().last, 99u);
}

TEST_P(log_kinds, skipped_sequences_exist_without_messages) {
  append(1, "a");
  log().skip_to(10, some_time);
  append(11, "a");
  log().skip_to(20, some_time + std::chrono::hours(1));
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().messages, 2u);
  EXPECT_EQ(log().state().last, 20u);
  EXPECT_EQ(log().state().last_timestamp, some_time + std::chrono::hours(1));
  EXPECT_TRUE(log().state().lost.empty());
}

TEST_P(log_kinds, purges_by_subject_keep_and_bound) {
  for (sequence number = 1; number <= 90; ++number) append(number, "s." + std::to_string(number % 3));
  commit();
  std::vector<sequence> told;
  EXPECT_EQ(log().purge({"s.1", 0, 2},
                        [&](sequence number, std::string_view subject) {
                          EXPECT_EQ(subject, "s.1");
                          told.push_back(number);
                        }),
            28u);
  EXPECT_EQ(told.size(), 28u);
  EXPECT_EQ(log().totals("s.1").messages, 2u);
  EXPECT_EQ(log().totals("s.1").first, 85u);
  EXPECT_EQ(log().purge({"s.*", 11, 0}), 6u);
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().messages, 90u - 28 - 6);
  EXPECT_EQ(log().state().first, 11u);
  EXPECT_EQ(log().totals("s.1").first, 85u);
  EXPECT_EQ(log().first_match("s.0", 0), 12u);
  EXPECT_EQ(log().last_match("s.>", 89), 89u);
  EXPECT_EQ(log().for_each_subject("s.*", 0, [](std::string_view, const subject_totals&) { return true; }), 3u);
  auto cursor = log().open_cursor({"s.1"});
  EXPECT_EQ(cursor->next(0), 85u);
  EXPECT_EQ(cursor->count_from(0), 2u);
}

TEST_P(log_kinds, times_are_found) {
  for (sequence number = 1; number <= 100; ++number) append(number, "a");
  commit();
  for (sequence number = 40; number < 60; ++number) EXPECT_TRUE(log().remove(number));
  commit();
  maybe_restart();
  EXPECT_EQ(log().first_at_or_after(some_time), 1u);
  EXPECT_EQ(log().first_at_or_after(some_time + std::chrono::seconds(30)), 30u);
  EXPECT_EQ(log().first_at_or_after(some_time + std::chrono::seconds(45)), 60u);
  EXPECT_EQ(log().first_at_or_after(some_time + std::chrono::seconds(101)), std::nullopt);
  EXPECT_EQ(log().state().first_timestamp, some_time + std::chrono::seconds(1));
}

TEST_P(log_kinds, large_messages_have_segments_of_their_own) {
  for (sequence number = 1; number <= 12; ++number) append(number, "big", number % 3 == 0 ? 300'000 : 20);
  commit();
  maybe_restart();
  for (sequence number = 1; number <= 12; ++number) {
    EXPECT_EQ(log().load(number)->payload, payload_of("big", number, number % 3 == 0 ? 300'000 : 20));
  }
}

std::string kind_name(const ::testing::TestParamInfo<int>& info) {
  const char* const names[] = {"memory", "file", "after_a_clean_stop", "after_a_power_cut"};
  return names[info.param];
}
INSTANTIATE_TEST_SUITE_P(on, log_kinds, ::testing::Range(0, 4), kind_name);

// --- durability and catalog ---

TEST(durability_levels, written_is_confirmed_before_a_sync_and_durable_after_one) {
  simulated_machine machine;
  store_options options = small_options();
  options.journal_bytes = 1 << 20;
  ASSERT_TRUE(machine.start(options));
  auto& stream = **machine.messages->create_stream("$G", "W", "m", durability::written, 0);
  machine.settle();
  const auto syncs = machine.disk_state.syncs();
  bool confirmed = false;
  for (sequence number = 1; number <= 10; ++number) stream.log().append({number, some_time, "a", {}, "x"});
  machine.messages->when_durable([&](const result<void>& outcome) { confirmed = outcome.has_value(); });
  machine.settle();
  EXPECT_TRUE(confirmed);
  EXPECT_EQ(machine.disk_state.syncs(), syncs);
  machine.messages->sync();
  machine.one_turn();
  EXPECT_GT(machine.disk_state.syncs(), syncs);
  machine.crash(runtime::crash_loss::all_unsynced);
  ASSERT_TRUE(machine.start(options));
  EXPECT_EQ(machine.messages->find_stream("$G", "W")->log().state().messages, 10u);
  EXPECT_EQ(machine.messages->find_stream("$G", "W")->level(), durability::written);
}

TEST(catalog, names_of_any_bytes_survive_and_do_not_collide) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  const std::vector<std::string> names = {
      "a/b", "..", ".", "%2F", "Ünïcode", std::string(255, 'x'), std::string(255, 'x') + "y", "a b", "A", "*"};
  for (const auto& name : names) {
    auto made = machine.messages->create_stream(name, name, "meta " + name, durability::synced, 0);
    ASSERT_TRUE(made);
    (*made)->log().append({1, some_time, "s", {}, name});
  }
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  ASSERT_TRUE(machine.start(small_options()));
  EXPECT_EQ(machine.messages->streams().size(), names.size());
  for (const auto& name : names) {
    auto* found = machine.messages->find_stream(name, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->metadata(), "meta " + name);
    EXPECT_EQ(found->log().load(1)->payload, name);
  }
}

TEST(catalog, a_removed_stream_leaves_nothing_and_its_name_is_free) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  for (int round = 0; round < 5; ++round) {
    auto& stream = **machine.messages->create_stream("$G", "S", std::to_string(round), durability::synced, 0);
    for (sequence number = 1; number <= 50; ++number)
      stream.log().append({number, some_time, "s", {}, std::to_string(round)});
    if (round % 2 == 0) machine.settle();
    if (round < 4) machine.messages->remove_stream(stream);
    EXPECT_EQ(machine.messages->find_stream("$G", "S") == nullptr, round < 4);
  }
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  ASSERT_TRUE(machine.start(small_options()));
  EXPECT_TRUE(machine.messages->findings().empty());
  auto* stream = machine.messages->find_stream("$G", "S");
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->metadata(), "4");
  EXPECT_EQ(stream->log().load(50)->payload, "4");
  for (const auto& file : machine.disk_state.files()) {
    EXPECT_TRUE(file.find("/streams/") == std::string::npos || file.find("/S/5/") != std::string::npos) << file;
  }
}

TEST(catalog, a_stream_without_readable_state_is_offline_and_its_name_reserved) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  (*machine.messages->create_stream("$G", "S", "m", durability::synced, 0))->log().append({1, some_time, "s", {}, "x"});
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  for (const auto& file : machine.disk_state.files()) {
    if (file.find("/S/1/state") != std::string::npos) {
      ASSERT_TRUE(machine.disk_state.flip_bit(file, 60));
    }
  }
  const auto before = machine.disk_state.files().size();
  ASSERT_TRUE(machine.start(small_options()));
  ASSERT_EQ(machine.messages->offline().size(), 1u);
  EXPECT_EQ(machine.messages->offline()[0].name, "S");
  EXPECT_EQ(machine.messages->find_stream("$G", "S"), nullptr);
  EXPECT_FALSE(machine.messages->create_stream("$G", "S", "m", durability::synced, 0));
  EXPECT_GE(machine.disk_state.files().size(), before);  // data is left alone (storage I4)
}

TEST(recovery, costs_the_tail_and_the_footers_not_the_messages) {
  simulated_machine machine;
  store_options options;
  options.directory = "/data/js";
  options.segment_bytes = 200'000;
  options.journal_bytes = 500'000;
  ASSERT_TRUE(machine.start(options));
  auto& stream = **machine.messages->create_stream("$G", "S", "m", durability::synced, 0);
  const std::string payload(1000, 'p');
  for (sequence number = 1; number <= 5000; ++number) {
    stream.log().append({number, some_time, "s", {}, payload});
    if (number % 50 == 0) machine.one_turn();
  }
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  machine.stop();
  // Damage in the middle of a sealed segment is not met at the start, but when it is read.
  std::string sealed;
  for (const auto& file : machine.disk_state.files()) {
    if (sealed.empty() && file.ends_with(".seg")) sealed = file;
  }
  ASSERT_TRUE(machine.disk_state.flip_bit(sealed, 100'000));
  ASSERT_TRUE(machine.start(options));
  EXPECT_TRUE(machine.messages->findings().empty());
  auto& log = machine.messages->find_stream("$G", "S")->log();
  EXPECT_EQ(log.state().messages, 5000u);
  int lost = 0;
  for (sequence number = 1; number <= 5000; ++number) {
    const auto loaded = log.load(number);
    if (!loaded) {
      EXPECT_EQ(loaded.error().code(), errc::corrupted);
    }
    lost += !loaded;
  }
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(log.state().messages, 4999u);
  ASSERT_EQ(log.state().lost.size(), 1u);
  EXPECT_EQ(log.load(log.state().lost[0].first).error().code(), errc::corrupted);
  EXPECT_EQ(machine.messages->findings().size(), 1u);
}

TEST_P(log_kinds, segments_that_are_mostly_removed_give_their_space_back) {
  // Like a key-value bucket with a few keys that never change.
  for (sequence number = 1; number <= 3000; ++number) {
    append(number, number % 10 == 0 ? "still." + std::to_string(number) : "busy", 100);
    if (number % 20 == 0) machine.one_turn();
    const auto totals = log().totals("busy");
    if (totals.messages > 1) log().purge({"busy", totals.last, 0});
  }
  commit();
  log().purge({"busy", log().totals("busy").last, 0});
  commit();
  maybe_restart();
  EXPECT_EQ(log().state().messages, 301u);
  for (sequence number = 10; number <= 3000; number += 10) {
    ASSERT_EQ(log().load(number)->payload, payload_of("still." + std::to_string(number), number, 100));
  }
  std::size_t bytes = 0;
  for (const auto& file : machine.disk_state.files()) {
    if (file.ends_with(".seg")) bytes += machine.disk_state.contents(file)->size();
  }
  EXPECT_LT(bytes, 301 * 600u);  // 3000 messages of 230 bytes were written
}

// --- parts ---

TEST(records, are_found_again_behind_damage) {
  std::string file;
  std::vector<std::uint64_t> starts;
  for (std::uint64_t number = 1; number <= 5; ++number) {
    starts.push_back(file.size());
    record_header header;
    header.sequence = number;
    append_message_record(file, header, "subject", "", "payload " + std::to_string(number));
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    record_reader reader(damaged);
    int whole = 0, broken = 0;
    for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
      whole += item == record_reader::item::record;
      broken += item != record_reader::item::record;
    }
    EXPECT_EQ(whole, 4) << at;
    EXPECT_EQ(broken, 1) << at;
  }
}

TEST(footers, carry_all_that_a_scan_finds) {
  segment what;
  what.number = 7;
  what.base = 100;
  what.last = 99;
  what.tail = encode_segment_header({});
  what.size = what.tail.size();
  for (sequence number : {100, 101, 105, 106}) {
    std::string record;
    record_header header;
    header.sequence = number;
    header.time = static_cast<std::int64_t>(number) * 1'000'000'007;
    append_message_record(record, header, "s", number == 105 ? "h" : "", std::string(number, 'x'));
    what.append(record, read_header(record.data()),
                number == 106 ? no_subject : static_cast<subject_id>(number % 2 + 1));
  }
  const std::string footer = encode_footer(what, 3, [](subject_id id) { return id == 1 ? "even" : "odd"; });
  record_reader reader(footer);
  ASSERT_EQ(reader.next(), record_reader::item::record);
  const auto decoded = decode_footer(reader.body());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->size, what.size);
  ASSERT_EQ(decoded->entries.size(), 4u);
  for (const auto& entry : decoded->entries) {
    const auto& place = what.places[what.index_of(entry.number)];
    EXPECT_EQ(entry.offset, place.offset);
    EXPECT_EQ(entry.time, place.time);
    EXPECT_EQ(entry.length, what.length_at(what.index_of(entry.number)));
    EXPECT_EQ(entry.has_headers, entry.number == 105);
  }
  EXPECT_EQ(decoded->entries[3].subject, 0u);
  EXPECT_EQ(decoded->subjects[decoded->entries[1].subject - 1], "odd");
  for (std::size_t size = 0; size < reader.body().size(); ++size)
    EXPECT_FALSE(decode_footer(reader.body().substr(0, size)));
}

TEST(names, are_safe_readable_and_unique) {
  EXPECT_EQ(encode_name("ORDERS"), "ORDERS");
  EXPECT_EQ(encode_name("$G"), "$G");
  EXPECT_EQ(encode_name("a/b"), "a%2Fb");
  EXPECT_EQ(encode_name(".."), "%2E.");
  EXPECT_LE(encode_name(std::string(1000, '/')).size(), 200u);
  EXPECT_NE(encode_name(std::string(255, 'x')), encode_name(std::string(254, 'x')));
}

}  // namespace
}  // namespace tern::storage
