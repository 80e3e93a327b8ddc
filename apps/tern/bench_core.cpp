// tern bench pub, tern bench sub
#include "bench.hpp"
#include "bench_clients.hpp"

#include <future>
#include <memory>

namespace tern::command {
namespace {

constexpr nanoseconds flush_patience = std::chrono::minutes(2);  // a slow server is measured, not given up

void report(session& in, const bench_result& found) {
  if (in.json())
    in.output().print_line(bench_as_json(found));
  else
    in.output().print(describe_bench(found));
}

// What one subscriber has seen; written on its connection's loop.
struct received {
  std::uint64_t wanted;
  session& clock;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  bench_span span{};
  std::promise<void> all{};

  void take(const client::message& message) {
    if (count == 0) span.begun = clock.now();
    bytes += message.payload().size();
    if (++count != wanted) return;
    span.ended = clock.now();
    all.set_value();
  }
};

}  // namespace

result<void> bench_publish(session& in, const bench_arguments& what) {
  const auto payload = bench_payload(in, what.size);
  if (!payload) return std::unexpected(payload.error());
  bench_result found;
  found.benchmark = "Core NATS publisher";
  found.messages = what.messages;
  found.message_size = payload->size();
  const auto job = [&](client::connection& connection, std::uint32_t index) -> result<bench_span> {
    bench_span span{in.now(), {}};
    const std::uint64_t share = share_of(what.messages, index, what.clients);
    for (std::uint64_t number = 0; number < share; ++number)
      if (auto sent = connection.publish(what.subject, *payload); !sent) return std::unexpected(sent.error());
    if (auto flushed = connection.flush(flush_patience).get(); !flushed) return std::unexpected(flushed.error());
    span.ended = in.now();
    return span;
  };
  if (auto ran = run_clients(in, what.clients, job, found); !ran) return ran;
  report(in, found);
  return {};
}

result<void> bench_subscribe(session& in, const bench_arguments& what) {
  bench_result found;
  found.benchmark = "Core NATS subscriber";
  found.messages = what.messages * what.clients;
  std::vector<std::unique_ptr<received>> seen;
  for (std::uint32_t index = 0; index < what.clients; ++index) {
    seen.push_back(std::make_unique<received>(what.messages, in));
  }
  in.note("Waiting for " + std::to_string(what.messages) + " messages on " + what.subject);
  const auto job = [&](client::connection& connection, std::uint32_t index) -> result<bench_span> {
    received& own = *seen[index];
    auto taken = connection.subscribe(
        what.subject, [&own](const client::message& message) { own.take(message); },
        client::subscribe_options().max_messages(what.messages));
    if (!taken) return std::unexpected(taken.error());
    if (auto settled = in.settle(connection); !settled) return std::unexpected(settled.error());
    auto done = own.all.get_future();
    // Looks now and then whether the connection is still there.
    while (done.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
      if (connection.state() == client::connection_state::closed)
        return fail(errc::closed, "the connection was lost after " + std::to_string(own.count) + " messages");
    }
    return own.span;
  };
  if (auto ran = run_clients(in, what.clients, job, found); !ran) return ran;
  std::uint64_t bytes = 0;
  for (const auto& own : seen) bytes += own->bytes;
  found.message_size = found.messages == 0 ? 0 : bytes / found.messages;
  report(in, found);
  return {};
}

}  // namespace tern::command
