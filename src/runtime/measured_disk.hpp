// A disk that notes how long what is submitted takes: from submit() to its completion, waiting for earlier batches
// included. For monitoring. One shard, that of the disk below.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/disk.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace tern::runtime {

struct disk_waits {
  std::uint64_t waiting = 0;  // batches that are not done
  std::uint64_t done = 0;
  nanoseconds total{0}, longest{0};  // of those that are done
};

class measured_disk final : public disk {
 public:
  // `time` outlives the disk.
  measured_disk(std::unique_ptr<disk> below, clock& time) : below_(std::move(below)), time_(time) {}
  const disk_waits& waits() const { return waits_; }

  result<file_ref> open(const std::string& path, open_mode mode) override { return below_->open(path, mode); }
  result<std::uint64_t> size(const file_ref& what) override { return below_->size(what); }
  result<std::size_t> read(const file_ref& from, std::uint64_t offset, std::span<char> into) override {
    return below_->read(from, offset, into);
  }
  result<std::vector<directory_entry>> list(const std::string& directory) override { return below_->list(directory); }
  bool exists(const std::string& path) override { return below_->exists(path); }
  result<void> claim(const std::string& directory) override { return below_->claim(directory); }
  result<void> execute(disk_batch batch) override { return below_->execute(std::move(batch)); }

  void submit(disk_batch batch, completion finished) override {
    ++waits_.waiting;
    below_->submit(std::move(batch),
                   [this, began = time_.now(), finished = std::move(finished)](result<void> how) mutable {
                     --waits_.waiting;
                     ++waits_.done;
                     const nanoseconds took = time_.now() - began;
                     waits_.total += took;
                     waits_.longest = std::max(waits_.longest, took);
                     finished(std::move(how));
                   });
  }

 private:
  disk_waits waits_;  // completions write to it until `below_` is gone
  const std::unique_ptr<disk> below_;
  clock& time_;
};

}  // namespace tern::runtime
