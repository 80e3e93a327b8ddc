#include "storage/index/posting_list.hpp"

#include <benchmark/benchmark.h>

#include <random>

namespace tern::storage {
namespace {

constexpr int count = 1'000'000;

// Gap 1: a stream of one subject. Gap 50: one of about fifty subjects.
posting_list filled(int gap) {
  posting_list list;
  std::minstd_rand random(1);
  sequence last = 0;
  for (int n = 0; n < count; ++n)
    list.push_back(last += gap == 1 ? 1 : 1 + random() % static_cast<unsigned>(2 * gap - 1));
  return list;
}

void append(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) bytes = filled(static_cast<int>(state.range(0))).heap_bytes();
  state.SetItemsProcessed(state.iterations() * count);
  state.counters["bytes_per_entry"] = static_cast<double>(bytes) / count;
}
BENCHMARK(append)->Arg(1)->Arg(50)->Arg(5'000)->Unit(benchmark::kMillisecond);

void next_at_random(benchmark::State& state) {
  const auto list = filled(static_cast<int>(state.range(0)));
  std::mt19937_64 random(1);
  const auto last = list.back();
  for (auto _ : state) benchmark::DoNotOptimize(list.next(random() % last));
}
BENCHMARK(next_at_random)->Arg(1)->Arg(50);

void rank_at_random(benchmark::State& state) {
  const auto list = filled(static_cast<int>(state.range(0)));
  std::mt19937_64 random(1);
  const auto last = list.back();
  for (auto _ : state) benchmark::DoNotOptimize(list.count_from(random() % last));
}
BENCHMARK(rank_at_random)->Arg(1)->Arg(50);

// The order of a work queue, and of one whose messages are settled out of order.
void slide(benchmark::State& state) {
  auto list = filled(50);
  sequence last = list.back();
  for (auto _ : state) {
    list.push_back(last += 50);
    list.remove(list.front());
  }
}
BENCHMARK(slide);

void remove_anywhere(benchmark::State& state) {
  auto list = filled(50);
  sequence last = list.back();
  std::mt19937_64 random(1);
  for (auto _ : state) {
    list.push_back(last += 50);
    list.remove(list.at(random() % list.size()));
  }
}
BENCHMARK(remove_anywhere);

}  // namespace
}  // namespace tern::storage
