// What a power cut, a fault and a stop leave behind. Storage is built on exactly these rules.
#include "runtime/simulated_disk.hpp"

#include "runtime/clock.hpp"
#include "runtime/shard.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tern::runtime {
namespace {

class simulated_machine : public ::testing::Test {
 protected:
  explicit simulated_machine(naming_rules rules = naming_rules::strict_posix) : machine(1, rules) { start(); }

  void start() { drive = machine.attach(loop); }

  template <class... Operations>
  result<void> run(Operations... operations) {
    disk_batch batch;
    (batch.operations.emplace_back(std::move(operations)), ...);
    return drive->execute(std::move(batch));
  }

  file_ref create(const std::string& path) { return *drive->open(path, open_mode::create); }

  void crash(crash_loss loss) {
    machine.crash(loss);
    start();
  }

  paused_clock time{from_unix_nanoseconds(1)};
  seeded_random randomness{1};
  shard loop{time, randomness};
  simulated_disk machine;
  std::unique_ptr<disk> drive;
};

class ext4_machine : public simulated_machine {
 protected:
  ext4_machine() : simulated_machine(naming_rules::ext4) {}
};

TEST_F(simulated_machine, unsynced_bytes_are_lost_and_synced_ones_kept) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "safe"}, disk_op::sync{file},
                  disk_op::write{file, 4, "lost"}));
  EXPECT_EQ(machine.contents("/a"), "safelost");
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "safe");
}

TEST_F(simulated_machine, what_is_written_again_after_a_failed_sync_is_durable_with_its_size) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "old"}, disk_op::sync{file}));
  machine.fail_next_syncs(1, true);
  ASSERT_FALSE(run(disk_op::write{file, 3, "new"}, disk_op::sync{file}));
  EXPECT_EQ(machine.contents("/a"), "oldnew");
  ASSERT_TRUE(run(disk_op::write{file, 3, "new"}, disk_op::sync{file}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "oldnew");
}

TEST_F(simulated_machine, an_overwrite_that_was_not_synced_gives_the_old_bytes_again) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "old"}, disk_op::sync{file},
                  disk_op::write{file, 0, "new"}, disk_op::truncate{file, 1}));
  EXPECT_EQ(machine.contents("/a"), "n");
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "old");
}

TEST_F(simulated_machine, a_name_is_durable_only_after_its_directory_was_synced) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "bytes"}, disk_op::sync{file}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), std::nullopt);
}

TEST_F(simulated_machine, a_durable_name_of_an_unsynced_file_is_an_empty_file) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "bytes"}, disk_op::sync_directory{"/"}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "");
}

TEST_F(simulated_machine, every_level_of_a_new_directory_needs_its_parent_synced) {
  ASSERT_TRUE(run(disk_op::make_directory{"/x/y"}));
  const file_ref file = create("/x/y/a");
  ASSERT_TRUE(run(disk_op::sync{file}, disk_op::sync_directory{"/x/y"}, disk_op::sync_directory{"/x"}));
  crash(crash_loss::all_unsynced);
  EXPECT_FALSE(drive->exists("/x"));
}

TEST_F(simulated_machine, an_unsynced_rename_and_unlink_are_undone) {
  const file_ref a = create("/a"), b = create("/b");
  ASSERT_TRUE(run(disk_op::write{a, 0, "A"}, disk_op::write{b, 0, "B"}, disk_op::sync{a}, disk_op::sync{b},
                  disk_op::sync_directory{"/"}, disk_op::rename{"/a", "/b"}));
  EXPECT_EQ(machine.contents("/b"), "A");
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "A");
  EXPECT_EQ(machine.contents("/b"), "B");
  ASSERT_TRUE(run(disk_op::unlink{"/a"}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "A");
  ASSERT_TRUE(run(disk_op::unlink{"/a"}, disk_op::sync_directory{"/"}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), std::nullopt);
}

TEST_F(ext4_machine, syncing_a_file_makes_its_name_durable_too) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "bytes"}, disk_op::sync{file}));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "bytes");
}

TEST_F(ext4_machine, name_changes_survive_in_order) {
  for (int round = 0; round < 50; ++round) {
    for (const char* path : {"/1", "/2", "/3", "/4"}) create(path);
    crash(crash_loss::random_subset);
    bool missing = false;
    for (const char* path : {"/1", "/2", "/3", "/4"}) {
      const bool there = drive->exists(path);
      EXPECT_FALSE(there && missing) << path;
      missing = missing || !there;
    }
    ASSERT_TRUE(run(disk_op::remove_tree{"/1"}, disk_op::remove_tree{"/2"}, disk_op::remove_tree{"/3"},
                    disk_op::remove_tree{"/4"}, disk_op::sync_directory{"/"}));
  }
}

