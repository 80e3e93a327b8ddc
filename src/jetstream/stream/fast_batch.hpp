// Fast batches: what the reply subject of each message says, and how far a batch has come (jetstream 5.11).
#pragma once

#include <tern/base/time.hpp>

#include "storage/stream_log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::string_view fast_batch_suffix = ".$FI";

enum class fast_operation : std::uint8_t { start, append, commit, commit_without, ping };

// `<prefix>.<batch id>.<flow>.<gap>.<seq>.<op>.$FI`
struct fast_control {
  std::string_view id;
  std::uint64_t flow = 0;
  bool goes_on = false;  // over gaps and refused messages
  std::uint64_t sequence = 0;
  fast_operation what = fast_operation::start;
};
// Empty when it is malformed. A flow that is no number, or none, is the default.
std::optional<fast_control> parse_fast_control(std::string_view reply);

struct fast_batch {
  std::uint64_t next = 1;            // the sequence that is expected
  std::uint64_t acknowledge_at = 0;  // the next one that is acknowledged
  std::uint64_t interval = 1;        // messages for each acknowledgement
  storage::sequence last_stored = 0;
  std::string last_acknowledgement;  // repeated to a ping
  time_point last_seen{};
};

}  // namespace tern::jetstream
