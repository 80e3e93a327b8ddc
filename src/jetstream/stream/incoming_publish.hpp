// One publish on its way through the checks of a stream; shared by the files that implement them.
#pragma once

#include "jetstream/stream/stream.hpp"

#include <tern/codec/json.hpp>

#include <string>
#include <string_view>

namespace tern::jetstream {

struct stream::incoming {
  std::string_view subject, reply, headers, payload;
  publish_headers known;
  std::string stored_headers;     // owns what `headers` views when something was taken out
  std::string rewritten_headers;  // the same after a time to live was raised; `known` views the block before
  std::string scheduled_headers;  // the same after a schedule was given its roll-up
  std::string body;               // of a counter; owns what `payload` views then
  std::string total;              // of a counter
  std::string counted_sources;    // of a sourced counter: what it was made of, as JSON
  std::string note;               // what the acknowledgement says beside stream and sequence
  rollup_scope rollup = rollup_scope::none;
  nanoseconds lifetime{0};        // its own, 0 when it has none
  time_point schedule_due{};      // of the first run; only when it is a schedule
  bool cancels_schedule = false;  // ends the one that its headers name
  bool raises_lifetime = false;
  bool has_bad_lifetime = false;
  bool skipped = false;                // takes a sequence and is not stored
  storage::sequence duplicate_of = 0;  // the sequence its id got before
  staged_publish entry;                // of the staged state, once admitted
  storage::sequence number = 0;
  std::uint64_t record_bytes = 0;
};

inline void append_json_text(std::string& json, std::string_view text) { codec::write_json_string(json, text); }

}  // namespace tern::jetstream
