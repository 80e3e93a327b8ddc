#include "jetstream/stream/publish_headers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// Any header block is read without harm; what is found lies within the block, and what is stored carries no request
// info.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view block(reinterpret_cast<const char*>(data), size);
  const auto found = tern::jetstream::publish_headers::read(block);
  for (const std::string_view value :
       {found.message_id, found.rollup, found.time_to_live, found.expected_last_sequence}) {
    if (!value.empty() && (value.data() < block.data() || value.data() + value.size() > block.data() + block.size()))
      std::abort();
  }
  const std::string stored = tern::jetstream::storable_headers(block);
  if (tern::jetstream::publish_headers::read(stored).has_request_info) std::abort();
  (void)tern::jetstream::parse_time_to_live(block);
  return 0;
}
