// A stream as JSON: what STREAM.INFO, LIST, CREATE and monitoring say about it (jetstream 2, 18).
#pragma once

#include "jetstream/stream/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

struct stream_info_parts {
  bool server_metadata = true;  // `_nats.ver` and `_nats.level` in the configuration (1.7)
  bool domain = false;
  bool cluster = false;
  bool deleted_details = false;
  std::string_view subjects_filter = {};  // empty: no subjects
  std::uint64_t subjects_offset = 0;
  std::optional<std::size_t> consumer_count = {};  // instead of all of them
};

// Appends `"config":...,"created":...,"state":...[,"domain"][,"cluster"],"ts":...` without braces. Returns the number
// of subjects that match the filter.
std::uint64_t append_stream_info(std::string& json, const stream& what, environment& surroundings,
                                 const stream_info_parts& parts = {});
// The `state` object alone.
std::uint64_t append_stream_state(std::string& json, const stream& what, const stream_info_parts& parts = {});

}  // namespace tern::jetstream
