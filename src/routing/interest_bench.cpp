// The cost of routing alone: receivers that only count.
#include "routing/account.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace tern::routing {
namespace {

class counter final : public receiver {
 public:
  bool deliver(subscription& to, const message& what) override {
    ++to.delivered;
    bytes += what.payload.size();
    return true;
  }
  std::size_t bytes = 0;
};

void publish_hits_the_cache(benchmark::State& state) {
  account interest("$G", 1);
  counter to;
  interest.subscribe(to, "orders.new.eu", {}, "1");
  const message what{.subject = "orders.new.eu", .payload = "0123456789abcdef"};
  for (auto _ : state) benchmark::DoNotOptimize(interest.publish(what));
}
BENCHMARK(publish_hits_the_cache);

void publish_over_many_subjects(benchmark::State& state) {
  account interest("$G", 1);
  counter to;
  interest.subscribe(to, "orders.>", {}, "1");
  std::vector<std::string> subjects;
  for (int number = 0; number < state.range(0); ++number) subjects.push_back("orders.new." + std::to_string(number));
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(interest.publish({.subject = subjects[at], .payload = "x"}));
    if (++at == subjects.size()) at = 0;
  }
}
BENCHMARK(publish_over_many_subjects)->Arg(1000)->Arg(100'000);  // within the cache; beyond it

void publish_fans_out(benchmark::State& state) {
  account interest("$G", 1);
  std::vector<counter> to(static_cast<std::size_t>(state.range(0)));
  for (auto& one : to) interest.subscribe(one, "tick", {}, "1");
  for (auto _ : state) benchmark::DoNotOptimize(interest.publish({.subject = "tick", .payload = "x"}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(publish_fans_out)->Arg(8)->Arg(1000);

void publish_to_a_queue_group(benchmark::State& state) {
  account interest("$G", 1);
  std::vector<counter> to(8);
  for (auto& one : to) interest.subscribe(one, "work", "q", "1");
  for (auto _ : state) benchmark::DoNotOptimize(interest.publish({.subject = "work", .payload = "x"}));
}
BENCHMARK(publish_to_a_queue_group);

// A request in the old style: a subscription of its own for each reply.
void subscribe_publish_unsubscribe(benchmark::State& state) {
  account interest("$G", 1);
  counter to;
  for (int number = 0; number < 100'000; ++number)
    interest.subscribe(to, "device." + std::to_string(number) + ".status", {}, "1");
  std::size_t number = 0;
  for (auto _ : state) {
    const std::string inbox = "_INBOX.abcdefghijk." + std::to_string(number++);
    subscription* own = interest.subscribe(to, inbox, {}, "2");
    interest.publish({.subject = inbox, .payload = "x"});
    interest.unsubscribe(own);
    interest.end_turn();
  }
}
BENCHMARK(subscribe_publish_unsubscribe);

}  // namespace
}  // namespace tern::routing
