// Any bytes as the request and as the answer of an upgrade.
#include "protocol/websocket/upgrade.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto request = tern::protocol::parse_upgrade_request(bytes);
  if (request.what == tern::protocol::upgrade_parse::state::complete) {
    if (request.size > size) std::abort();
    if (!tern::protocol::check_upgrade_request(request.request))
      if (tern::protocol::upgrade_answer(request.request, true, {}).empty()) std::abort();
  }
  const auto answer = tern::protocol::parse_upgrade_answer(bytes, "dGhlIHNhbXBsZSBub25jZQ==");
  if (answer.size > size) std::abort();
  return 0;
}
