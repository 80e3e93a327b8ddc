// Disks that refuse: a failed sync is never a success, what was refused is gone, what was confirmed is there, and the
// store goes on when the disk does (storage D2, W10).
#include "storage/segment/byte_order.hpp"
#include "storage/segment/record.hpp"
#include "storage/state_file.hpp"
#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tern::storage {
namespace {

using testing::payload_of;
using testing::simulated_machine;
using testing::small_options;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));

struct owner_of_log final : log_owner {
  void on_committed(sequence number, std::string_view, std::uint64_t) override { committed = number; }
  void on_commit_failed(const error&) override { ++failures; }
  sequence committed = 0;
  int failures = 0;
};

// Appends one message and tells what became of it.
enum class fate { waiting, confirmed, refused };
void publish(simulated_machine& machine, stream_record& stream, std::map<sequence, fate>& fates, sequence number) {
  stream.log().append({number, some_time, "s.x", {}, payload_of(stream.name(), number)});
  fates[number] = fate::waiting;
  machine.messages->when_durable(
      [&fates, number](const result<void>& outcome) { fates[number] = outcome ? fate::confirmed : fate::refused; });
}

class store_fault : public ::testing::TestWithParam<int> {};

TEST_P(store_fault, refuses_what_a_failed_sync_leaves_in_doubt_and_goes_on) {
  for (std::uint64_t failing = 1; failing <= 3; ++failing) {
    for (int moment = 0; moment < 40; ++moment) {
      SCOPED_TRACE(std::to_string(failing) + " failures at turn " + std::to_string(moment));
      simulated_machine machine;
      ASSERT_TRUE(machine.start(small_options()));
      auto& stream = **machine.messages->create_stream("$G", "S", "m", durability::synced, 0);
      auto& consumer = stream.create_consumer("C", "c", false);
      int deltas = 0;
      consumer.set_snapshot_source([&deltas] { return std::to_string(deltas); });
      owner_of_log owner;
      stream.set_owner(&owner);
      machine.settle();
      std::map<sequence, fate> fates;
      std::map<sequence, bool> refused_since;
      int refusals = 0;
      for (int turn = 0; turn < 80; ++turn) {
        if (turn == moment) {
          if (GetParam() == 0) machine.disk_state.fail_next_syncs(failing);
          if (GetParam() == 1) machine.disk_state.fail_next_writes(failing);
          if (GetParam() == 2) machine.disk_state.limit_capacity(machine.disk_state.used_bytes() + 50 * failing);
          if (GetParam() == 3) machine.disk_state.set_read_only(true);
        }
        if (turn == moment + 20) {
          machine.disk_state.limit_capacity(std::nullopt);
          machine.disk_state.set_read_only(false);
        }
        const int before = owner.failures;
        const sequence next = std::max(stream.log().state().last, fates.empty() ? 0 : fates.rbegin()->first) + 1;
        // As the engine does: after a refusal the next sequence is what the log says.
        const sequence number = refusals != owner.failures ? stream.log().state().last + 1 : next;
        refusals = owner.failures;
        publish(machine, stream, fates, number);
        consumer.append_delta(std::to_string(++deltas));
        if (turn % 5 == 4 && stream.log().state().messages > 3) stream.log().remove(stream.log().state().first);
        machine.one_turn();
        if (owner.failures != before) {
          for (auto& [each, what] : fates) EXPECT_NE(what, fate::waiting) << each;
        }
      }
      machine.settle();
      EXPECT_FALSE(machine.messages->failure()) << machine.messages->failure()->message();
      for (const auto& [number, what] : fates) EXPECT_NE(what, fate::waiting) << number;
      EXPECT_GE(fates.rbegin()->first, 40u);
      const auto check = [&](stream_log& log, const char* when) {
        for (const auto& [number, what] : fates) {
          const auto loaded = log.load(number);
          if (number < log.state().first) continue;
          EXPECT_EQ(loaded.has_value(), what == fate::confirmed) << when << " " << number;
          if (loaded) {
            EXPECT_EQ(loaded->payload, payload_of("S", number));
          }
        }
      };
      check(stream.log(), "running");
      const auto state = stream.log().state();
      machine.crash(moment % 2 == 0 ? runtime::crash_loss::all_unsynced : runtime::crash_loss::nothing);
      ASSERT_TRUE(machine.start(small_options()));
      for (const auto& each : machine.messages->findings()) ADD_FAILURE() << each.text;
      auto* again = machine.messages->find_stream("$G", "S");
      ASSERT_NE(again, nullptr);
      check(again->log(), "after a crash");
      EXPECT_EQ(again->log().state().messages, state.messages);
      EXPECT_EQ(again->log().state().first, state.first);
      const auto known = again->find_consumer("C")->take_recovered();
      EXPECT_EQ(known.deltas.empty() ? known.snapshot : known.deltas.back(), "80");
      if (HasFailure()) return;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<int>& info) {
  const char* const names[] = {"syncs", "writes", "a_full_disk", "a_read_only_disk"};
  return names[info.param];
}
INSTANTIATE_TEST_SUITE_P(of, store_fault, ::testing::Range(0, 4), name_of);

TEST(store_close, fails_when_the_disk_does_and_loses_nothing_confirmed) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto& stream = **machine.messages->create_stream("$G", "S", "m", durability::synced, 0);
  std::map<sequence, fate> fates;
  for (sequence number = 1; number <= 20; ++number) publish(machine, stream, fates, number);
  machine.settle();
  publish(machine, stream, fates, 21);
  machine.disk_state.set_read_only(true);
  EXPECT_FALSE(machine.messages->close());
  machine.disk_state.set_read_only(false);
  machine.crash(runtime::crash_loss::all_unsynced);
  ASSERT_TRUE(machine.start(small_options()));
  EXPECT_EQ(machine.messages->find_stream("$G", "S")->log().state().messages, 20u);
}

TEST(store_close, confirms_what_is_in_flight) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto& stream = **machine.messages->create_stream("$G", "S", "m", durability::synced, 0);
  machine.settle();
  std::map<sequence, fate> fates;
  publish(machine, stream, fates, 1);
  machine.messages->commit();  // on its way
  publish(machine, stream, fates, 2);
  ASSERT_TRUE(machine.messages->close());
  EXPECT_EQ(fates[1], fate::confirmed);
  EXPECT_EQ(fates[2], fate::confirmed);
  machine.loop->run_ready();  // the completion that came too late
  machine.crash(runtime::crash_loss::all_unsynced);
  ASSERT_TRUE(machine.start(small_options()));
  EXPECT_TRUE(machine.messages->findings().empty());
  EXPECT_EQ(machine.messages->find_stream("$G", "S")->log().state().messages, 2u);
  for (const auto& file : machine.disk_state.files()) EXPECT_EQ(file.find("/journal/"), std::string::npos) << file;
}

