// Random damage to a store: what verify reports is what a start loses, verify changes nothing, and after a repair
// everything else is served (storage I1-I4).
#include "storage/check/store_verify.hpp"

#include "storage/check/overlay_disk.hpp"
#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tern::storage {
namespace {

using testing::payload_of;
using testing::simulated_machine;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));
const std::string directory = "/data/jetstream";

using live_messages = std::map<std::string, std::map<sequence, std::string>>;

live_messages fill(simulated_machine& machine, std::mt19937_64& random) {
  live_messages live;
  store_options options = testing::small_options();
  options.journal_bytes = random() % 2 == 0 ? 4'000 : 1 << 20;
  EXPECT_TRUE(machine.start(options));
  for (const char* name : {"KEEP", "DELS"}) {
    auto& stream = **machine.messages->create_stream("$G", name, "config", durability::synced, 0);
    for (sequence number = 1; number <= 100; ++number) {
      const auto payload = payload_of(name, number, 30 + number * 7 % 150);
      stream.log().append({number, some_time, std::string(name) + "." + std::to_string(number % 4), {}, payload});
      live[name][number] = payload;
      if (number % 4 == 0) machine.one_turn();
    }
    machine.settle();
    auto& consumer = stream.create_consumer("C", "consumer config", false);
    for (int delta = 1; delta < 20; ++delta) consumer.append_delta(std::to_string(delta));
    machine.settle();
  }
  auto& dels = *machine.messages->find_stream("$G", "DELS");
  for (sequence number = 20; number < 90; number += 1 + random() % 4) {
    if (dels.log().remove(number)) live["DELS"].erase(number);
  }
  machine.settle();
  if (random() % 2 == 0) {
    EXPECT_TRUE(machine.messages->close());
  }
  machine.crash(runtime::crash_loss::nothing);
  return live;
}

void hurt(simulated_machine& machine, std::mt19937_64& random) {
  const auto files = machine.disk_state.files();
  for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
    const std::string& path = files[random() % files.size()];
    const auto bytes = machine.disk_state.contents(path);
    if (!bytes || bytes->empty()) continue;
    switch (random() % 8) {
      case 0:
        machine.disk_state.truncate_file(path, random() % bytes->size());
        break;
      case 1:
        machine.disk_state.delete_file(path);
        break;
      default:
        machine.disk_state.flip_bit(path, random() % bytes->size(), static_cast<int>(random() % 8));
    }
  }
}

std::map<std::string, std::string> all_files(simulated_machine& machine) {
  std::map<std::string, std::string> files;
  for (const std::string& path : machine.disk_state.files()) {
    if (!path.starts_with("/scratch/")) files[path] = *machine.disk_state.contents(path);
  }
  return files;
}

std::map<std::string, std::set<sequence>> damaged_of(const verified_store& report) {
  std::map<std::string, std::set<sequence>> out;
  for (const auto& stream : report.streams) {
    for (const auto& each : stream.damaged) {
      for (sequence number = each.first; number <= each.last; ++number) out[stream.name].insert(number);
    }
  }
  return out;
}

template <class Work>
auto with_disk(simulated_machine& machine, Work work) {
  runtime::shard loop(machine.clock, machine.randomness);
  const auto disk = machine.disk_state.attach(loop);
  return work(*disk);
}

TEST(store_verify, a_whole_store_is_whole_and_stays_as_it_is) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    simulated_machine machine(seed);
    const auto live = fill(machine, random);
    const auto before = all_files(machine);
    const auto report = with_disk(machine, [](auto& disk) { return verify_store(disk, directory, "/scratch"); });
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->whole());
    ASSERT_EQ(report->streams.size(), 2U);
    EXPECT_EQ(report->streams[0].messages, live.at(report->streams[0].name).size());
    EXPECT_EQ(all_files(machine), before);
  }
}

TEST(store_verify, damage_is_named_with_its_file_and_place) {
  std::mt19937_64 random(2);  // a clean stop
  simulated_machine machine(2);
  fill(machine, random);
  std::string victim;
  std::size_t place = 0;
  for (const auto& [path, bytes] : all_files(machine)) {
    const auto at = bytes.find("KEEP 33 ");
    if (!path.ends_with(".seg") || at == std::string::npos) continue;
    victim = path;
    place = at;
  }
  ASSERT_FALSE(victim.empty());
  machine.disk_state.flip_bit(victim, place);
  const auto report = with_disk(machine, [](auto& disk) { return verify_store(disk, directory, "/scratch"); });
  ASSERT_TRUE(report);
  for (const auto& stream : report->streams) {
    if (stream.name != "KEEP") continue;
    ASSERT_EQ(stream.damaged.size(), 1U);
    EXPECT_EQ(stream.damaged[0].first, 33U);
    EXPECT_EQ(stream.damaged[0].subject, "KEEP.1");
    EXPECT_EQ(stream.damaged[0].file, victim);
    EXPECT_LT(stream.damaged[0].offset, place);
    EXPECT_GT(stream.damaged[0].offset + stream.damaged[0].size, place);
  }
}

