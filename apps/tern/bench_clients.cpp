#include "bench_clients.hpp"

#include "parse.hpp"
#include "runtime/host/process.hpp"

#include <algorithm>
#include <latch>
#include <thread>

namespace tern::command {

result<void> run_clients(session& in, std::uint32_t clients, const bench_job& job, bench_result& into) {
  std::vector<client::connection> connections;
  for (std::uint32_t index = 0; index < clients; ++index) {
    auto connected = in.connect();
    if (!connected) return std::unexpected(std::move(connected).error());
    connections.push_back(*std::move(connected));
  }
  std::vector<result<bench_span>> spans(clients, bench_span{});
  const nanoseconds processor_before = runtime::host::processor_time_used();
  {
    std::latch start(clients);
    std::vector<std::jthread> threads;
    for (std::uint32_t index = 0; index < clients; ++index) {
      threads.emplace_back([&, index] {
        start.arrive_and_wait();
        spans[index] = job(connections[index], index);
      });
    }
  }
  into.processor_time = runtime::host::processor_time_used() - processor_before;
  if (auto refused = in.refusal()) return std::unexpected(*std::move(refused));
  for (auto& span : spans)
    if (!span) return std::unexpected(std::move(span).error());
  const auto begun = std::ranges::min(spans, {}, [](const auto& span) { return span->begun; })->begun;
  const auto ended = std::ranges::max(spans, {}, [](const auto& span) { return span->ended; })->ended;
  into.elapsed = ended - begun;
  into.clients = clients;
  return {};
}

result<std::string> bench_payload(session& in, std::string_view size) {
  const auto bytes = parse_size(size);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes < 0 || *bytes > (64 << 20)) return fail(errc::invalid_argument, "--size: from 0 to 64MB");
  return in.ids().random_text(static_cast<std::size_t>(*bytes));
}

}  // namespace tern::command