TEST(store_open, refuses_a_catalog_of_another_version_and_touches_nothing) {
  simulated_machine machine;
  ASSERT_TRUE(machine.start(small_options()));
  auto& stream = **machine.messages->create_stream("$G", "S", "m", durability::synced, 0);
  std::map<sequence, fate> fates;
  publish(machine, stream, fates, 1);
  machine.settle();
  ASSERT_TRUE(machine.messages->close());
  // A newer program writes the catalog, and leaves something that a start of this one would sweep away.
  runtime::disk_batch newer;
  std::string content;
  append_number(content, static_cast<std::uint16_t>(format_version + 1));
  ASSERT_TRUE(write_state(*machine.disk, newer, "/data/jetstream/catalog", 1000, content));
  auto left = machine.disk->open("/data/jetstream/trash/left", runtime::open_mode::create);
  ASSERT_TRUE(left);
  newer.operations.push_back(runtime::disk_op::write{*left, 0, "left"});
  ASSERT_TRUE(machine.disk->execute(std::move(newer)));
  machine.stop();
  const auto all_files = [&] {
    std::map<std::string, std::string> out;
    for (const auto& path : machine.disk_state.files()) out[path] = machine.disk_state.contents(path).value_or("");
    return out;
  };
  const auto before = all_files();
  const auto opened = machine.start(small_options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), errc::unsupported);
  EXPECT_NE(opened.error().message().find("format version " + std::to_string(format_version + 1)), std::string::npos);
  EXPECT_EQ(all_files(), before);
}

}  // namespace
}  // namespace tern::storage
