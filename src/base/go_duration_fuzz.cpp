// Any text is refused or read; what is read prints to something that reads back as the same value.
#include "base/go_duration.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto value = tern::parse_go_duration(text)) {
    const auto again = tern::parse_go_duration(tern::to_go_duration(*value));
    if (!again || *again != *value) std::abort();
  }
  return 0;
}
