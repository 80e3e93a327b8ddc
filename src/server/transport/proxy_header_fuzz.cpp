// Any bytes: a verdict, and of a header no more bytes than there are.
#include "server/transport/proxy_header.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = tern::server::read_proxy_header(bytes);
  if (read.what == tern::server::proxy_header::state::present && (read.size == 0 || read.size > size)) std::abort();
  return 0;
}
