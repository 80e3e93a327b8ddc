// How real_clock follows the system clock: forward only. Apart from the clock, so that steps of it can be tested.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

namespace tern::runtime {

// The distance from steady time to Tern's axis, in nanoseconds. Invariant: it never falls, so steady time plus offset,
// which is the time, never goes back. Any thread.
class forward_offset {
 public:
  // A system clock that differs by less is being slewed, or was read between two ticks: not a step.
  static constexpr std::int64_t smallest_step = 1'000'000;
  // How often the system clock is compared: a step is noticed at most this much later.
  static constexpr std::int64_t comparison_interval = 100'000'000;

  forward_offset(std::int64_t steady, std::int64_t system)
      : offset_(system - steady), compare_at_(steady + comparison_interval) {}

  template <std::invocable ReadSystem>
  std::int64_t at(std::int64_t steady, ReadSystem read_system) {
    if (steady >= compare_at_.load(std::memory_order_relaxed)) {
      compare_at_.store(steady + comparison_interval, std::memory_order_relaxed);
      const std::int64_t seen = read_system() - steady;
      std::int64_t known = offset_.load(std::memory_order_relaxed);
      while (seen > known + smallest_step && !offset_.compare_exchange_weak(known, seen)) {
      }
    }
    return offset_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> offset_;
  std::atomic<std::int64_t> compare_at_;
};

}  // namespace tern::runtime
