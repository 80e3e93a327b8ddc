// `Nats-Stream-Source: <stream> <origin sequence> <filter> <transform> <origin subject> [<identity>]`: where a sourced
// message came from, and so how far its source has been read (jetstream 7.3).
#pragma once

#include "jetstream/stream/stream_config.hpp"
#include "storage/stream_log.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::string_view source_header_name = "Nats-Stream-Source";

// What tells the sources of a stream apart, as it stands in the header: stream, filters and destinations.
struct source_identity {
  std::string stream;  // with `:<hash>` when the origin is outside, or `:C=<hash>` when the source names its consumer
  std::string filter;  // `>` or several, joined by form feeds
  std::string transform;  // the same of destinations

  static source_identity of(const stream_source& config);
  std::string key() const { return stream + " " + filter + " " + transform; }
  friend bool operator==(const source_identity&, const source_identity&) = default;
};

std::string make_source_header(const source_identity& from, storage::sequence number, std::string_view subject,
                               std::string_view stream_identity);

struct parsed_source_header {
  std::string key;
  storage::sequence number = 0;
  std::string_view subject, stream_identity;
};
std::optional<parsed_source_header> parse_source_header(std::string_view value);

// The 8 characters by which the peer abbreviates an account or an API prefix.
std::string short_hash(std::string_view text);

}  // namespace tern::jetstream
