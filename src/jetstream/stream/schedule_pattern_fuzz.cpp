#include "jetstream/stream/schedule_pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  const auto pattern = jetstream::schedule_pattern::parse({reinterpret_cast<const char*>(data), size});
  if (!pattern || !pattern->repeats()) return 0;
  const time_point now = from_unix_nanoseconds(1'767'225'600'000'000'000);
  if (const auto next = pattern->next(now, now); next && *next <= now) std::abort();
  return 0;
}
