// What storage costs per message: append and commit on memory and on the real disk (durability in the name), removal,
// load. CPU time of the loop's thread is what counts; the disk's own work runs on the committer thread.
#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/run_until.hpp"
#include "storage/store.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace tern::storage {
namespace {

struct counter final : log_owner {
  void on_committed(sequence, std::string_view, std::uint64_t) override { ++committed; }
  void on_commit_failed(const error&) override {}
  std::uint64_t committed = 0;
};

// TERN_BENCH_DIRECTORY names the disk; the temporary directory else.
class machine {
 public:
  explicit machine(bool with_disk) : loop_(clock_, randomness_) {
    if (with_disk) {
      const char* where = std::getenv("TERN_BENCH_DIRECTORY");
      directory_ = (where != nullptr ? std::string(where) : std::filesystem::temp_directory_path().string()) +
                   "/tern-store-bench";
      std::filesystem::remove_all(directory_);
      disk_ = runtime::make_real_disk(loop_);
    }
    store_options options;
    options.directory = directory_;
    messages = std::move(store::open(disk_.get(), options).value());
  }
  ~machine() {
    messages.reset();
    disk_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void turn() {
    messages->commit();
    loop_.run_ready();
  }
  // The oldest batch has to be through before more is taken, as publishers wait for acknowledgements.
  void wait(const counter& owner, std::uint64_t until) {
    runtime::run_until(loop_, [&] {
      messages->commit();
      return owner.committed >= until;
    });
  }
  std::unique_ptr<store> messages;

 private:
  std::string directory_;
  runtime::real_clock clock_;
  runtime::seeded_random randomness_{1};
  runtime::shard loop_;
  std::unique_ptr<runtime::disk> disk_;
};

void run(benchmark::State& state, durability level, std::size_t window) {
  machine on(level != durability::memory);
  auto& stream = **on.messages->create_stream("$G", "BENCH", "{}", level, 0);
  counter owner;
  stream.set_owner(&owner);
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  std::string subjects[64];
  for (int at = 0; at < 64; ++at) subjects[at] = "bench.subject." + std::to_string(at);
  sequence number = 0;
  const time_point now(nanoseconds(1'700'000'000'000'000'000));
  for (auto _ : state) {
    for (std::size_t at = 0; at < window; ++at) {
      ++number;
      stream.log().append({number, now, subjects[number % 64], {}, payload});
    }
    on.turn();
    if (level != durability::memory && number > owner.committed + window) on.wait(owner, number - window);
    // As a limit would: memory stays bounded.
    while (stream.log().state().messages > 500'000) stream.log().purge({"", stream.log().state().first + 100'000, 0});
  }
  on.wait(owner, number);
  state.SetItemsProcessed(static_cast<std::int64_t>(number));
  state.counters["ns/message"] =
      benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel("durability " + std::string(to_word(level)) + ", " + std::to_string(window) + " a turn");
}

void append_memory(benchmark::State& state) { run(state, durability::memory, 100); }
void append_file_written(benchmark::State& state) { run(state, durability::written, 1000); }
void append_file_synced(benchmark::State& state) { run(state, durability::synced, 1000); }
void append_file_synced_one_by_one(benchmark::State& state) { run(state, durability::synced, 1); }
BENCHMARK(append_memory)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK(append_file_written)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK(append_file_synced)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK(append_file_synced_one_by_one)->Arg(128);

void load_sequential(benchmark::State& state, durability level) {
  machine on(level != durability::memory);
  auto& stream = **on.messages->create_stream("$G", "BENCH", "{}", level, 0);
  counter owner;
  stream.set_owner(&owner);
  constexpr sequence count = 200'000;
  const std::string payload(128, 'x');
  for (sequence number = 1; number <= count; ++number) {
    stream.log().append({number, time_point(), "bench.subject", {}, payload});
    if (number % 1000 == 0) on.turn();
  }
  on.wait(owner, count);
  sequence number = 0;
  for (auto _ : state) benchmark::DoNotOptimize(stream.log().load(number++ % count + 1));
  state.SetLabel(std::string(to_word(level)));
}
void load_memory(benchmark::State& state) { load_sequential(state, durability::memory); }
void load_file(benchmark::State& state) { load_sequential(state, durability::written); }
BENCHMARK(load_memory);
BENCHMARK(load_file);

// A limit that is full: each message pushes the oldest one out.
void append_and_remove_oldest(benchmark::State& state) {
  machine on(false);
  auto& stream = **on.messages->create_stream("$G", "BENCH", "{}", durability::memory, 0);
  sequence number = 0;
  const std::string payload(128, 'x');
  for (auto _ : state) {
    ++number;
    stream.log().append({number, time_point(), "bench.subject", {}, payload});
    on.messages->commit();
    if (number > 10'000) stream.log().remove(stream.log().state().first);
  }
}
BENCHMARK(append_and_remove_oldest);

}  // namespace
}  // namespace tern::storage
