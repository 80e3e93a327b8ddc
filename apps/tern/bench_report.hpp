// What a benchmark found, with what it cost, and with how durable an acknowledged message is: never a rate alone.
#pragma once

#include "base/histogram.hpp"

#include <tern/base/time.hpp>
#include <tern/client/jetstream_records.hpp>

#include <cstdint>
#include <string>

namespace tern::command {

struct bench_result {
  std::string benchmark;  // "Core publisher"
  std::uint64_t clients = 1;
  std::uint64_t messages = 0;
  std::uint64_t message_size = 0;
  nanoseconds elapsed{};
  nanoseconds processor_time{};  // of this process, all threads; the server's is its own
  std::string stream;            // empty: none is written to
  std::string durability;
  histogram acknowledgement;  // nanoseconds from the publish to its acknowledgement; empty: not measured
};

std::string describe_bench(const bench_result& found);
std::string bench_as_json(const bench_result& found);

// What an acknowledgement of that stream promises, as far as its configuration tells.
std::string durability_of(const client::stream_config& config);

// A share of `total` for client `index` of `clients`; the shares add up.
std::uint64_t share_of(std::uint64_t total, std::uint64_t index, std::uint64_t clients);

}  // namespace tern::command
