// What reading and writing small records costs.
#include <string>

#include <benchmark/benchmark.h>

#include <tern/codec/json.hpp>

namespace tern::codec {
namespace {

struct order {
  std::string id;
  std::int64_t amount = 0;
  bool paid = false;
};

constexpr std::string_view small = R"({"id":"order-000000001","amount":1299,"paid":true    })";
static_assert(small.size() == 54);

void read_small(benchmark::State& state) {
  order value;
  for (auto _ : state) {
    if (!read_json_into(small, value)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(read_small);

void read_and_ignore(benchmark::State& state) {
  struct nothing {
    int other = 0;
  } value;
  for (auto _ : state) {
    if (!read_json_into(small, value)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(read_and_ignore);

void write_small(benchmark::State& state) {
  const order value{"order-000000001", 1299, true};
  std::string out;
  for (auto _ : state) {
    out.clear();
    write_json(out, value);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(write_small);

}  // namespace
}  // namespace tern::codec
