// The state of a consumer as the peer keeps it in `obs/<consumer>/o.dat`: floors, what is pending since when (to the
// second), and how often messages were delivered. Versions 1 and 2 are read, 2 is written. (storage part 1)
#pragma once

#include <tern/base/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tern::storage::archive {

struct peer_consumer_state {
  struct pending_message {
    std::uint64_t consumer_sequence = 0;  // of the first delivery
    std::int64_t delivered_at = 0;        // nanoseconds
    friend bool operator==(const pending_message&, const pending_message&) = default;
  };
  std::uint64_t delivered_consumer = 0, delivered_stream = 0;
  std::uint64_t floor_consumer = 0, floor_stream = 0;
  std::map<std::uint64_t, pending_message> pending;    // by stream sequence
  std::map<std::uint64_t, std::uint64_t> redelivered;  // extra deliveries, by stream sequence
  friend bool operator==(const peer_consumer_state&, const peer_consumer_state&) = default;
};

result<peer_consumer_state> decode_peer_consumer(std::string_view bytes);
std::string encode_peer_consumer(const peer_consumer_state& state);

}  // namespace tern::storage::archive
