#include "jetstream/stream/source_header.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tern::jetstream::parse_source_header({reinterpret_cast<const char*>(data), size});
  if (read && read->number == 0) std::abort();
  return 0;
}
