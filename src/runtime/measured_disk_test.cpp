#include "runtime/measured_disk.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

// Finishes when it is told to.
class held_disk final : public disk {
 public:
  explicit held_disk(std::deque<completion>& waiting) : waiting_(waiting) {}
  result<file_ref> open(const std::string& path, open_mode) override { return fail(errc::not_found, path); }
  result<std::uint64_t> size(const file_ref&) override { return 0; }
  result<std::size_t> read(const file_ref&, std::uint64_t, std::span<char>) override { return 0; }
  result<std::vector<directory_entry>> list(const std::string&) override { return std::vector<directory_entry>(); }
  bool exists(const std::string&) override { return true; }
  result<void> claim(const std::string&) override { return {}; }
  void submit(disk_batch, completion done) override { waiting_.push_back(std::move(done)); }
  result<void> execute(disk_batch) override { return {}; }

 private:
  std::deque<completion>& waiting_;
};

TEST(measured_disk, notes_how_long_batches_take) {
  paused_clock clock{from_unix_nanoseconds(1'800'000'000'000'000'000)};
  std::deque<disk::completion> below;
  measured_disk disk(std::make_unique<held_disk>(below), clock);
  int finished = 0;
  const auto count = [&finished](result<void> how) { finished += how ? 1 : 100; };
  disk.submit({}, count);
  clock.advance_to(clock.now() + 2ms);
  disk.submit({}, count);
  EXPECT_EQ(disk.waits().waiting, 2u);
  EXPECT_EQ(disk.waits().done, 0u);
  clock.advance_to(clock.now() + 3ms);
  below.front()({});
  below.pop_front();
  clock.advance_to(clock.now() + 1ms);
  below.front()(fail(errc::disk_full, "full"));
  EXPECT_EQ(finished, 101) << "the outcome is passed on";
  EXPECT_EQ(disk.waits().waiting, 0u);
  EXPECT_EQ(disk.waits().done, 2u);
  EXPECT_EQ(disk.waits().total, 9ms);
  EXPECT_EQ(disk.waits().longest, 5ms);
  EXPECT_TRUE(disk.exists("x"));
}

}  // namespace
}  // namespace tern::runtime
