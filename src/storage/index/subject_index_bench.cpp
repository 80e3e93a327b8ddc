#include "storage/index/subject_index.hpp"

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

namespace tern::storage {
namespace {

// Keys as a key-value bucket or an order flow has them: about 28 bytes.
std::vector<std::string> subjects(std::size_t count) {
  std::vector<std::string> made;
  std::mt19937 random(7);
  for (std::size_t n = 0; n < count; ++n) {
    made.push_back("orders." + std::to_string(random() % 1'000) + ".customer." + std::to_string(n) + ".new");
  }
  return made;
}

subject_index& filled(const std::vector<std::string>& names) {
  static subject_index* index = [&] {
    auto* made = new subject_index;
    for (std::size_t n = 0; n < names.size(); ++n) made->add(made->intern(names[n]), n + 1);
    return made;
  }();
  return *index;
}

const std::vector<std::string>& million() {
  static const auto names = subjects(1'000'000);
  return names;
}

void intern_a_million_new_subjects(benchmark::State& state) {
  const auto& names = million();
  double bytes = 0;
  for (auto _ : state) {
    subject_index index;
    for (std::size_t n = 0; n < names.size(); ++n) index.add(index.intern(names[n]), n + 1);
    bytes = static_cast<double>(index.heap_bytes()) / static_cast<double>(names.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(names.size()));
  state.counters["bytes_per_subject"] = bytes;
}
BENCHMARK(intern_a_million_new_subjects)->Unit(benchmark::kMillisecond);

void find_among_a_million(benchmark::State& state) {
  const auto& index = filled(million());
  std::mt19937 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(index.find(million()[random() % million().size()]));
}
BENCHMARK(find_among_a_million);

void find_a_hot_subject_among_a_million(benchmark::State& state) {
  const auto& index = filled(million());
  for (auto _ : state) benchmark::DoNotOptimize(index.find(million()[12'345]));
}
BENCHMARK(find_a_hot_subject_among_a_million);

void match_a_token_in_the_middle(benchmark::State& state) {
  const auto& index = filled(million());
  std::mt19937 random(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(index.match_count("orders.*.customer." + std::to_string(random() % 1'000'000) + ".new"));
  }
}
BENCHMARK(match_a_token_in_the_middle)->Unit(benchmark::kMicrosecond);

void count_below_a_prefix(benchmark::State& state) {
  const auto& index = filled(million());
  for (auto _ : state) benchmark::DoNotOptimize(index.match_count("orders.77.>"));
}
BENCHMARK(count_below_a_prefix);

void page_from_the_middle(benchmark::State& state) {
  const auto& index = filled(million());
  for (auto _ : state) {
    int left = 100;
    benchmark::DoNotOptimize(index.for_each_match(">", 500'000, [&](subject_id) { return --left != 0; }));
  }
}
BENCHMARK(page_from_the_middle)->Unit(benchmark::kMicrosecond);

void visit_a_million(benchmark::State& state) {
  const auto& index = filled(million());
  for (auto _ : state) benchmark::DoNotOptimize(index.count_messages("orders.>", 500'000));
}
BENCHMARK(visit_a_million)->Unit(benchmark::kMillisecond);

// A key-value bucket with a history of one, or a work queue over distinct subjects.
void replace_the_message_of_a_subject(benchmark::State& state) {
  subject_index index;
  const auto names = subjects(100'000);
  for (std::size_t n = 0; n < names.size(); ++n) index.add(index.intern(names[n]), n + 1);
  sequence last = names.size();
  std::mt19937 random(1);
  for (auto _ : state) {
    const auto id = index.intern(names[random() % names.size()]);
    index.add(id, ++last);
    index.remove(id, index.postings(id).front());
  }
}
BENCHMARK(replace_the_message_of_a_subject);

}  // namespace
}  // namespace tern::storage
