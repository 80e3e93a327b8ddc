// What CONSUMER.INFO shows of a consumer (jetstream 2).
#pragma once

#include "jetstream/consumer/consumer_config.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tern::jetstream {

struct sequence_info {
  std::uint64_t consumer_seq = 0;
  std::uint64_t stream_seq = 0;
  std::optional<time_point> last_active;
};

struct priority_group_info {
  std::string group;
  std::string pinned_client_id;  // empty: nobody is pinned
  std::optional<time_point> pinned_at;
};

struct consumer_info {
  std::string stream_name;
  std::string name;
  time_point created;
  const consumer_config* config = nullptr;  // the consumer's own, alive while the info is written; null: not shown
  sequence_info delivered;
  sequence_info ack_floor;
  std::uint64_t num_ack_pending = 0;
  std::uint64_t num_redelivered = 0;
  std::uint64_t num_waiting = 0;
  std::uint64_t num_pending = 0;
  bool push_bound = false;
  std::optional<nanoseconds> pause_remaining;  // set while paused
  std::vector<priority_group_info> priority_groups;
  time_point now;
};

// Server metadata that answers show beside the stored keys; lists leave it out (jetstream 1.7).
struct shown_metadata {
  std::string_view version;
  int level = 0;
};

// Appends the members without the braces, so that they can stand in an envelope.
void append_members(std::string& out, const consumer_info& info, const shown_metadata* server);

}  // namespace tern::jetstream
