#include "jetstream/stream/fast_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// Any reply subject is read without harm; what is accepted is within its bounds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto control = tern::jetstream::parse_fast_control({reinterpret_cast<const char*>(data), size});
  if (control && (control->sequence == 0 || control->flow == 0 || control->id.empty())) std::abort();
  return 0;
}
