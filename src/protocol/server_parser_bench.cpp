// What one operation costs the server's parser, in a read buffer full of them.
#include <string>

#include <benchmark/benchmark.h>

#include "protocol/client_parser.hpp"
#include "protocol/server_parser.hpp"
#include "protocol/writer.hpp"

namespace tern::protocol {
namespace {

// Counts bytes, as a server without interest would.
struct counter {
  std::size_t bytes = 0;
  verdict on_connect(std::string_view) { return verdict::go_on; }
  verdict on_publish_start(const message_head& head) {
    return head.total_size > 1024 * 1024 ? verdict::payload_too_large : verdict::go_on;
  }
  verdict on_publish(const message_frame& message) {
    return bytes += message.body.size() + message.subject.size(), verdict::go_on;
  }
  verdict on_subscribe(std::string_view, std::string_view, std::string_view) { return ++bytes, verdict::go_on; }
  verdict on_unsubscribe(std::string_view, std::uint64_t) { return verdict::go_on; }
  verdict on_message(const message_frame& message) {
    return bytes += message.body.size() + message.sid.size(), verdict::go_on;
  }
  verdict on_ping() { return ++bytes, verdict::go_on; }
  verdict on_pong() { return verdict::go_on; }
  verdict on_ok() { return verdict::go_on; }
  verdict on_error(std::string_view) { return verdict::stop; }
  verdict on_info(std::string_view) { return verdict::go_on; }
  bool on_gated_operation(char) { return true; }
};

template <class Parser>
void run(benchmark::State& state, const std::string& operation) {
  std::string buffer;
  std::size_t count = 0;
  while (buffer.size() + operation.size() <= 64 * 1024 || count == 0) {
    buffer += operation;
    ++count;
  }
  Parser parser;
  counter handler;
  for (auto _ : state) {
    if (parser.consume(buffer, handler) != parse_outcome::more) state.SkipWithError("refused");
    benchmark::DoNotOptimize(handler.bytes);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
  state.counters["ns_per_operation"] =
      benchmark::Counter(static_cast<double>(count) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void publish(benchmark::State& state) {
  std::string operation;
  append_publish(operation, "orders.eu.new", "", "", std::string(static_cast<std::size_t>(state.range(0)), 'x'));
  run<server_parser>(state, operation);
}
BENCHMARK(publish)->Arg(16)->Arg(128)->Arg(1024)->Arg(65536);

void publish_with_header(benchmark::State& state) {
  std::string operation;
  append_publish(operation, "orders.eu.new", "_INBOX.abcdefghijklmnopqrstuv.12", "NATS/1.0\r\nNats-Msg-Id: 12\r\n\r\n",
                 std::string(16, 'x'));
  run<server_parser>(state, operation);
}
BENCHMARK(publish_with_header);

void subscribe(benchmark::State& state) { run<server_parser>(state, "SUB orders.*.new workers 17\r\n"); }
BENCHMARK(subscribe);

void ping(benchmark::State& state) { run<server_parser>(state, "PING\r\n"); }
BENCHMARK(ping);

void message(benchmark::State& state) {
  std::string operation;
  append_message(operation, "orders.eu.new", "17", "", "", std::string(16, 'x'));
  run<client_parser>(state, operation);
}
BENCHMARK(message);

void write_message_line(benchmark::State& state) {
  std::string room(4096, ' ');
  std::size_t size = 16;
  for (auto _ : state) {
    benchmark::DoNotOptimize(put_message_line(room.data(), "orders.eu.new", "17", "", size));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(write_message_line);

}  // namespace
}  // namespace tern::protocol
