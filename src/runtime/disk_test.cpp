// What every disk promises, held against the operating system's and against the simulated one.
#include "runtime/disk.hpp"

#include "runtime/host/files.hpp"
#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"
#include "runtime/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tern::runtime {
namespace {

enum class kind { real, simulated };

template <class... Operations>
disk_batch batch_of(Operations... operations) {
  disk_batch batch;
  (batch.operations.emplace_back(std::move(operations)), ...);
  return batch;
}

class disk_contract : public ::testing::TestWithParam<kind> {
 protected:
  disk_contract() {
    if (GetParam() == kind::real) {
      drive = make_real_disk(loop);
      root = scratch.path();
    } else {
      drive = machine.attach(loop);
      root = "/store";
      EXPECT_TRUE(drive->execute(batch_of(disk_op::make_directory{root})).has_value());
    }
  }

  std::string at(const std::string& name) const { return root + "/" + name; }

  file_ref create(const std::string& name) {
    auto opened = drive->open(at(name), open_mode::create);
    EXPECT_TRUE(opened.has_value()) << opened.error().message();
    return opened ? *opened : nullptr;
  }

  std::string contents(const file_ref& from) {
    std::string text(drive->size(from).value_or(0), '\0');
    EXPECT_EQ(drive->read(from, 0, text), text.size());
    return text;
  }

  // Waits for the completion.
  result<void> run(disk_batch batch) {
    std::optional<result<void>> outcome;
    drive->submit(std::move(batch), [&](result<void> done) { outcome = std::move(done); });
    EXPECT_FALSE(outcome.has_value());  // never inside submit()
    EXPECT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
    return outcome.value_or(fail(errc::timeout, "no completion"));
  }

  host::scratch_directory scratch;
  simulated_disk machine{1};
  real_clock time;
  seeded_random randomness{1};
  shard loop{time, randomness};
  std::unique_ptr<disk> drive;
  std::string root;
};

TEST_P(disk_contract, what_was_written_is_read) {
  const file_ref file = create("a");
  EXPECT_EQ(file->path(), at("a"));
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "hello "}, disk_op::write{file, 6, "world"}, disk_op::sync{file})));
  EXPECT_EQ(contents(file), "hello world");
  std::string part(5, '\0');
  EXPECT_EQ(drive->read(file, 6, part), 5u);
  EXPECT_EQ(part, "world");
}

TEST_P(disk_contract, reads_are_short_only_at_the_end) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "abc"})));
  std::string into(10, '\0');
  EXPECT_EQ(drive->read(file, 1, into), 2u);
  EXPECT_EQ(drive->read(file, 3, into), 0u);
  EXPECT_EQ(drive->read(file, 99, into), 0u);
}

TEST_P(disk_contract, writing_beyond_the_end_leaves_zeros_between) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 3, "x"})));
  EXPECT_EQ(contents(file), std::string("\0\0\0x", 4));
}

TEST_P(disk_contract, many_adjacent_and_scattered_writes_land_in_order) {
  const file_ref file = create("a"), other = create("b");
  disk_batch batch;
  std::string expected;
  for (int i = 0; i < 700; ++i) {
    std::string piece = std::to_string(i) + ",";
    const std::uint64_t offset = expected.size();
    expected += piece;
    batch.operations.emplace_back(disk_op::write{file, offset, std::move(piece)});
    batch.operations.emplace_back(disk_op::write{file, expected.size(), ""});
    if (i % 100 == 50) batch.operations.emplace_back(disk_op::write{other, 0, std::to_string(i)});
  }
  batch.operations.emplace_back(disk_op::write{file, 0, "X"});
  expected[0] = 'X';
  ASSERT_TRUE(run(std::move(batch)));
  EXPECT_EQ(contents(file), expected);
  EXPECT_EQ(contents(other), "650");
}

TEST_P(disk_contract, truncating_cuts_and_extends_with_zeros) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "abcdef"}, disk_op::truncate{file, 3}, disk_op::truncate{file, 5})));
  EXPECT_EQ(contents(file), std::string("abc\0\0", 5));
}

TEST_P(disk_contract, allocating_extends_with_zeros_and_never_cuts) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "ab"}, disk_op::allocate{file, 8192})));
  EXPECT_EQ(drive->size(file), 8192u);
  EXPECT_EQ(contents(file).substr(0, 3), std::string("ab\0", 3));
  ASSERT_TRUE(run(batch_of(disk_op::allocate{file, 10})));
  EXPECT_EQ(drive->size(file), 8192u);
}

TEST_P(disk_contract, opening_a_missing_file_is_not_found) {
  for (const auto mode : {open_mode::read_only, open_mode::read_write}) {
    const auto opened = drive->open(at("missing"), mode);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code(), errc::not_found);
    EXPECT_NE(opened.error().message().find("missing"), std::string::npos);
  }
  EXPECT_EQ(drive->open(at("no/such/directory"), open_mode::create).error().code(), errc::not_found);
  EXPECT_EQ(drive->list(at("no")).error().code(), errc::not_found);
}

TEST_P(disk_contract, creating_keeps_what_is_there) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "abc"})));
  EXPECT_EQ(contents(create("a")), "abc");
}

TEST_P(disk_contract, renaming_replaces_and_open_files_follow_the_node) {
  const file_ref a = create("a"), b = create("b");
  ASSERT_TRUE(run(batch_of(disk_op::write{a, 0, "A"}, disk_op::write{b, 0, "B"}, disk_op::rename{at("a"), at("b")},
                           disk_op::sync_directory{root})));
  EXPECT_FALSE(drive->exists(at("a")));
  EXPECT_EQ(contents(create("b")), "A");
  EXPECT_EQ(contents(b), "B");  // replaced, still open
  const auto missing = run(batch_of(disk_op::rename{at("nothing"), at("b")}));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), errc::not_found);
}

