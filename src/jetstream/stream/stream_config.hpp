// A stream's configuration as API, store and monitoring know it. Member names are the JSON names; the order is the one
// in which answers list them. Fields of features that this server does not offer are known too, so that a request which
// uses them is refused by name and not as unknown JSON (jetstream 1.5, 3).
#pragma once

#include <tern/base/time.hpp>
#include <tern/codec/reflect.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::jetstream {

enum class retention_policy : std::uint8_t { limits, interest, workqueue };
enum class discard_policy : std::uint8_t { old_messages, new_messages };
enum class storage_type : std::uint8_t { file, memory };
enum class compression_kind : std::uint8_t { none, s2 };
enum class persist_mode : std::uint8_t { normal, async };

// A subject mapping (7.4).
struct transform_config {
  std::string src;
  std::string dest;

  static constexpr codec::omit_when json_omit = codec::omit_when::never;
  friend bool operator==(const transform_config&, const transform_config&) = default;
};

struct republish_config {
  std::string src;
  std::string dest;
  bool headers_only = false;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  friend bool operator==(const republish_config&, const republish_config&) = default;
};

struct placement_config {
  std::string cluster;
  std::optional<std::vector<std::string>> tags;
  std::string preferred;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  friend bool operator==(const placement_config&, const placement_config&) = default;
};

struct external_stream {
  std::string api;
  std::string deliver;

  friend bool operator==(const external_stream&, const external_stream&) = default;
};

struct source_consumer {
  std::string name;
  std::string deliver_subject;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  friend bool operator==(const source_consumer&, const source_consumer&) = default;
};

// Where a mirror or a source reads (7.1).
struct stream_source {
  std::string name;
  std::uint64_t opt_start_seq = 0;
  std::optional<time_point> opt_start_time;
  std::string filter_subject;
  std::vector<transform_config> subject_transforms;
  std::optional<external_stream> external;
  std::optional<source_consumer> consumer;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {{"name", {.omit = codec::omit_when::never}}};
  friend bool operator==(const stream_source&, const stream_source&) = default;
};

// Defaults and caps for the stream's consumers.
struct consumer_limits {
  nanoseconds inactive_threshold{0};
  std::int64_t max_ack_pending = 0;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  friend bool operator==(const consumer_limits&, const consumer_limits&) = default;
};

// A plain value. In a running stream it is normalised: limits are -1 or positive, subjects are filled in, and
// `metadata` holds `_nats.req.level` but neither `_nats.ver` nor `_nats.level` (1.7).
struct stream_config {
  std::string name;
  std::string description;
  std::vector<std::string> subjects;
  retention_policy retention = retention_policy::limits;
  std::int64_t max_consumers = 0;
  std::int64_t max_msgs = 0;
  std::int64_t max_bytes = 0;
  nanoseconds max_age{0};
  std::int64_t max_msgs_per_subject = 0;
  std::int32_t max_msg_size = 0;
  discard_policy discard = discard_policy::old_messages;
  storage_type storage = storage_type::file;
  std::int64_t num_replicas = 0;
  bool no_ack = false;
  nanoseconds duplicate_window{0};
  std::optional<placement_config> placement;
  std::optional<stream_source> mirror;
  std::vector<stream_source> sources;
  compression_kind compression = compression_kind::none;
  std::uint64_t first_seq = 0;
  std::optional<transform_config> subject_transform;
  std::optional<republish_config> republish;
  bool allow_direct = false;
  bool mirror_direct = false;
  bool discard_new_per_subject = false;
  bool sealed = false;
  bool deny_delete = false;
  bool deny_purge = false;
  bool allow_rollup_hdrs = false;
  jetstream::consumer_limits consumer_limits;
  bool allow_msg_ttl = false;
  nanoseconds subject_delete_marker_ttl{0};
  bool allow_msg_counter = false;
  bool allow_atomic = false;
  bool allow_msg_schedules = false;
  jetstream::persist_mode persist_mode = jetstream::persist_mode::normal;
  bool allow_batched = false;
  std::map<std::string, std::string> metadata;

  // What Appendix A of jetstream lists as always present is written always, the rest only when it says something.
  static constexpr codec::member_option json_members[] = {
      {"description", {.omit = codec::omit_when::empty}},
      {"subjects", {.omit = codec::omit_when::empty}},
      {"max_msg_size", {.omit = codec::omit_when::empty}},
      {"no_ack", {.omit = codec::omit_when::empty}},
      {"duplicate_window", {.omit = codec::omit_when::empty}},
      {"sources", {.omit = codec::omit_when::empty}},
      {"first_seq", {.omit = codec::omit_when::empty}},
      {"discard_new_per_subject", {.omit = codec::omit_when::empty}},
      {"subject_delete_marker_ttl", {.omit = codec::omit_when::empty}},
      {"allow_msg_counter", {.omit = codec::omit_when::empty}},
      {"allow_atomic", {.omit = codec::omit_when::empty}},
      {"allow_msg_schedules", {.omit = codec::omit_when::empty}},
      {"persist_mode", {.omit = codec::omit_when::default_value}},
      {"allow_batched", {.omit = codec::omit_when::empty}},
      {"metadata", {.omit = codec::omit_when::empty}},
  };
  friend bool operator==(const stream_config&, const stream_config&) = default;
};

// The body of STREAM.CREATE and STREAM.UPDATE.
struct stream_config_request {
  stream_config config;
  bool pedantic = false;

  static constexpr codec::member_option json_members[] = {{"config", {.flatten = true}}};
};

}  // namespace tern::jetstream

template <>
struct tern::codec::enum_words<tern::jetstream::retention_policy> {
  using enum tern::jetstream::retention_policy;
  static constexpr std::pair<tern::jetstream::retention_policy, std::string_view> words[] = {
      {limits, "limits"}, {interest, "interest"}, {workqueue, "workqueue"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::discard_policy> {
  using enum tern::jetstream::discard_policy;
  static constexpr std::pair<tern::jetstream::discard_policy, std::string_view> words[] = {{old_messages, "old"},
                                                                                           {new_messages, "new"}};
  static constexpr bool ignore_case = true;
};

template <>
struct tern::codec::enum_words<tern::jetstream::storage_type> {
  using enum tern::jetstream::storage_type;
  static constexpr std::pair<tern::jetstream::storage_type, std::string_view> words[] = {{file, "file"},
                                                                                         {memory, "memory"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::compression_kind> {
  using enum tern::jetstream::compression_kind;
  static constexpr std::pair<tern::jetstream::compression_kind, std::string_view> words[] = {{none, "none"},
                                                                                             {s2, "s2"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::persist_mode> {
  using enum tern::jetstream::persist_mode;
  static constexpr std::pair<tern::jetstream::persist_mode, std::string_view> words[] = {
      {normal, "default"}, {normal, ""}, {async, "async"}};
};
