// Runs one job per client, each with a connection and a thread of its own, all begun at the same moment.
#pragma once

#include "bench_report.hpp"
#include "session.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tern::command {

// A span of time that a job measured, or why it failed.
struct bench_span {
  time_point begun{}, ended{};
};
using bench_job = std::function<result<bench_span>(client::connection& connection, std::uint32_t index)>;

// Connects them all first. The time from the first begin to the last end and the processor time of the process go into
// `into`. The first failure is returned.
result<void> run_clients(session& in, std::uint32_t clients, const bench_job& job, bench_result& into);

// Text that does not compress, so that no server gets off cheaply. errc::invalid_argument for a size that is none.
result<std::string> bench_payload(session& in, std::string_view size);

}  // namespace tern::command
