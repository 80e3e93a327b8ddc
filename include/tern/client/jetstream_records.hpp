/// The records of the JetStream API: configurations of streams and consumers, and what the server tells about them.
///
///     stream_config orders;
///     orders.name = "ORDERS";
///     orders.subjects = {"orders.>"};
///     orders.max_age = std::chrono::hours(24);
///     auto created = js.create_stream(orders).get();
///
/// Plain aggregates. An absent optional is not sent, so the server's default holds. Durations are nanoseconds on the
/// wire, times RFC 3339. What a newer server adds is ignored. Pass records to co_await expressions by name
/// (coroutine_guard.hpp). Thread safety: plain values. Source: jetstream 2, 3, 5.2, 8, 11.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tern/base/time.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::client {

enum class retention_policy { limits, interest, workqueue };
enum class discard_policy { old_messages, new_messages };
enum class storage_type { file, memory };
enum class store_compression { none, s2 };
enum class deliver_policy { all, last, new_messages, by_start_sequence, by_start_time, last_per_subject };
enum class ack_policy { none, all, explicit_ack, flow_control };
enum class replay_policy { instant, original };
enum class priority_policy { none, overflow, pinned_client, prioritized };

struct placement {
  std::optional<std::string> cluster;
  std::vector<std::string> tags;
  std::optional<std::string> preferred;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct subject_transform {
  std::string src;
  std::string dest;
};

struct external_stream {
  std::string api;
  std::string deliver;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct stream_source {
  std::string name;
  std::optional<std::uint64_t> opt_start_seq;
  std::optional<time_point> opt_start_time;
  std::optional<std::string> filter_subject;
  std::vector<subject_transform> subject_transforms;
  std::optional<external_stream> external;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct republish {
  std::optional<std::string> src;
  std::string dest;
  std::optional<bool> headers_only;
};

struct consumer_limits {
  std::optional<nanoseconds> inactive_threshold;
  std::optional<std::int64_t> max_ack_pending;
};

struct stream_config {
  std::string name;
  std::vector<std::string> subjects;
  std::optional<std::string> description;
  std::optional<retention_policy> retention;  ///< Default limits.
  std::optional<std::int64_t> max_consumers;  ///< -1: no limit, as for all of these.
  std::optional<std::int64_t> max_msgs;
  std::optional<std::int64_t> max_bytes;
  std::optional<nanoseconds> max_age;
  std::optional<std::int64_t> max_msgs_per_subject;
  std::optional<std::int32_t> max_msg_size;
  std::optional<discard_policy> discard;  ///< Default old_messages.
  std::optional<bool> discard_new_per_subject;
  std::optional<storage_type> storage;  ///< Default file.
  std::optional<int> num_replicas;      ///< Default 1.
  std::optional<bool> no_ack;
  std::optional<nanoseconds> duplicate_window;  ///< Default 2 min.
  std::optional<client::placement> placement;
  std::optional<stream_source> mirror;
  std::vector<stream_source> sources;
  std::optional<store_compression> compression;
  std::optional<std::uint64_t> first_seq;
  std::optional<client::subject_transform> subject_transform;
  std::optional<client::republish> republish;
  std::optional<bool> allow_direct;
  std::optional<bool> mirror_direct;
  std::optional<bool> sealed;
  std::optional<bool> deny_delete;
  std::optional<bool> deny_purge;
  std::optional<bool> allow_rollup_hdrs;
  std::optional<client::consumer_limits> consumer_limits;
  std::optional<bool> allow_msg_ttl;
  std::optional<nanoseconds> subject_delete_marker_ttl;
  std::optional<bool> allow_msg_counter;
  std::optional<bool> allow_atomic;
  std::optional<bool> allow_msg_schedules;
  std::optional<bool> allow_batched;
  std::optional<std::string> persist_mode;
  std::map<std::string, std::string> metadata;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct stream_state {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_seq = 0;
  std::optional<time_point> first_ts;
  std::uint64_t last_seq = 0;
  std::optional<time_point> last_ts;
  std::int64_t consumer_count = 0;
  std::uint64_t num_subjects = 0;
  std::uint64_t num_deleted = 0;
  std::vector<std::uint64_t> deleted;
  std::map<std::string, std::uint64_t> subjects;  ///< With stream_info_options::subjects_filter.
};

/// How far a mirror or source has come.
struct stream_source_info {
  std::string name;
  std::optional<std::string> filter_subject;
  std::vector<subject_transform> subject_transforms;
  std::optional<external_stream> external;
  std::uint64_t lag = 0;
  std::optional<std::int64_t> active;  ///< Nanoseconds since it was heard of; -1: never.
};

struct cluster_info {
  std::string name;
  std::string leader;
};

/// Another stream with the same messages, a mirror, for reading.
struct stream_alternate {
  std::string name;
  std::string cluster;
  std::string domain;
};

struct stream_info {
  stream_config config;
  std::optional<time_point> created;
  stream_state state;
  std::string domain;
  std::optional<cluster_info> cluster;
  std::optional<stream_source_info> mirror;
  std::vector<stream_source_info> sources;
  std::vector<stream_alternate> alternates;
};

struct consumer_config {
  std::optional<std::string> name;  ///< Without durable_name: a named ephemeral.
  std::optional<std::string> durable_name;
  std::optional<std::string> description;
  client::deliver_policy deliver_policy = client::deliver_policy::all;
  std::optional<std::uint64_t> opt_start_seq;
  std::optional<time_point> opt_start_time;
  client::ack_policy ack_policy = client::ack_policy::explicit_ack;  ///< The wire's own default is none.
  std::optional<nanoseconds> ack_wait;                               ///< Default 30 s.
  std::optional<std::int64_t> max_deliver;                           ///< Default -1: no limit.
  std::vector<nanoseconds> backoff;
  std::optional<std::string> filter_subject;
  std::vector<std::string> filter_subjects;
  client::replay_policy replay_policy = client::replay_policy::instant;
  std::optional<std::uint64_t> rate_limit_bps;
  std::optional<std::string> sample_freq;
  std::optional<std::int64_t> max_waiting;      ///< Default 512 pull requests.
  std::optional<std::int64_t> max_ack_pending;  ///< Default 1000.
  std::optional<bool> flow_control;
  std::optional<nanoseconds> idle_heartbeat;
  std::optional<bool> headers_only;
  std::optional<std::int64_t> max_batch;
  std::optional<nanoseconds> max_expires;
  std::optional<std::int64_t> max_bytes;
  std::optional<std::string> deliver_subject;  ///< Set: a push consumer.
  std::optional<std::string> deliver_group;
  std::optional<nanoseconds> inactive_threshold;  ///< Default 5 s for ephemerals, never for durables.
  std::optional<int> num_replicas;
  std::optional<bool> mem_storage;
  std::optional<time_point> pause_until;
  std::vector<std::string> priority_groups;
  std::optional<client::priority_policy> priority_policy;
  std::optional<nanoseconds> priority_timeout;
  std::map<std::string, std::string> metadata;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {
      {"deliver_policy", {}}, {"ack_policy", {}}, {"replay_policy", {}}};
};

struct sequence_pair {
  std::uint64_t consumer_seq = 0;
  std::uint64_t stream_seq = 0;
  std::optional<time_point> last_active;
};

/// Who is served by a priority group with the policy pinned_client.
struct priority_group_state {
  std::string group;
  std::optional<std::string> pinned_client_id;
  std::optional<time_point> pinned_ts;
};

struct consumer_info {
  std::string stream_name;
  std::string name;
  std::optional<time_point> created;
  consumer_config config;
  sequence_pair delivered;
  sequence_pair ack_floor;
  std::int64_t num_ack_pending = 0;
  std::int64_t num_redelivered = 0;
  std::int64_t num_waiting = 0;
  std::uint64_t num_pending = 0;
  bool push_bound = false;
  bool paused = false;
  std::optional<nanoseconds> pause_remaining;
  std::vector<priority_group_state> priority_groups;
};

/// What CONSUMER.PAUSE answers.
struct pause_state {
  bool paused = false;
  std::optional<time_point> pause_until;
  std::optional<nanoseconds> pause_remaining;
};

struct account_limits {
  std::int64_t max_memory = -1;
  std::int64_t max_storage = -1;
  std::int64_t max_streams = -1;
  std::int64_t max_consumers = -1;
};

struct account_api {
  int level = 0;
  std::uint64_t total = 0;
  std::uint64_t errors = 0;
};

struct account_info {
  std::uint64_t memory = 0;
  std::uint64_t storage = 0;
  std::int64_t streams = 0;
  std::int64_t consumers = 0;
  std::string domain;
  account_limits limits;
  account_api api;
};

/// The stream's promise that it has the message.
struct pub_ack {
  std::string stream;
  std::uint64_t seq = 0;
  bool duplicate = false;  ///< The message id was known: `seq` is that of the first one.
  std::string domain;
  std::optional<std::string> val;  ///< The total of a counter.
  std::string batch;               ///< Of a batch: its id, and how many messages it had.
  std::uint64_t count = 0;
};

/// What STREAM.MSG.GET and direct get answer.
struct stored_message {
  std::string subject;
  std::uint64_t seq = 0;
  time_point time{};
  std::string header_block;
  std::string payload;
};

struct stream_info_options {
  std::optional<bool> deleted_details;
  std::optional<std::string> subjects_filter;
};

/// Nothing set: all messages go.
struct purge_options {
  std::optional<std::string> filter;
  std::optional<std::uint64_t> seq;   ///< Messages below it.
  std::optional<std::uint64_t> keep;  ///< All but the newest so many.
};

/// Which stored message: by sequence, the last of a subject, or the next of a subject from a sequence on.
struct message_query {
  std::optional<std::uint64_t> seq;
  std::optional<std::string> last_by_subj;
  std::optional<std::string> next_by_subj;
  std::optional<time_point> start_time;
};

/// Several stored messages in order, of a stream with allow_direct (jetstream 8.2). Where to begin: a sequence or a
/// time, else sequence 1.
struct batch_query {
  std::uint64_t batch = 100;  ///< At most so many.
  std::optional<std::uint64_t> seq;
  std::optional<time_point> start_time;
  std::optional<std::string> next_by_subj;  ///< Wildcards are fine.
  std::optional<std::uint64_t> max_bytes;
};

/// The last message of every matching subject, at most 1024 of them (jetstream 8.2).
struct last_messages_query {
  std::vector<std::string> multi_last;
  std::optional<std::uint64_t> up_to_seq;
  std::optional<time_point> up_to_time;
  std::optional<std::uint64_t> batch;
  std::optional<std::uint64_t> seq;  ///< Only those from it on, to go on after a batch.
};

}  // namespace tern::client

template <>
struct tern::codec::enum_words<tern::client::retention_policy> {
  using enum tern::client::retention_policy;
  static constexpr std::pair<tern::client::retention_policy, std::string_view> words[] = {
      {limits, "limits"}, {interest, "interest"}, {workqueue, "workqueue"}};
};
template <>
struct tern::codec::enum_words<tern::client::discard_policy> {
  using enum tern::client::discard_policy;
  static constexpr std::pair<tern::client::discard_policy, std::string_view> words[] = {{old_messages, "old"},
                                                                                        {new_messages, "new"}};
};
template <>
struct tern::codec::enum_words<tern::client::storage_type> {
  using enum tern::client::storage_type;
  static constexpr std::pair<tern::client::storage_type, std::string_view> words[] = {{file, "file"},
                                                                                      {memory, "memory"}};
};
template <>
struct tern::codec::enum_words<tern::client::store_compression> {
  using enum tern::client::store_compression;
  static constexpr std::pair<tern::client::store_compression, std::string_view> words[] = {{none, "none"}, {s2, "s2"}};
};
template <>
struct tern::codec::enum_words<tern::client::deliver_policy> {
  using enum tern::client::deliver_policy;
  static constexpr std::pair<tern::client::deliver_policy, std::string_view> words[] = {
      {all, "all"},
      {last, "last"},
      {new_messages, "new"},
      {by_start_sequence, "by_start_sequence"},
      {by_start_time, "by_start_time"},
      {last_per_subject, "last_per_subject"}};
};
template <>
struct tern::codec::enum_words<tern::client::ack_policy> {
  using enum tern::client::ack_policy;
  static constexpr std::pair<tern::client::ack_policy, std::string_view> words[] = {
      {none, "none"}, {all, "all"}, {explicit_ack, "explicit"}, {flow_control, "flow_control"}};
};
template <>
struct tern::codec::enum_words<tern::client::replay_policy> {
  using enum tern::client::replay_policy;
  static constexpr std::pair<tern::client::replay_policy, std::string_view> words[] = {{instant, "instant"},
                                                                                       {original, "original"}};
};
template <>
struct tern::codec::enum_words<tern::client::priority_policy> {
  using enum tern::client::priority_policy;
  static constexpr std::pair<tern::client::priority_policy, std::string_view> words[] = {
      {none, "none"}, {overflow, "overflow"}, {pinned_client, "pinned_client"}, {prioritized, "prioritized"}};
};
