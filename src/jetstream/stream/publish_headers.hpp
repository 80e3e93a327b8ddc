// The headers of a publish that a stream obeys, found in one pass over the block (jetstream 5.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tern/base/time.hpp>

namespace tern::jetstream {

enum class rollup_scope : std::uint8_t { none, subject, all };

// Views into the block. Names are matched exactly and at line starts; an empty value counts as absent, and of several
// fields of one name the first counts.
struct publish_headers {
  std::string_view message_id;                              // Nats-Msg-Id
  std::string_view expected_stream;                         // Nats-Expected-Stream
  std::string_view expected_last_sequence;                  // Nats-Expected-Last-Sequence
  std::string_view expected_last_subject_sequence;          // Nats-Expected-Last-Subject-Sequence
  std::string_view expected_last_subject_sequence_subject;  // Nats-Expected-Last-Subject-Sequence-Subject
  std::string_view expected_last_message_id;                // Nats-Expected-Last-Msg-Id
  std::string_view rollup;                                  // Nats-Rollup
  std::string_view time_to_live;                            // Nats-TTL
  std::string_view increment;                               // Nats-Incr
  std::string_view batch_id;                                // Nats-Batch-Id
  std::string_view batch_sequence;                          // Nats-Batch-Sequence
  std::string_view batch_commit;                            // Nats-Batch-Commit
  std::string_view required_api_level;                      // Nats-Required-Api-Level
  std::string_view schedule;                                // Nats-Schedule
  std::string_view schedule_target;                         // Nats-Schedule-Target
  std::string_view schedule_source;                         // Nats-Schedule-Source
  std::string_view schedule_ttl;                            // Nats-Schedule-TTL
  std::string_view schedule_rollup;                         // Nats-Schedule-Rollup
  std::string_view schedule_time_zone;                      // Nats-Schedule-Time-Zone
  std::string_view schedule_next;                           // Nats-Schedule-Next
  std::string_view scheduler;                               // Nats-Scheduler
  std::string_view stream_source;                           // Nats-Stream-Source
  bool has_request_info = false;                            // Nats-Request-Info, which is never stored
  bool has_status = false;                                  // something behind NATS/1.0 in the first line

  static publish_headers read(std::string_view block);
};

// The block as it is stored: without a status and without Nats-Request-Info. Empty when no field is left.
std::string storable_headers(std::string_view block);

// A Nats-Rollup value in any case; none for an empty one, empty for an unknown word.
std::optional<rollup_scope> parse_rollup(std::string_view text);

// A Nats-TTL value: `never` (0 here), seconds, or a Go duration of at least a second, cut to seconds. Empty when it is
// bad.
std::optional<nanoseconds> parse_time_to_live(std::string_view text);

}  // namespace tern::jetstream
