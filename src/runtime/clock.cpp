#include "runtime/clock.hpp"

#include <atomic>
#include <time.h>

namespace tern::runtime {
namespace {

std::int64_t read_clock(clockid_t which) {
  timespec at{};
  ::clock_gettime(which, &at);
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

// A system clock that differs by less is being slewed, or was read between two ticks: not a step.
constexpr std::int64_t smallest_step = 1'000'000;
// How often the system clock is compared: a step is noticed at most this much later.
constexpr std::int64_t comparison_interval = 100'000'000;

}  // namespace

// Invariant: offset never falls. Steady time does not fall, so their sum, the time on Tern's axis, does not either. One
// for the process, so that all shards agree.
struct real_clock::state {
  std::atomic<std::int64_t> offset;      // system minus steady time
  std::atomic<std::int64_t> compare_at;  // steady time of the next comparison

  state() {
    const std::int64_t steady = read_clock(CLOCK_MONOTONIC);
    offset = read_clock(CLOCK_REALTIME) - steady;
    compare_at = steady + comparison_interval;
  }
};

real_clock::state& real_clock::shared() {
  static state instance;
  return instance;
}

real_clock::real_clock() { shared(); }

time_point real_clock::now() noexcept {
  state& common = shared();
  const std::int64_t steady = read_clock(CLOCK_MONOTONIC);
  if (steady >= common.compare_at.load(std::memory_order_relaxed)) {
    common.compare_at.store(steady + comparison_interval, std::memory_order_relaxed);
    const std::int64_t seen = read_clock(CLOCK_REALTIME) - steady;
    std::int64_t known = common.offset.load(std::memory_order_relaxed);
    while (seen > known + smallest_step && !common.offset.compare_exchange_weak(known, seen)) {
    }
  }
  return from_unix_nanoseconds(steady + common.offset.load(std::memory_order_relaxed));
}

}  // namespace tern::runtime