TEST_F(simulated_machine, a_random_subset_may_keep_a_later_write_and_lose_an_earlier_one) {
  std::set<std::string> outcomes;
  for (int round = 0; round < 200; ++round) {
    const file_ref file = create("/a");
    ASSERT_TRUE(run(disk_op::truncate{file, 0}, disk_op::write{file, 0, "...."}, disk_op::sync{file},
                    disk_op::sync_directory{"/"}, disk_op::write{file, 0, "1"}, disk_op::write{file, 1, "2"},
                    disk_op::write{file, 4, "345"}));
    crash(crash_loss::random_subset);
    outcomes.insert(*machine.contents("/a"));
  }
  const std::string zeros("12..\0\0\0", 7);
  for (const std::string& expected :
       {std::string("...."), std::string(".2.."), std::string("1..."), std::string("12..345"), zeros}) {
    EXPECT_TRUE(outcomes.contains(expected)) << expected;
  }
}

TEST_F(simulated_machine, a_torn_write_keeps_a_part_of_its_bytes) {
  std::set<std::size_t> kept;
  for (int round = 0; round < 300; ++round) {
    const file_ref file = create("/a");
    ASSERT_TRUE(run(disk_op::truncate{file, 0}, disk_op::write{file, 0, "........"}, disk_op::sync{file},
                    disk_op::sync_directory{"/"}, disk_op::write{file, 0, "XXXXXXXX"}));
    crash(crash_loss::torn_write);
    const std::string survived = *machine.contents("/a");
    const std::size_t count = survived.find('.');
    EXPECT_EQ(survived, std::string(count, 'X') + std::string(8 - count, '.'));
    kept.insert(count);
  }
  EXPECT_EQ(kept, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(simulated_machine, a_process_crash_loses_nothing) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "bytes"}, disk_op::rename{"/a", "/b"}));
  crash(crash_loss::nothing);
  EXPECT_EQ(machine.contents("/b"), "bytes");
  EXPECT_EQ(machine.contents("/a"), std::nullopt);
  crash(crash_loss::all_unsynced);  // what a process crash left counts as written back since
  EXPECT_EQ(machine.contents("/b"), "bytes");
}

TEST_F(simulated_machine, files_and_disks_of_an_earlier_life_are_orphans) {
  const file_ref file = create("/a");
  const auto earlier = std::move(drive);
  crash(crash_loss::nothing);
  std::string into(1, '\0');
  EXPECT_FALSE(earlier->size(file).has_value());
  EXPECT_FALSE(earlier->open("/a", open_mode::read_only).has_value());
  EXPECT_FALSE(drive->read(file, 0, into).has_value());
  EXPECT_FALSE(run(disk_op::write{file, 0, "x"}).has_value());
  EXPECT_EQ(machine.contents("/a"), "");
}

TEST_F(simulated_machine, batches_that_have_not_run_are_forgotten_by_a_crash) {
  const file_ref file = create("/a");
  disk_batch batch;
  batch.operations.emplace_back(disk_op::write{file, 0, "x"});
  drive->submit(std::move(batch), [](result<void>) { FAIL(); });
  crash(crash_loss::nothing);
  loop.run_ready();
  EXPECT_EQ(machine.contents("/a"), "");
}

TEST_F(simulated_machine, stops_before_any_chosen_step_of_a_batch) {
  for (std::uint64_t stop = 1; stop <= 4; ++stop) {
    const file_ref file = create("/a");
    ASSERT_TRUE(run(disk_op::truncate{file, 0}));
    machine.stop_at(machine.steps() + stop);
    disk_batch batch;
    for (int i = 0; i < 3; ++i) {
      batch.operations.emplace_back(disk_op::write{file, static_cast<std::uint64_t>(i), "x"});
    }
    bool completed = false;
    drive->submit(std::move(batch), [&](result<void> done) { completed = done.has_value(); });
    loop.run_ready();
    EXPECT_EQ(machine.contents("/a")->size(), stop - 1);
    EXPECT_EQ(machine.stopped(), stop <= 3);
    EXPECT_EQ(completed, stop == 4);
    crash(crash_loss::nothing);
    EXPECT_FALSE(machine.stopped());
    EXPECT_TRUE(run(disk_op::unlink{"/a"}));
  }
}

TEST_F(simulated_machine, a_stopped_machine_delivers_no_completion_of_work_that_was_done) {
  const file_ref file = create("/a");
  disk_batch first, second;
  first.operations.emplace_back(disk_op::write{file, 0, "1"});
  second.operations.emplace_back(disk_op::write{file, 1, "2"});
  machine.stop_at(machine.steps() + 2);
  drive->submit(std::move(first), [](result<void>) { FAIL() << "its answer was still on the way"; });
  drive->submit(std::move(second), [](result<void>) { FAIL(); });
  loop.run_ready();
  EXPECT_TRUE(machine.stopped());
  EXPECT_EQ(machine.contents("/a"), "1");
}

TEST_F(simulated_machine, observers_see_each_step) {
  std::vector<std::string> seen;
  machine.observe([&](const disk_step& step) {
    seen.push_back(std::string(step.kind) + " " + std::string(step.path) + " " + std::to_string(step.bytes));
  });
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "xyz"}, disk_op::sync{file}, disk_op::sync_directory{"/"}));
  EXPECT_EQ(seen, (std::vector<std::string>{"create /a 0", "write /a 3", "sync /a 0", "sync_directory / 0"}));
  EXPECT_EQ(machine.syncs(), 2u);
}

