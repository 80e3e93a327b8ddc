// What a stream's mirror and sources may say (jetstream 7.1).
#pragma once

#include "jetstream/stream/stream_config.hpp"
#include "protocol/jetstream_error.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace tern::jetstream {

// By themselves, in the order in which the peer looks.
std::optional<protocol::api_error> check_mirror(const stream_config& config);
std::optional<protocol::api_error> check_sources(const stream_config& config);

// Null when the account has no such stream.
using find_stream_config = std::function<const stream_config*(std::string_view name)>;
// Against the streams of the account that can be seen. Takes over what a mirror has from its origin.
std::optional<protocol::api_error> check_visible_origins(stream_config& config, const find_stream_config& find);

}  // namespace tern::jetstream
