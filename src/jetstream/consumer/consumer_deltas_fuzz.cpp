// What the store gives back may be damaged in ways its checksums did not see: it must never do more than fail.
#include "jetstream/consumer/consumer_deltas.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::jetstream;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  consumer_state state;
  if (apply_snapshot(state, bytes)) {
    // What was read can be written and read again, to the same bytes but for what was queued, which is due at once.
    const std::string written = encode_snapshot(state);
    consumer_state again;
    if (!apply_snapshot(again, written) || encode_snapshot(again) != written) std::abort();
  }
  consumer_state fresh;
  (void)apply_deltas(fresh, bytes);
  return 0;
}
