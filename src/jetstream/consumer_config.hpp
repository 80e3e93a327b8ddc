// A consumer's configuration: every field of jetstream 11, as it stands on the wire and in the store.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

enum class delivery_start { all, last, new_only, by_start_sequence, by_start_time, last_per_subject };
enum class ack_mode { none, all, explicit_each, flow_control };
enum class replay_mode { instant, original };
enum class priority_mode { none, overflow, pinned_client, prioritized };

// The words of the wire (`by_start_sequence`, `explicit`, ...).
std::string_view to_word(delivery_start value);
std::string_view to_word(ack_mode value);
std::string_view to_word(replay_mode value);
std::string_view to_word(priority_mode value);

// An RFC 3339 time that is echoed with the zone it was given in and compared as an instant.
struct zoned_time {
  std::string text;  // as Go prints it: no trailing zeros in the fraction
  time_point at;
  friend bool operator==(const zoned_time& a, const zoned_time& b) { return a.at == b.at; }
};
result<zoned_time> parse_zoned_time(std::string_view text);

// Zero and empty mean "not given" unless a comment says otherwise; apply_consumer_defaults() fills them in.
struct consumer_config {
  std::string durable_name;
  std::string name;
  std::string description;
  delivery_start deliver_policy = delivery_start::all;
  std::uint64_t opt_start_seq = 0;
  bool has_opt_start_time = false;
  zoned_time opt_start_time;
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
  bool has_pause_until = false;
  zoned_time pause_until;
  std::vector<std::string> priority_groups;
  priority_mode priority_policy = priority_mode::none;
  nanoseconds priority_timeout{0};

  bool push() const { return !deliver_subject.empty(); }
  bool durable() const { return !durable_name.empty(); }
  // The filters as one list; empty: everything.
  std::vector<std::string> filters() const;

  friend bool operator==(const consumer_config&, const consumer_config&) = default;
};

// Appends the config as JSON; zero values are left out but for those that Appendix A always shows.
void append_json(std::string& out, const consumer_config& config);

// The whole body of a create request.
struct consumer_create_request {
  enum class action_kind { create_or_update, create, update };
  std::string stream_name;
  consumer_config config;
  action_kind action = action_kind::create_or_update;
  bool pedantic = false;
};
// The error's context is what follows `invalid JSON: ` in err 10025.
result<consumer_create_request> parse_consumer_create(std::string_view body, bool strict);
// What append_json() wrote, as it is kept in the store.
result<consumer_config> parse_consumer_config(std::string_view json, bool strict);

}  // namespace tern::jetstream
