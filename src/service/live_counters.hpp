// The counters of one subscription while it runs: written by the application's thread alone, read by any.
#pragma once

#include <tern/service/app.hpp>

#include <atomic>
#include <cstdint>

namespace tern::service::detail {

// One writer, so an increment needs no locked instruction.
class live_counter {
 public:
  void operator++() { add(1); }
  void operator--() { add(static_cast<std::uint64_t>(-1)); }
  void operator+=(std::uint64_t more) { add(more); }
  operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

 private:
  void add(std::uint64_t more) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> value_ = 0;
};

struct live_counters {
  live_counter acked, retried, retried_after, dropped, dead_lettered;
  live_counter decode_failed, threw, extract_failed, unsettled;
  live_counter settle_failures, unsupported_settlements, redeliveries, pull_errors;
  live_counter in_flight;

  subscription_counters snapshot() const {
    subscription_counters now;
    now.acked = acked, now.retried = retried, now.retried_after = retried_after, now.dropped = dropped;
    now.dead_lettered = dead_lettered, now.decode_failed = decode_failed, now.threw = threw;
    now.extract_failed = extract_failed, now.unsettled = unsettled, now.settle_failures = settle_failures;
    now.unsupported_settlements = unsupported_settlements, now.redeliveries = redeliveries;
    now.pull_errors = pull_errors, now.in_flight = static_cast<std::size_t>(in_flight);
    return now;
  }
};

}  // namespace tern::service::detail
