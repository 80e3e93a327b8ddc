#include "storage/index/live_map.hpp"

#include <benchmark/benchmark.h>

#include <random>

namespace tern::storage {
namespace {

live_map holed(sequence count) {
  live_map map;
  map.append_range(1, count);
  std::mt19937_64 random(1);
  for (sequence n = 0; n < count / 3; ++n) map.remove(1 + random() % count);
  return map;
}

void append_and_settle(benchmark::State& state) {
  live_map map;
  sequence last = 0;
  for (auto _ : state) {
    map.append(++last);
    if (last > 1'000) map.remove(last - 1'000);
  }
}
BENCHMARK(append_and_settle);

void count_from_anywhere(benchmark::State& state) {
  const auto map = holed(10'000'000);
  std::mt19937_64 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(map.count_from(random() % 10'000'000));
  state.counters["bits_per_message"] = static_cast<double>(map.heap_bytes()) * 8 / static_cast<double>(map.size());
}
BENCHMARK(count_from_anywhere);

void next_anywhere(benchmark::State& state) {
  const auto map = holed(10'000'000);
  std::mt19937_64 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(map.next(random() % 10'000'000));
}
BENCHMARK(next_anywhere);

}  // namespace
}  // namespace tern::storage
