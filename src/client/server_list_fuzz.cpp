// Any text as a server URL, and any bytes as an acknowledgement: refused or read, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/jetstream/core.hpp"
#include "client/server_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto address = tern::client::parse_server_url(text)) {
    if (address->at.host.empty() || (!address->at.in_process && !address->at.unix_socket && address->at.port == 0))
      __builtin_trap();
  }
  if (auto ack = tern::client::detail::read_pub_ack(text); ack && ack->stream.empty()) __builtin_trap();
  return 0;
}