TEST_F(simulated_machine, a_failed_sync_drops_what_it_should_have_kept) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "old"}, disk_op::sync{file}));
  machine.fail_next_syncs(1);
  const auto failed = run(disk_op::write{file, 0, "new"}, disk_op::sync{file});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), errc::io_error);
  EXPECT_EQ(machine.contents("/a"), "old");
  EXPECT_TRUE(run(disk_op::write{file, 0, "now"}, disk_op::sync{file}));
  EXPECT_EQ(machine.contents("/a"), "now");
}

TEST_F(simulated_machine, after_a_failed_sync_the_cache_may_lie_until_the_crash) {
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "old"}, disk_op::sync{file}));
  machine.fail_next_syncs(1, true);
  ASSERT_FALSE(run(disk_op::write{file, 0, "new"}, disk_op::sync{file}).has_value());
  EXPECT_EQ(machine.contents("/a"), "new");
  ASSERT_TRUE(run(disk_op::sync{file}));  // succeeds, and keeps nothing of the earlier write
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "old");
}

TEST_F(simulated_machine, a_full_disk_takes_what_still_fits) {
  machine.limit_capacity(10);
  const file_ref file = create("/a");
  ASSERT_TRUE(run(disk_op::write{file, 0, "12345678"}));
  const auto full = run(disk_op::write{file, 8, "abcd"});
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code(), errc::disk_full);
  EXPECT_EQ(machine.contents("/a"), "12345678ab");
  EXPECT_TRUE(run(disk_op::write{file, 0, "overwrite"}).has_value());
  EXPECT_EQ(run(disk_op::allocate{file, 11}).error().code(), errc::disk_full);
  machine.limit_capacity(std::nullopt);
  EXPECT_TRUE(run(disk_op::write{file, 10, "more"}).has_value());
  EXPECT_EQ(machine.used_bytes(), 14u);
}

TEST_F(simulated_machine, a_read_only_disk_refuses_changes) {
  const file_ref file = create("/a");
  machine.set_read_only(true);
  EXPECT_EQ(run(disk_op::write{file, 0, "x"}).error().code(), errc::io_error);
  EXPECT_FALSE(run(disk_op::rename{"/a", "/b"}).has_value());
  EXPECT_FALSE(drive->open("/new", open_mode::create).has_value());
  EXPECT_TRUE(drive->open("/a", open_mode::read_only).has_value());
}

TEST_F(simulated_machine, failing_writes_write_nothing) {
  const file_ref file = create("/a");
  machine.fail_next_writes(1);
  EXPECT_EQ(run(disk_op::write{file, 0, "x"}).error().code(), errc::io_error);
  EXPECT_EQ(machine.contents("/a"), "");
  EXPECT_TRUE(run(disk_op::write{file, 0, "x"}).has_value());
}

TEST_F(simulated_machine, damage_reaches_the_durable_state) {
  const file_ref file = create("/a");
  create("/b");
  ASSERT_TRUE(run(disk_op::sync_directory{"/"}, disk_op::write{file, 0, "abcdef"}, disk_op::sync{file}));
  EXPECT_TRUE(machine.flip_bit("/a", 1, 0));
  EXPECT_FALSE(machine.flip_bit("/a", 6));
  EXPECT_FALSE(machine.flip_bit("/missing", 0));
  EXPECT_TRUE(machine.truncate_file("/a", 4));
  EXPECT_TRUE(machine.delete_file("/b"));
  EXPECT_FALSE(machine.delete_file("/b"));
  crash(crash_loss::all_unsynced);
  EXPECT_EQ(machine.contents("/a"), "accd");
  EXPECT_EQ(machine.files(), (std::vector<std::string>{"/a"}));
}

TEST(simulated_disk, the_same_seed_leaves_the_same_survivors) {
  const auto survivors = [](std::uint64_t seed) {
    paused_clock time(from_unix_nanoseconds(1));
    seeded_random randomness(1);
    shard loop(time, randomness);
    simulated_disk machine(seed);
    std::string all;
    for (int life = 0; life < 10; ++life) {
      const auto drive = machine.attach(loop);
      disk_batch batch;
      for (int i = 0; i < 10; ++i) {
        const std::string path = "/" + std::to_string(i);
        const file_ref file = *drive->open(path, open_mode::create);
        batch.operations.emplace_back(disk_op::write{file, static_cast<std::uint64_t>(life), "abc"});
        if (i % 3 == 0) batch.operations.emplace_back(disk_op::sync{file});
        if (i == 5) batch.operations.emplace_back(disk_op::sync_directory{"/"});
      }
      EXPECT_TRUE(drive->execute(std::move(batch)));
      machine.crash(crash_loss::torn_write);
      for (const std::string& path : machine.files()) all += path + "=" + *machine.contents(path) + ";";
    }
    return all;
  };
  EXPECT_EQ(survivors(3), survivors(3));
  EXPECT_NE(survivors(3), survivors(4));
}

}  // namespace
}  // namespace tern::runtime
