// For tests: a store over a simulated machine that can be crashed and started again. One life at a time.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/shard.hpp"
#include "runtime/simulated_disk.hpp"
#include "storage/store.hpp"

#include <memory>
#include <string>

namespace tern::storage::testing {

class simulated_machine {
 public:
  explicit simulated_machine(std::uint64_t seed = 1, runtime::naming_rules rules = runtime::naming_rules::strict_posix)
      : disk_state(seed, rules), randomness(seed) {}

  result<void> start(store_options options) {
    loop = std::make_unique<runtime::shard>(clock, randomness);
    disk = disk_state.attach(*loop);
    auto opened = store::open(disk.get(), std::move(options));
    if (!opened) return std::unexpected(opened.error());
    messages = std::move(*opened);
    return {};
  }
  // Turns until nothing is left to do, or the machine has stopped.
  void settle(int turns = 5000) {
    for (int turn = 0; turn < turns && messages->busy() && !disk_state.stopped(); ++turn) {
      messages->commit();
      loop->run_ready();
    }
  }
  void one_turn() {
    messages->commit();
    loop->run_ready();
  }
  void stop() {
    messages.reset();
    disk.reset();
    loop.reset();
  }
  void crash(runtime::crash_loss loss) {
    disk_state.crash(loss);
    stop();
  }

  runtime::simulated_disk disk_state;
  runtime::paused_clock clock{from_unix_nanoseconds(1'700'000'000'000'000'000)};
  runtime::seeded_random randomness;
  std::unique_ptr<runtime::shard> loop;
  std::unique_ptr<runtime::disk> disk;
  std::unique_ptr<store> messages;
};

inline store_options small_options() {
  store_options options;
  options.directory = "/data/jetstream";
  options.segment_bytes = 2000;
  options.journal_bytes = 4000;
  return options;
}

// A payload that tells which message it belongs to.
inline std::string payload_of(const std::string& stream, sequence number, std::size_t size = 40) {
  std::string out = stream + " " + std::to_string(number) + " ";
  out.resize(std::max(size, out.size()), static_cast<char>('a' + number % 26));
  return out;
}

}  // namespace tern::storage::testing