TEST(store_verify, what_it_reports_is_lost_and_everything_else_is_served_after_a_repair) {
  int with_damage = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    simulated_machine machine(seed);
    const auto live = fill(machine, random);
    hurt(machine, random);
    const auto before = all_files(machine);
    const auto report = with_disk(machine, [](auto& disk) { return verify_store(disk, directory, "/scratch"); });
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(all_files(machine), before) << "a look has changed something";
    const auto lost = damaged_of(*report);
    with_damage += lost.empty() ? 0 : 1;

    const auto done = with_disk(machine, [](auto& disk) { return settle_store(disk, directory); });
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(damaged_of(*done), lost);
    const auto again = with_disk(machine, [](auto& disk) { return verify_store(disk, directory, "/scratch2"); });
    ASSERT_TRUE(again);
    EXPECT_EQ(again->damaged_count(), 0U);

    ASSERT_TRUE(machine.start(testing::small_options()));
    for (const auto& [name, messages] : live) {
      stream_record* stream = machine.messages->find_stream("$G", name);
      if (stream == nullptr) {
        EXPECT_FALSE(report->offline.empty()) << name;
        continue;
      }
      for (const auto& [number, payload] : messages) {
        const auto loaded = stream->log().load(number);
        const bool reported = lost.contains(name) && lost.at(name).contains(number);
        EXPECT_EQ(loaded.has_value(), !reported) << name << " " << number;
        EXPECT_EQ(loaded ? loaded->payload : payload, payload);
      }
    }
    machine.stop();
  }
  EXPECT_GT(with_damage, 20);
}

TEST(store_verify, a_directory_without_a_store_is_refused) {
  simulated_machine machine;
  EXPECT_EQ(with_disk(machine, [](auto& disk) { return verify_store(disk, "/nowhere", "/scratch"); }).error().code(),
            errc::not_found);
}

TEST(overlay_disk, writes_renames_and_removals_are_seen_and_leave_the_base_alone) {
  simulated_machine machine;
  runtime::shard loop(machine.clock, machine.randomness);
  const auto base = machine.disk_state.attach(loop);
  const auto put = [](runtime::disk& to, const std::string& path, const std::string& bytes) {
    auto file = to.open(path, runtime::open_mode::create);
    runtime::disk_batch batch;
    batch.operations.push_back(runtime::disk_op::truncate{*file, 0});
    batch.operations.push_back(runtime::disk_op::write{*file, 0, bytes});
    EXPECT_TRUE(to.execute(std::move(batch)));
  };
  const auto run = [](runtime::disk& to, auto operation) {
    runtime::disk_batch batch;
    batch.operations.push_back(std::move(operation));
    EXPECT_TRUE(to.execute(std::move(batch)));
  };
  run(*base, runtime::disk_op::make_directory{"/d"});
  run(*base, runtime::disk_op::make_directory{"/scratch"});
  for (const char* name : {"a", "b", "c"}) put(*base, std::string("/d/") + name, name);
  overlay_disk over(*base, "/scratch");
  put(over, "/d/a", "changed");
  put(over, "/d/new", "new");
  run(over, runtime::disk_op::rename{"/d/new", "/d/b"});
  run(over, runtime::disk_op::unlink{"/d/c"});
  run(over, runtime::disk_op::make_directory{"/d/e/f"});
  EXPECT_EQ(machine.disk_state.contents("/d/a"), "a");
  EXPECT_EQ(machine.disk_state.contents("/d/b"), "b");
  EXPECT_EQ(machine.disk_state.contents("/d/c"), "c");
  std::string names;
  const auto listed = over.list("/d");
  ASSERT_TRUE(listed);
  for (const auto& each : *listed) names += each.name + (each.is_directory ? "/ " : " ");
  EXPECT_EQ(names, "a b e/ ");
  std::string bytes(10, ' ');
  EXPECT_EQ(over.read(*over.open("/d/b", runtime::open_mode::read_only), 0, bytes).value(), 3U);
  EXPECT_FALSE(over.exists("/d/c"));
  EXPECT_EQ(over.open("/d/c", runtime::open_mode::read_only).error().code(), errc::not_found);
  EXPECT_EQ(over.changed(), (std::vector<std::string>{"/d/a", "/d/b", "/d/c"}));
}

}  // namespace
}  // namespace tern::storage
