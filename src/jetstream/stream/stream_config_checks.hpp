// The rules of a stream configuration: defaults, refusals with the texts that clients know, what an update may change.
// Functions on values; nothing here knows a running stream. (jetstream 1.7, 1.11, 3, 4)
#pragma once

#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_config.hpp"
#include "protocol/jetstream_error.hpp"

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::size_t name_size_max = 255;
inline constexpr std::size_t description_size_max = 4096;
inline constexpr std::size_t metadata_size_max = 128 * 1024;
inline constexpr std::int64_t replicas_max = 5;
inline constexpr nanoseconds duplicate_window_default = std::chrono::minutes(2);
inline constexpr nanoseconds age_minimum = std::chrono::milliseconds(100);  // of max_age and duplicate_window

// Not empty, without blanks, control characters and . * > \ /
bool is_valid_asset_name(std::string_view name);
bool has_path_separator(std::string_view name);

protocol::api_error invalid_stream_config(std::string_view text);

// The configuration as it will be in force: defaults filled in, limits normalised, `_nats.req.level` in its metadata.
std::expected<stream_config, protocol::api_error> normalise_stream_config(stream_config config, bool pedantic,
                                                                          const options& settings);
// Applies what a seal forces, then says what of `after` the update of `before` may not do.
std::optional<protocol::api_error> check_stream_update(const stream_config& before, stream_config& after);

// The lowest API level that the configuration needs.
int required_api_level(const stream_config& config);
// The configuration as answers show it: with the server's version and level (1.7).
stream_config with_server_metadata(stream_config config, const options& settings);

}  // namespace tern::jetstream
