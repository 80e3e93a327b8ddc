#include "storage/index/dedup_window.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace tern::storage {
namespace {

// A window of two minutes that holds a million ids, and moves.
void check_and_remember(benchmark::State& state) {
  dedup_window window(std::chrono::minutes(2), 42);
  time_point now = from_unix_nanoseconds(1'780'000'000'000'000'000);
  sequence number = 0;
  std::string id = "order-00000000-0000-0000-";
  const auto prefix = id.size();
  const auto step = [&] {
    id.resize(prefix);
    id += std::to_string(++number);
    now += std::chrono::microseconds(120);
    if (!window.find(id, now)) window.add(id, number, now);
    if (number % 1'000 == 0) window.expire(now);
  };
  for (int n = 0; n < 1'500'000; ++n) step();
  for (auto _ : state) step();
  state.counters["bytes_per_id"] = static_cast<double>(window.heap_bytes()) / static_cast<double>(window.size());
}
BENCHMARK(check_and_remember);

}  // namespace
}  // namespace tern::storage
