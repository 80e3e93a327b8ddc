// Runs a shard until something holds. For tests and for start-up and shutdown, where real sockets and disks must be
// waited for: no sleeping, no polling; the condition is looked at after each turn.
#pragma once

#include "runtime/shard.hpp"

#include <concepts>

namespace tern::runtime {

// False when `patience` (of the shard's clock) passed before. Nothing is polled: whatever makes the condition true must
// be an event of this shard. Not from inside the loop.
template <std::predicate Condition>
bool run_until(shard& loop, Condition&& condition, nanoseconds patience = std::chrono::seconds(20)) {
  if (condition()) return true;
  bool held = false;
  timer_queue::timer limit(loop.timers(), [&loop] { loop.stop(); });
  limit.arm(loop.time().now() + patience);
  const auto hook = loop.at_turn_end([&] {
    if (held || !condition()) return;
    held = true;
    loop.stop();
  });
  loop.run();
  return held;
}

}  // namespace tern::runtime
