// Bodies and subjects of acknowledgements and pulls are whatever a client sends.
#include "jetstream/consumer/ack_body.hpp"
#include "jetstream/consumer/pull_request.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = tern::jetstream::parse_ack_body(text);
  if (body.has_delay && (body.kind != tern::jetstream::ack_kind::nak || body.delay <= tern::nanoseconds(0)))
    std::abort();
  (void)tern::jetstream::parse_ack_numbers(text);
  const auto pull = tern::jetstream::parse_pull_request(text);
  if (pull && !pull->json && !pull->request.group.empty()) std::abort();
  return 0;
}
