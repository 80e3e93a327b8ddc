// A consumer's configuration: every field of jetstream 11, as API, store and monitoring know it. Member names are the
// JSON names; the order is the one in which answers list them.
#pragma once

#include <tern/base/time.hpp>
#include <tern/codec/json.hpp>
#include <tern/codec/reflect.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::jetstream {

enum class delivery_start : std::uint8_t { all, last, new_only, by_start_sequence, by_start_time, last_per_subject };
enum class ack_mode : std::uint8_t { none, all, explicit_each, flow_control };
enum class replay_mode : std::uint8_t { instant, original };
enum class priority_mode : std::uint8_t { none, overflow, pinned_client, prioritized };

// An RFC 3339 time that is echoed with the zone it was given in and compared as an instant.
struct zoned_time {
  std::string text;  // as Go prints it: no trailing zeros in the fraction
  time_point at{};

  friend bool operator==(const zoned_time& left, const zoned_time& right) { return left.at == right.at; }
};
result<zoned_time> parse_zoned_time(std::string_view text);

// A plain value. Zero and empty mean "not given"; consumer_checks.hpp fills in the defaults, and a running consumer's
// config holds `_nats.req.level` in its metadata but neither `_nats.ver` nor `_nats.level` (1.7).
struct consumer_config {
  std::string durable_name;
  std::string name;
  std::string description;
  delivery_start deliver_policy = delivery_start::all;
  std::uint64_t opt_start_seq = 0;
  std::optional<zoned_time> opt_start_time;
  ack_mode ack_policy = ack_mode::none;
  nanoseconds ack_wait{0};
  std::int64_t max_deliver = 0;
  std::vector<nanoseconds> backoff;
  std::string filter_subject;
  std::vector<std::string> filter_subjects;
  replay_mode replay_policy = replay_mode::instant;
  std::uint64_t rate_limit_bps = 0;
  std::string sample_freq;
  std::int64_t max_waiting = 0;
  std::int64_t max_ack_pending = 0;
  bool flow_control = false;
  bool headers_only = false;
  std::int64_t max_batch = 0;
  nanoseconds max_expires{0};
  std::int64_t max_bytes = 0;
  std::string deliver_subject;
  std::string deliver_group;
  nanoseconds idle_heartbeat{0};
  nanoseconds inactive_threshold{0};
  std::int64_t num_replicas = 0;
  bool mem_storage = false;
  bool direct = false;
  bool sourcing = false;
  std::map<std::string, std::string> metadata;
  std::optional<zoned_time> pause_until;
  std::vector<std::string> priority_groups;
  priority_mode priority_policy = priority_mode::none;
  nanoseconds priority_timeout{0};

  bool push() const { return !deliver_subject.empty(); }
  bool durable() const { return !durable_name.empty(); }
  // Both kinds of filters as one list; empty: everything.
  std::vector<std::string> filters() const;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  // What Appendix A of jetstream lists as always present.
  static constexpr codec::member_option json_members[] = {
      {"deliver_policy", {.omit = codec::omit_when::never}},
      {"ack_policy", {.omit = codec::omit_when::never}},
      {"replay_policy", {.omit = codec::omit_when::never}},
      {"num_replicas", {.omit = codec::omit_when::never}},
      {"priority_policy", {.omit = codec::omit_when::default_value}},
  };
  friend bool operator==(const consumer_config&, const consumer_config&) = default;
};

enum class create_action : std::uint8_t { create_or_update, create, update };

// The body of CONSUMER.CREATE and CONSUMER.DURABLE.CREATE.
struct consumer_create_request {
  std::string stream_name;
  consumer_config config;
  create_action action = create_action::create_or_update;
  bool pedantic = false;
};

}  // namespace tern::jetstream

template <>
struct tern::codec::enum_words<tern::jetstream::delivery_start> {
  using enum tern::jetstream::delivery_start;
  static constexpr std::pair<tern::jetstream::delivery_start, std::string_view> words[] = {
      {all, "all"},
      {all, "undefined"},
      {last, "last"},
      {new_only, "new"},
      {by_start_sequence, "by_start_sequence"},
      {by_start_time, "by_start_time"},
      {last_per_subject, "last_per_subject"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::ack_mode> {
  using enum tern::jetstream::ack_mode;
  static constexpr std::pair<tern::jetstream::ack_mode, std::string_view> words[] = {
      {none, "none"}, {all, "all"}, {explicit_each, "explicit"}, {flow_control, "flow_control"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::replay_mode> {
  using enum tern::jetstream::replay_mode;
  static constexpr std::pair<tern::jetstream::replay_mode, std::string_view> words[] = {{instant, "instant"},
                                                                                        {original, "original"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::priority_mode> {
  using enum tern::jetstream::priority_mode;
  static constexpr std::pair<tern::jetstream::priority_mode, std::string_view> words[] = {
      {none, "none"}, {overflow, "overflow"}, {pinned_client, "pinned_client"}, {prioritized, "prioritized"}};
};

template <>
struct tern::codec::enum_words<tern::jetstream::create_action> {
  using enum tern::jetstream::create_action;
  static constexpr std::pair<tern::jetstream::create_action, std::string_view> words[] = {
      {create_or_update, ""}, {create, "create"}, {update, "update"}};
};

template <>
struct tern::codec::custom_json<tern::jetstream::zoned_time> {
  static bool read(json_reader& reader, tern::jetstream::zoned_time& value);
  static void write(std::string& out, const tern::jetstream::zoned_time& value);
};