TEST_P(disk_contract, unlinking_removes_the_name_and_forgives_a_missing_one) {
  const file_ref file = create("a");
  ASSERT_TRUE(run(batch_of(disk_op::write{file, 0, "abc"}, disk_op::unlink{at("a")}, disk_op::unlink{at("a")})));
  EXPECT_FALSE(drive->exists(at("a")));
  EXPECT_EQ(contents(file), "abc");
}

TEST_P(disk_contract, directories_are_made_with_parents_listed_and_removed_whole) {
  ASSERT_TRUE(run(batch_of(disk_op::make_directory{at("x/y/z")}, disk_op::make_directory{at("x/y/z")})));
  create("x/y/one");
  const file_ref two = create("x/y/two");
  ASSERT_TRUE(run(batch_of(disk_op::write{two, 0, "12345"})));
  const auto listed = drive->list(at("x/y"));
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 3u);
  EXPECT_EQ((*listed)[0].name, "one");
  EXPECT_EQ((*listed)[1].name, "two");
  EXPECT_EQ((*listed)[1].size, 5u);
  EXPECT_FALSE((*listed)[1].is_directory);
  EXPECT_EQ((*listed)[2].name, "z");
  EXPECT_TRUE((*listed)[2].is_directory);
  ASSERT_TRUE(run(batch_of(disk_op::remove_tree{at("x")}, disk_op::remove_tree{at("x")})));
  EXPECT_FALSE(drive->exists(at("x")));
}

TEST_P(disk_contract, the_first_failure_ends_the_batch) {
  const file_ref file = create("a");
  const auto outcome = run(
      batch_of(disk_op::write{file, 0, "1"}, disk_op::rename{at("missing"), at("b")}, disk_op::write{file, 1, "2"}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code(), errc::not_found);
  EXPECT_EQ(contents(file), "1");
}

TEST_P(disk_contract, batches_complete_in_the_order_of_submission) {
  const file_ref file = create("a");
  std::vector<int> order;
  std::string seen;
  for (int i = 0; i < 50; ++i) {
    std::string letter(1, static_cast<char>('a' + i % 26));
    drive->submit(batch_of(disk_op::write{file, static_cast<std::uint64_t>(i), std::move(letter)}),
                  [&, i](result<void> done) {
                    EXPECT_TRUE(done.has_value());
                    order.push_back(i);
                  });
  }
  ASSERT_TRUE(run_until(loop, [&] { return order.size() == 50; }));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(contents(file).substr(0, 3), "abc");
}

TEST_P(disk_contract, a_completion_may_submit_more) {
  const file_ref file = create("a");
  int completed = 0;
  std::move_only_function<void()> next = [&] {
    drive->submit(batch_of(disk_op::write{file, static_cast<std::uint64_t>(completed), "x"}), [&](result<void>) {
      if (++completed < 20) next();
    });
  };
  next();
  ASSERT_TRUE(run_until(loop, [&] { return completed == 20; }));
  EXPECT_EQ(contents(file), std::string(20, 'x'));
}

TEST_P(disk_contract, execute_runs_after_what_was_submitted) {
  const file_ref file = create("a");
  int completed = 0;
  drive->submit(batch_of(disk_op::write{file, 0, "old"}), [&](result<void>) { ++completed; });
  ASSERT_TRUE(drive->execute(batch_of(disk_op::write{file, 0, "new"})));
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(completed, 0);  // completions come from the loop
  ASSERT_TRUE(run_until(loop, [&] { return completed == 1; }));
}

TEST_P(disk_contract, destroying_it_finishes_the_work_and_delivers_nothing_more) {
  const file_ref file = create("a");
  for (int i = 0; i < 20; ++i) {
    drive->submit(batch_of(disk_op::write{file, static_cast<std::uint64_t>(i), "x"}), [](result<void>) { FAIL(); });
  }
  drive.reset();
  loop.run_ready();
  if (GetParam() == kind::simulated) {
    EXPECT_EQ(machine.contents(at("a")), std::string(20, 'x'));
  } else {
    EXPECT_EQ(host::read_text_file(at("a")), std::string(20, 'x'));
  }
}

INSTANTIATE_TEST_SUITE_P(disks, disk_contract, ::testing::Values(kind::real, kind::simulated),
                         [](const auto& info) { return info.param == kind::real ? "real" : "simulated"; });

TEST(real_disk, a_directory_belongs_to_one_disk_at_a_time) {
  real_clock time;
  seeded_random randomness{1};
  shard loop{time, randomness};
  const host::scratch_directory scratch;
  auto first = make_real_disk(loop);
  const auto second = make_real_disk(loop);
  EXPECT_TRUE(first->claim(scratch.path()).has_value());
  EXPECT_TRUE(first->claim(scratch.path()).has_value());
  const auto refused = second->claim(scratch.path());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), errc::already_exists);
  first.reset();
  EXPECT_TRUE(second->claim(scratch.path()).has_value());
}

TEST(real_disk, a_full_device_is_told_apart) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  const auto drive = make_real_disk(loop);
  const auto full = drive->open("/dev/full", open_mode::read_write);
  ASSERT_TRUE(full) << "this test needs /dev/full";
  const auto outcome = drive->execute(batch_of(disk_op::write{*full, 0, "x"}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code(), errc::disk_full);
  EXPECT_NE(outcome.error().message().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace tern::runtime
