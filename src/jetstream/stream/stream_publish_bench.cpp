// What a JetStream publish costs inside the engine: routing, checks, staging, commit in memory, acknowledgement.
#include "jetstream/test_harness.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace tern::jetstream {
namespace {

constexpr int batch = 256;  // publishes per loop turn

void run(benchmark::State& state, std::string_view settings, std::string_view headers) {
  test_harness server;
  capturing_receiver acknowledgements;
  server.account().subscribe(acknowledgements, "acks");
  server.api("STREAM.CREATE.S",
             R"({"name":"S","storage":"memory","subjects":["s.>"],"max_msgs":100000)" + std::string(settings) + "}");
  std::vector<std::string> subjects;
  for (int i = 0; i < 1000; ++i) subjects.push_back("s.device." + std::to_string(i));
  const std::string payload(128, 'x');
  std::size_t next = 0;
  for (auto _ : state) {
    for (int i = 0; i < batch; ++i) server.publish(subjects[next++ % subjects.size()], payload, headers, "acks");
    server.store().commit();
    state.PauseTiming();
    acknowledgements.messages.clear();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

void publish(benchmark::State& state) { run(state, "", ""); }
BENCHMARK(publish);

void publish_with_foreign_headers(benchmark::State& state) {
  run(state, "", "NATS/1.0\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n");
}
BENCHMARK(publish_with_foreign_headers);

void publish_one_per_subject(benchmark::State& state) { run(state, R"(,"max_msgs_per_subject":1)", ""); }
BENCHMARK(publish_one_per_subject);

}  // namespace
}  // namespace tern::jetstream
