// Consumers that mirrors and sources of other streams read with, here or at another server (jetstream 7.2).
#pragma once

#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/stream_context.hpp"
#include "protocol/jetstream_error.hpp"

#include <optional>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::string_view stream_identity_header = "Nats-Stream-Identity";

// Such a reader asks for a `direct` consumer; a `sourcing` one knows of what follows here.
inline bool is_reader(const consumer_config& config) { return config.direct && config.sourcing; }
// It asks for the stream of an identity that is not this one's.
std::optional<protocol::api_error> check_reader_identity(const stream_context& stream, std::string_view headers);
// Where messages stay until their consumers are done with them, a reader is a durable that acknowledges by flow
// control, so that a break costs nothing: it takes over what `before` (may be null) was made with. Elsewhere it gets a
// name of its own every time. `fresh` is the end of such a name.
void adapt_reader(consumer_config& config, retention_policy retention, const consumer_config* before,
                  std::string_view fresh);

}  // namespace tern::jetstream
