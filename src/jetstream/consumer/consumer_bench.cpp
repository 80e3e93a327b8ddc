// What one message costs from the stream to the client and back: pulled in batches and acknowledged one by one.
#include "jetstream/test_harness.hpp"

#include <benchmark/benchmark.h>

namespace tern::jetstream {
namespace {

// Acknowledges nothing by itself: a client does that after it has copied the message.
class acking_client final : public routing::receiver {
 public:
  std::vector<std::string> replies;
  std::size_t taken = 0;

  bool deliver(routing::subscription&, const routing::message& what) override {
    if (taken == replies.size()) replies.emplace_back();
    replies[taken++].assign(what.reply);
    return true;
  }
};

void pull_and_acknowledge(benchmark::State& state) {
  const auto batch = state.range(0);
  test_harness harness;
  acking_client client;
  harness.api("STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"],"storage":"memory","max_msgs":200000})");
  harness.api("CONSUMER.CREATE.S.C",
              R"({"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit","max_ack_pending":-1}})");
  harness.account().subscribe(client, "inbox.c");
  const std::string request = std::to_string(batch), payload(128, 'x');
  std::int64_t messages = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::int64_t i = 0; i < batch; ++i) harness.publish("s.a", payload);
    harness.turn();
    client.taken = 0;
    state.ResumeTiming();
    harness.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", request, {}, "inbox.c");
    while (client.taken < static_cast<std::size_t>(batch)) harness.advance(nanoseconds(1));
    for (std::size_t i = 0; i < client.taken; ++i) harness.publish(client.replies[i], "+ACK");
    messages += batch;
  }
  state.SetItemsProcessed(messages);
}
BENCHMARK(pull_and_acknowledge)->Arg(1)->Arg(100)->Arg(500)->Arg(5000);

// Publishes that concern none of many filtered consumers, and one of them.
void publish_beside_many_consumers(benchmark::State& state) {
  test_harness harness;
  harness.api("STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"],"storage":"memory","max_msgs":1000})");
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const std::string name = "c" + std::to_string(i);
    harness.api("CONSUMER.CREATE.S." + name, R"({"stream_name":"S","config":{"durable_name":")" + name +
                                                 R"(","ack_policy":"explicit","filter_subject":"s.)" + name + "\"}}");
  }
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) harness.publish("s.c0", "x");
    harness.turn();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 100);
}
BENCHMARK(publish_beside_many_consumers)->Arg(1)->Arg(1000);

}  // namespace
}  // namespace tern::jetstream
