// Any text is refused or read; what is read prints to something that reads back as the same time.
#include <tern/base/time.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto at = tern::parse_rfc3339(text)) {
    const auto again = tern::parse_rfc3339(tern::to_rfc3339(*at));
    if (!again || *again != *at) std::abort();
  }
  return 0;
}
