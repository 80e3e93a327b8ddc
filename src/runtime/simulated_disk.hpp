// The disk of tests and simulations: a file system in memory that remembers what a power cut would leave.
// Deterministic: the same operations and the same seed give the same survivors.
#pragma once

#include "runtime/disk.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tern::runtime {

// What a power cut does to changes that were not synced.
enum class crash_loss {
  all_unsynced,   // exactly the synced state survives
  random_subset,  // each unsynced write, size and name change survives or not; a lost one is older or newer than a kept
                  // one
  torn_write,     // as random_subset, and the last surviving write of each file keeps only a part of its bytes
  nothing,        // a process crash: the kernel still has everything
};

// Strict: a new, renamed or unlinked name is durable only after sync_directory of its directory, as POSIX has it.
// ext4: syncing a file makes its own name durable too, and name changes become durable in order.
enum class naming_rules { strict_posix, ext4 };

// One operation as it is about to run, for traces and for choosing where to stop.
struct disk_step {
  std::uint64_t number;   // from 1, over the life of the disk
  std::string_view kind;  // "write", "sync", "truncate", "allocate", "rename", "unlink", "make_directory", ...
  std::string_view path;
  std::uint64_t bytes;  // of a write
};

// The state survives the `disk` objects that look at it: a simulated machine keeps one simulated_disk over its restarts
// and makes a new disk for each life. One thread.
class simulated_disk {
 public:
  explicit simulated_disk(std::uint64_t seed = 1, naming_rules rules = naming_rules::strict_posix);
  ~simulated_disk();
  simulated_disk(const simulated_disk&) = delete;
  simulated_disk& operator=(const simulated_disk&) = delete;

  // A disk whose completions are posted to `owner`, in order. Crashing or making another one orphans it: its files and
  // operations then fail, and completions that were not delivered yet never are.
  std::unique_ptr<disk> attach(shard& owner);

  // Cuts the power: what was not synced is lost by the policy, open files are orphaned. Batches that were submitted but
  // have not run are forgotten; of a batch that was stopped half-way, the operations before the stop count as run.
  void crash(crash_loss loss);

  // --- stopping at an operation (crash points) ---
  std::uint64_t steps() const;  // operations begun so far, each operation of each batch counting as one
  // From step `number` on (counted from 1) nothing is executed and no completion is delivered, as if the machine had
  // stopped before it; crash() clears this. `stopped()` tells whether it was reached.
  void stop_at(std::uint64_t number);
  bool stopped() const;
  // Sees every step before it runs. Pass an empty function to remove it.
  void observe(std::function<void(const disk_step&)> observer);

  // --- faults ---
  // The next syncs fail with io_error and what they should have made durable never will be: reads give the older state
  // again or, when `still_readable`, go on showing it until a crash, as the page cache of Linux may.
  void fail_next_syncs(std::uint64_t count, bool still_readable = false);
  void fail_next_writes(std::uint64_t count);               // io_error, nothing written
  void limit_capacity(std::optional<std::uint64_t> bytes);  // disk_full beyond; sizes of all files count
  void set_read_only(bool read_only);                       // every change fails with io_error
  // Damage of what is stored, synced state included. False when there is no such file or offset.
  bool flip_bit(const std::string& path, std::uint64_t offset, int bit = 0);
  bool truncate_file(const std::string& path, std::uint64_t size);
  bool delete_file(const std::string& path);

  // --- looking ---
  std::optional<std::string> contents(const std::string& path) const;  // as a reader sees it now
  std::vector<std::string> files() const;                              // all paths of files, sorted
  std::uint64_t used_bytes() const;
  std::uint64_t syncs() const;  // successful sync operations so far

  struct state;  // shared with the disks and files made from it

 private:
  std::shared_ptr<state> state_;
};

}  // namespace tern::runtime
