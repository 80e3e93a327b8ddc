#include "runtime/clock.hpp"

#include "runtime/forward_offset.hpp"

#include <time.h>

namespace tern::runtime {
namespace {

std::int64_t read_clock(clockid_t which) {
  timespec at{};
  ::clock_gettime(which, &at);
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

// One for the process, so that all shards agree.
struct real_clock::state {
  forward_offset offset{read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_REALTIME)};
};

real_clock::state& real_clock::shared() {
  static state instance;
  return instance;
}

real_clock::real_clock() { shared(); }

time_point real_clock::now() noexcept {
  const std::int64_t steady = read_clock(CLOCK_MONOTONIC);
  return from_unix_nanoseconds(steady + shared().offset.at(steady, [] { return read_clock(CLOCK_REALTIME); }));
}

}  // namespace tern::runtime
