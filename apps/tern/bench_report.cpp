#include "bench_report.hpp"

#include "text.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <optional>

namespace tern::command {
namespace {

struct latency_record {
  std::uint64_t minimum_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, maximum_ns = 0;
};

struct bench_record {
  std::string benchmark;
  std::uint64_t clients = 0;
  std::uint64_t messages = 0;
  std::uint64_t message_size = 0;
  double seconds = 0;
  double messages_per_second = 0;
  double bytes_per_second = 0;
  double processor_seconds = 0;
  double processor_nanoseconds_per_message = 0;
  std::optional<std::string> stream;
  std::optional<std::string> durability;
  std::optional<latency_record> acknowledgement;
};

double seconds_of(nanoseconds value) { return static_cast<double>(value.count()) / 1e9; }

double per_second(double amount, nanoseconds elapsed) { return amount / std::max(seconds_of(elapsed), 1e-9); }

std::string microseconds(std::uint64_t count) { return fixed(static_cast<double>(count) / 1e3, 1) + "µs"; }

bench_record record_of(const bench_result& found) {
  bench_record out;
  const double count = static_cast<double>(found.messages);
  out.benchmark = found.benchmark;
  out.clients = found.clients;
  out.messages = found.messages;
  out.message_size = found.message_size;
  out.seconds = seconds_of(found.elapsed);
  out.messages_per_second = per_second(count, found.elapsed);
  out.bytes_per_second = per_second(count * static_cast<double>(found.message_size), found.elapsed);
  out.processor_seconds = seconds_of(found.processor_time);
  out.processor_nanoseconds_per_message = static_cast<double>(found.processor_time.count()) / std::max(count, 1.0);
  if (!found.stream.empty()) {
    out.stream = found.stream;
    out.durability = found.durability;
  }
  if (const histogram& took = found.acknowledgement; took.count() > 0) {
    out.acknowledgement = latency_record{took.min(),          took.quantile(0.5),   took.quantile(0.9),
                                         took.quantile(0.99), took.quantile(0.999), took.max()};
  }
  return out;
}

}  // namespace

std::string describe_bench(const bench_result& found) {
  const bench_record numbers = record_of(found);
  std::string out = found.benchmark +
                    " stats: " + with_thousands(static_cast<std::uint64_t>(numbers.messages_per_second)) +
                    " msgs/sec ~ " + human_bytes(static_cast<std::uint64_t>(numbers.bytes_per_second)) + "/sec\n";
  field_list more;
  more.field("Messages", with_thousands(found.messages) + " of " + human_bytes(found.message_size) + " in " +
                             fixed(numbers.seconds, 3) + "s, " + std::to_string(found.clients) +
                             (found.clients == 1 ? " client" : " clients"));
  more.field("CPU of tern", fixed(numbers.processor_seconds, 3) + "s, " +
                                fixed(100 * numbers.processor_seconds / std::max(numbers.seconds, 1e-9), 0) +
                                "% of a core, " + fixed(numbers.processor_nanoseconds_per_message, 0) + " ns/message");
  if (!found.stream.empty()) {
    more.field("Stream", found.stream);
    more.field("Durability", found.durability);
  }
  if (numbers.acknowledgement) {
    const latency_record& took = *numbers.acknowledgement;
    more.field("Acknowledged after", "min " + microseconds(took.minimum_ns) + " ~ P50 " + microseconds(took.p50_ns) +
                                         " ~ P90 " + microseconds(took.p90_ns) + " ~ P99 " + microseconds(took.p99_ns) +
                                         " ~ max " + microseconds(took.maximum_ns));
  }
  return out + more.text();
}

std::string bench_as_json(const bench_result& found) { return codec::to_json(record_of(found)); }

std::string durability_of(const client::stream_config& config) {
  if (config.storage == client::storage_type::memory)
    return "memory: acknowledged once in memory, gone with the server";
  if (config.persist_mode == "async")
    return "asynchronous: acknowledged before it is on disk; a crash may take acknowledged messages";
  return "file: acknowledged as the server's sync_interval says (ternd's default: after the sync to disk; "
         "nats-server's default: before it, synced every 2 minutes)";
}

std::uint64_t share_of(std::uint64_t total, std::uint64_t index, std::uint64_t clients) {
  return total / clients + (index < total % clients ? 1 : 0);
}

}  // namespace tern::command
