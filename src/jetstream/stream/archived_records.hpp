// What a backup says about a stream and its consumers, in the peer's words, and how that becomes ours and back
// (jetstream 10, 13.1). Functions on values.
#pragma once

#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/consumer/consumer_deltas.hpp"
#include "storage/archive/peer_consumer_state.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

// `state.json`, as far as a restore looks at it.
struct archived_state {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t last_seq = 0;
  std::int64_t consumer_count = 0;
  std::string last_ts;
};
// Errors have the peer's text.
result<archived_state> read_archived_state(std::string_view json);

struct archived_consumer {
  std::string name;
  consumer_config config;
  storage::archive::peer_consumer_state state;
};
// `consumers/<name>`.
result<archived_consumer> read_archived_consumer(std::string_view name, std::string_view json);
std::string write_archived_consumer(const consumer_config& config, std::string_view name,
                                    const storage::archive::peer_consumer_state& state);

// Both ways. Deadlines are kept by when the message was delivered and the consumer's ack wait; what waited for its
// redelivery is due at once. Messages above `last` are left out.
storage::archive::peer_consumer_state to_peer_state(const consumer_state& state, const consumer_config& config,
                                                    storage::sequence last, time_point now);
consumer_state from_peer_state(const storage::archive::peer_consumer_state& state, const consumer_config& config);

}  // namespace tern::jetstream
