// What the handles of a key-value bucket share, and the names of its parts (jetstream 21).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tern/client/key_value.hpp>

namespace tern::client::detail {

inline constexpr std::string_view stream_prefix = "KV_";

struct bucket_core {
  jetstream js;
  std::string bucket;
  std::string stream;
  std::string prefix;      // of subjects in the stream: "$KV.B."
  std::string put_prefix;  // where values are published; another one for a mirror across accounts or domains
  key_value_codec codec;
  bool direct = true;  // the stream allows direct get; those of old servers may not
};

result<void> check_bucket_name(std::string_view bucket);
// As the bucket keeps it, checked; a pattern may have wildcards.
result<std::string> encode_key(const bucket_core& bucket, std::string_view key);
result<std::string> encode_pattern(const bucket_core& bucket, std::string_view pattern);
result<std::string> encode_value(const bucket_core& bucket, std::string_view value);

// Which operation the headers of a stored message tell: `KV-Operation`, or the server's own `Nats-Marker-Reason`.
key_value_operation operation_of(std::string_view header_block);
// Decodes key and value. errc::not_found when the subject is not of this bucket.
result<key_value_entry> entry_of(const bucket_core& bucket, std::string_view subject, std::string_view header_block,
                                 std::string_view payload);

}  // namespace tern::client::detail
