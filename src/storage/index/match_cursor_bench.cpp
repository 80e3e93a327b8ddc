#include "storage/index/match_cursor.hpp"

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

namespace tern::storage {
namespace {

class plain_numbers final : public subject_numbers {
 public:
  subject_id id_at(sequence number) const override { return number < ids.size() ? ids[number] : no_subject; }
  stretch stretch_from(sequence from) const override {
    return from < ids.size() ? stretch{from, std::span(ids).subspan(from)} : stretch{};
  }
  std::vector<subject_id> ids = {no_subject};
};

struct log_of_a_million {
  subject_index subjects;
  live_map live;
  plain_numbers numbers;

  void append(const std::string& subject) {
    const auto id = subjects.intern(subject);
    numbers.ids.push_back(id);
    live.append(numbers.ids.size() - 1);
    subjects.add(id, numbers.ids.size() - 1);
  }
  log_view view() { return {subjects, live, numbers}; }

  // One message in `rarity` goes to one of `matching` subjects `m.*`.
  log_of_a_million(unsigned matching, unsigned rarity) {
    std::mt19937 random(3);
    for (int n = 0; n < 1'000'000; ++n) {
      if (random() % rarity == 0) {
        append("m." + std::to_string(random() % matching));
      } else {
        append("x." + std::to_string(random() % 10'000));
      }
    }
  }
};

void read_all_matches(benchmark::State& state) {
  log_of_a_million log(static_cast<unsigned>(state.range(0)), static_cast<unsigned>(state.range(1)));
  std::int64_t found = 0;
  for (auto _ : state) {
    const auto cursor = make_match_cursor(log.view(), {"m.*"});
    for (auto at = cursor->next(1); at; at = cursor->next(*at + 1)) ++found;
  }
  state.SetItemsProcessed(found);
}
BENCHMARK(read_all_matches)
    ->ArgNames({"subjects", "rarity"})
    ->Args({5, 10})
    ->Args({5, 10'000})
    ->Args({1'000, 2})
    ->Args({1'000, 10'000})
    ->Args({100'000, 2})
    ->Args({100'000, 1'000});

void publish_with_idle_filtered_cursors(benchmark::State& state) {
  log_of_a_million log(1'000, 2);
  std::vector<std::unique_ptr<match_cursor>> cursors;
  for (int n = 0; n < state.range(0); ++n) {
    cursors.push_back(make_match_cursor(log.view(), {"idle." + std::to_string(n) + ".*"}));
    cursors.back()->next(1);
  }
  int n = 0;
  for (auto _ : state) log.append("x." + std::to_string(++n % 10'000));
}
BENCHMARK(publish_with_idle_filtered_cursors)->Arg(0)->Arg(1)->Arg(1'000);

void step_of_an_idle_cursor(benchmark::State& state) {
  log_of_a_million log(1'000, 2);
  const auto cursor = make_match_cursor(log.view(), {"idle.*"});
  for (auto _ : state) benchmark::DoNotOptimize(cursor->next(1));
}
BENCHMARK(step_of_an_idle_cursor);

}  // namespace
}  // namespace tern::storage
