#include "account.hpp"

#include "api.hpp"
#include "text.hpp"

#include <tern/client/jetstream_records.hpp>

#include <algorithm>

namespace tern::command {
namespace {

struct round_trip_record {
  std::string address;
  std::uint64_t count = 0;
  nanoseconds minimum{}, average{}, maximum{};
};

std::string of_limit(std::string used, std::int64_t limit, std::string limit_shown) {
  return used + " of " + (limit < 0 ? std::string("unlimited") : std::move(limit_shown));
}

std::string bytes_of_limit(std::uint64_t used, std::int64_t limit) {
  return of_limit(human_bytes(used), limit, human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(0, limit))));
}

std::string count_of_limit(std::int64_t used, std::int64_t limit) {
  return of_limit(std::to_string(used), limit, std::to_string(limit));
}

void add_connection(field_list& out, const client::server_info& server, nanoseconds round_trip) {
  out.section("Connection");
  out.field("Client ID", std::to_string(server.client_id));
  out.field("Connected Address", server.address);
  out.field("Server ID", server.id);
  out.field("Server Name", server.name);
  out.field("Server Version", server.version);
  if (!server.cluster.empty()) out.field("Cluster", server.cluster);
  out.field("Round Trip", short_duration(round_trip));
  out.field("Headers Supported", server.headers);
  out.field("Maximum Payload", byte_limit_text(server.max_payload));
}

void add_jetstream(field_list& out, const client::account_info& account) {
  out.section("JetStream");
  if (!account.domain.empty()) out.field("Domain", account.domain);
  out.field("Storage", bytes_of_limit(account.storage, account.limits.max_storage));
  out.field("Memory", bytes_of_limit(account.memory, account.limits.max_memory));
  out.field("Streams", count_of_limit(account.streams, account.limits.max_streams));
  out.field("Consumers", count_of_limit(account.consumers, account.limits.max_consumers));
  out.field("API Calls", with_thousands(account.api.total) + ", " + with_thousands(account.api.errors) + " errors");
}

result<nanoseconds> round_trip(session& in, client::connection& connection) {
  const time_point begun = in.now();
  if (auto flushed = in.settle(connection); !flushed) return std::unexpected(flushed.error());
  return in.now() - begun;
}

}  // namespace

result<void> show_account(session& in) {
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  const auto took = round_trip(in, *connected);
  if (!took) return std::unexpected(took.error());
  jetstream_api api(in, *connected);
  auto answer = api.call("INFO");
  if (in.json()) {
    if (!answer) return std::unexpected(std::move(answer).error());
    return in.output().print_line(*answer), result<void>();
  }
  field_list out;
  add_connection(out, connected->server(), *took);
  if (!answer) {
    out.section("JetStream");
    out.field("Available", "no: " + answer.error().message());
  } else {
    const auto account = codec::read_json<client::account_info>(*answer);
    if (!account) return std::unexpected(account.error());
    add_jetstream(out, *account);
  }
  in.output().print(out.text());
  return {};
}

result<void> measure_round_trip(session& in, std::uint64_t times) {
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  round_trip_record out{connected->server().address, times, nanoseconds::max(), nanoseconds(0), nanoseconds(0)};
  nanoseconds total{};
  for (std::uint64_t number = 0; number < times; ++number) {
    const auto took = round_trip(in, *connected);
    if (!took) return std::unexpected(took.error());
    out.minimum = std::min(out.minimum, *took);
    out.maximum = std::max(out.maximum, *took);
    total += *took;
  }
  out.average = total / static_cast<std::int64_t>(times);
  if (in.json()) return in.output().print_line(codec::to_json(out)), result<void>();
  in.output().print_line(out.address + ": " + short_duration(out.average) + " (" + std::to_string(times) +
                         " round trips, " + short_duration(out.minimum) + " to " + short_duration(out.maximum) + ")");
  return {};
}

}  // namespace tern::command
