#include "jetstream/consumer/consumer_checks.hpp"

#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <limits>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;

constexpr std::size_t name_max = 255;
constexpr std::size_t description_max = 4096;
constexpr std::size_t metadata_max = 128 << 10;
constexpr nanoseconds default_ack_wait = std::chrono::seconds(30);
constexpr nanoseconds default_inactive_threshold = std::chrono::seconds(5);
constexpr nanoseconds default_pin_timeout = std::chrono::minutes(2);
constexpr nanoseconds smallest_heartbeat = std::chrono::milliseconds(100);
constexpr nanoseconds smallest_expires = std::chrono::milliseconds(1);
constexpr nanoseconds flow_control_heartbeat = std::chrono::seconds(1);
constexpr std::int64_t default_max_waiting = 512;
constexpr std::int64_t default_max_ack_pending = 1000;

config_problem problem(jetstream_errc number, std::initializer_list<protocol::placeholder> values = {}) {
  return protocol::make_api_error(number, values);
}

config_problem pedantic_problem(std::string_view reason) {
  return problem(jetstream_errc::pedantic, {{"err", reason}});
}

config_problem invalid_config(std::string_view text) {
  return problem(jetstream_errc::stream_invalid_config, {{"err", text}});
}

// Values that are mended when they are negative, and what pedantic requests are told.
config_problem mend_negatives(consumer_config& config, bool pedantic) {
  const auto mend = [pedantic](auto& value, std::string_view name) -> config_problem {
    using number = std::remove_reference_t<decltype(value)>;
    if (!(value < number{0})) return {};
    if (pedantic) return pedantic_problem(std::string(name).append(" must not be negative"));
    value = number{0};
    return {};
  };
  const auto unlimited = [pedantic](std::int64_t& value, std::string_view name) -> config_problem {
    if (value >= -1) return {};
    if (pedantic) return pedantic_problem(std::string(name).append(" must be set to -1"));
    value = -1;
    return {};
  };
  if (auto bad = unlimited(config.max_deliver, "max_deliver")) return bad;
  if (auto bad = mend(config.max_waiting, "max_waiting")) return bad;
  if (auto bad = unlimited(config.max_ack_pending, "max_ack_pending")) return bad;
  if (auto bad = mend(config.max_batch, "max_batch")) return bad;
  if (auto bad = mend(config.max_expires, "max_expires")) return bad;
  if (auto bad = mend(config.max_bytes, "max_bytes")) return bad;
  if (auto bad = mend(config.idle_heartbeat, "idle_heartbeat")) return bad;
  if (auto bad = mend(config.inactive_threshold, "inactive_threshold")) return bad;
  return mend(config.priority_timeout, "priority_timeout");
}

// The smaller of the limits that are set; 0: none is.
std::int64_t smallest_limit(std::initializer_list<std::int64_t> values) {
  std::int64_t smallest = 0;
  for (const std::int64_t value : values) {
    if (value > 0 && (smallest == 0 || value < smallest)) smallest = value;
  }
  return smallest;
}

config_problem default_ack_pending(consumer_config& config, const consumer_surroundings& around, bool pedantic) {
  if (config.max_ack_pending != 0) return {};
  if (const std::int64_t of_stream = around.stream.consumer_limits.max_ack_pending; of_stream > 0) {
    if (pedantic) return pedantic_problem("max_ack_pending must be set if it's configured in stream limits");
    config.max_ack_pending = of_stream;
  } else if (config.ack_policy != ack_mode::none) {
    const std::int64_t cap = smallest_limit({around.server.max_ack_pending, around.account.max_ack_pending});
    config.max_ack_pending = cap > 0 ? std::min(cap, default_max_ack_pending) : default_max_ack_pending;
  }
  return {};
}

config_problem default_threshold(consumer_config& config, const consumer_surroundings& around, bool pedantic) {
  // An update goes by what the consumer was until now.
  const bool ephemeral = around.present != nullptr ? !around.present->durable() : !config.durable();
  if (config.inactive_threshold != nanoseconds(0)) return {};
  if (const nanoseconds of_stream = around.stream.consumer_limits.inactive_threshold; of_stream > nanoseconds(0)) {
    if (pedantic) return pedantic_problem("inactive_threshold must be set if it's configured in stream limits");
    config.inactive_threshold = of_stream;
  } else if (ephemeral) {
    config.inactive_threshold = default_inactive_threshold;
  }
  return {};
}

bool bad_name_character(char c) {
  return c == '.' || c == '*' || c == '>' || c == '\\' || c == '/' || c == ' ' || c == '\t' || c == '\r' || c == '\n' ||
         c == '\f' || c == '\0';
}

config_problem check_names(const consumer_config& config) {
  const std::string& name = config.name.empty() ? config.durable_name : config.name;
  if (name.find_first_of("/\\") != std::string::npos || config.durable_name.find_first_of("/\\") != std::string::npos) {
    return problem(jetstream_errc::consumer_name_contains_path_separators);
  }
  if (std::any_of(name.begin(), name.end(), bad_name_character)) {
    return invalid_config("consumer name can not contain '.', '*', '>', '\\', '/'");
  }
  if (std::any_of(config.durable_name.begin(), config.durable_name.end(), bad_name_character)) {
    return invalid_config("consumer durable name can not contain '.', '*', '>', '\\', '/'");
  }
  if (name.size() > name_max || config.durable_name.size() > name_max) {
    return problem(jetstream_errc::consumer_name_too_long, {{"max", "255"}});
  }
  return {};
}

std::string_view policy_text(delivery_start policy) {
  switch (policy) {
    case delivery_start::all:
      return "all";
    case delivery_start::last:
      return "last";
    case delivery_start::new_only:
      return "new";
    case delivery_start::by_start_sequence:
      return "by start sequence";
    case delivery_start::by_start_time:
      return "by start time";
    case delivery_start::last_per_subject:
      return "last per subject";
  }
  return {};
}

config_problem check_start(const consumer_config& config) {
  const auto bad = [&](std::string_view rest) {
    std::string text = "consumer delivery policy is deliver ";
    text.append(policy_text(config.deliver_policy)).append(", but optional ").append(rest);
    return problem(jetstream_errc::consumer_invalid_policy, {{"err", text}});
  };
  const bool by_sequence = config.deliver_policy == delivery_start::by_start_sequence;
  const bool by_time = config.deliver_policy == delivery_start::by_start_time;
  if (by_sequence && config.opt_start_seq == 0) return bad("start sequence is not set");
  if (by_time && !config.opt_start_time) return bad("start time is not set");
  if (!by_sequence && config.opt_start_seq > 0) {
    return bad(by_time ? "start start sequence is also set" : "start sequence is also set");
  }
  if (!by_time && config.opt_start_time) return bad("start time is also set");
  if (config.deliver_policy == delivery_start::last_per_subject && config.filters().empty()) {
    return bad("filter subject is not set");
  }
  return {};
}

config_problem check_filters(const consumer_config& config) {
  if (!config.filter_subject.empty() && !config.filter_subjects.empty()) {
    return problem(jetstream_errc::consumer_duplicate_filter_subjects);
  }
  const auto& several = config.filter_subjects;
  for (const std::string& filter : several) {
    if (filter.empty()) return problem(jetstream_errc::consumer_empty_filter);
  }
  for (std::size_t i = 0; i < several.size(); ++i) {
    for (std::size_t j = i + 1; j < several.size(); ++j) {
      if (protocol::is_subset(several[i], several[j]) || protocol::is_subset(several[j], several[i])) {
        return problem(jetstream_errc::consumer_overlapping_subject_filters);
      }
    }
  }
  for (const std::string& filter : config.filters()) {
    if (!protocol::is_valid_config_subject(filter)) return invalid_config("invalid subject");
  }
  return {};
}

config_problem check_push(const consumer_config& config, const consumer_surroundings& around) {
  if (!protocol::is_literal(config.deliver_subject)) return problem(jetstream_errc::consumer_deliver_to_wildcards);
  if (!protocol::is_valid_config_subject(config.deliver_subject)) {
    return problem(jetstream_errc::consumer_invalid_deliver_subject);
  }
  for (const std::string& subject : around.stream.subjects) {
    if (protocol::subject_matches(subject, config.deliver_subject)) {
      return problem(jetstream_errc::consumer_deliver_cycle);
    }
  }
  if (config.max_waiting != 0) return problem(jetstream_errc::consumer_push_max_waiting);
  if (config.max_ack_pending > 0 && config.ack_policy == ack_mode::none) {
    return problem(jetstream_errc::consumer_max_pending_ack_policy_required);
  }
  if (config.idle_heartbeat > nanoseconds(0) && config.idle_heartbeat < smallest_heartbeat) {
    return problem(jetstream_errc::consumer_small_heartbeat);
  }
  return {};
}

config_problem check_pull(const consumer_config& config, const consumer_surroundings& around) {
  if (around.stream.retention == retention_policy::workqueue && config.ack_policy == ack_mode::none) {
    return problem(jetstream_errc::consumer_pull_requires_ack);
  }
  if (config.rate_limit_bps > 0) return problem(jetstream_errc::consumer_pull_with_rate_limit);
  if (config.idle_heartbeat > nanoseconds(0)) return problem(jetstream_errc::consumer_hb_requires_push);
  if (config.flow_control) return problem(jetstream_errc::consumer_fc_requires_push);
  if (config.max_expires > nanoseconds(0) && config.max_expires < smallest_expires) {
    return problem(jetstream_errc::consumer_max_request_expires_too_small);
  }
  if (around.server.max_request_batch > 0 && config.max_batch > around.server.max_request_batch) {
    return problem(jetstream_errc::consumer_max_request_batch_exceeded,
                   {{"limit", std::to_string(around.server.max_request_batch)}});
  }
  return {};
}

config_problem check_replicas(const consumer_config& config, const stream_config& stream) {
  if (config.num_replicas < 0) return problem(jetstream_errc::replicas_count_cannot_be_negative);
  if (config.num_replicas > stream.num_replicas) return problem(jetstream_errc::consumer_replicas_exceeds_stream);
  return {};
}

config_problem check_flow_acks(const consumer_config& config) {
  if (config.ack_policy != ack_mode::flow_control) return {};
  if (!config.push()) return problem(jetstream_errc::consumer_ack_fc_requires_push);
  if (!config.flow_control) return problem(jetstream_errc::consumer_ack_fc_requires_fc);
  if (config.idle_heartbeat != flow_control_heartbeat) {
    return invalid_config("flow control ack policy heartbeat needs to be 1s");
  }
  if (config.max_ack_pending <= 0) return problem(jetstream_errc::consumer_ack_fc_requires_max_ack_pending);
  if (config.ack_wait != nanoseconds(0) || !config.backoff.empty()) {
    return problem(jetstream_errc::consumer_ack_fc_requires_no_ack_wait);
  }
  if (config.max_deliver > 0) return problem(jetstream_errc::consumer_ack_fc_requires_no_max_deliver);
  return {};
}

config_problem check_limits(const consumer_config& config, const consumer_surroundings& around) {
  if (config.max_ack_pending > 0) {
    const std::int64_t cap = smallest_limit(
        {around.server.max_ack_pending, around.account.max_ack_pending, around.stream.consumer_limits.max_ack_pending});
    if (cap > 0 && config.max_ack_pending > cap) {
      return problem(jetstream_errc::consumer_max_pending_ack_excess, {{"limit", std::to_string(cap)}});
    }
  }
  const nanoseconds threshold_cap = around.stream.consumer_limits.inactive_threshold;
  if (threshold_cap > nanoseconds(0) && config.inactive_threshold > threshold_cap) {
    return problem(jetstream_errc::consumer_inactive_threshold_excess, {{"limit", to_go_duration(threshold_cap)}});
  }
  return {};
}

config_problem check_metadata(const consumer_config& config) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : config.metadata) bytes += key.size() + value.size();
  if (bytes > metadata_max) return problem(jetstream_errc::consumer_metadata_length, {{"limit", "128KB"}});
  return {};
}

config_problem check_priority(const consumer_config& config) {
  if (config.priority_policy == priority_mode::none) {
    if (!config.priority_groups.empty()) return problem(jetstream_errc::consumer_priority_group_with_policy_none);
    if (config.priority_timeout != nanoseconds(0)) {
      return problem(jetstream_errc::consumer_pinned_ttl_without_priority_policy_none);
    }
    return {};
  }
  if (config.push()) return problem(jetstream_errc::consumer_push_with_priority_group);
  if (config.priority_groups.empty()) return problem(jetstream_errc::consumer_priority_policy_without_group);
  for (const std::string& group : config.priority_groups) {
    if (group.empty()) return problem(jetstream_errc::consumer_empty_group_name);
    if (!is_valid_priority_group(group)) return problem(jetstream_errc::consumer_invalid_group_name);
  }
  return {};
}

config_problem check_waits(const consumer_config& config) {
  for (const nanoseconds wait : config.backoff) {
    if (wait < nanoseconds(0)) return problem(jetstream_errc::consumer_back_off_negative);
  }
  if (config.ack_wait < nanoseconds(0)) return problem(jetstream_errc::consumer_ack_wait_negative);
  return {};
}

config_problem check_texts(const consumer_config& config) {
  if (!config.backoff.empty() && config.max_deliver != -1 &&
      static_cast<std::int64_t>(config.backoff.size()) > config.max_deliver) {
    return problem(jetstream_errc::consumer_max_deliver_backoff);
  }
  if (config.description.size() > description_max) {
    return problem(jetstream_errc::consumer_description_too_long, {{"max", "4096"}});
  }
  return {};
}

}  // namespace

bool is_valid_priority_group(std::string_view name) {
  if (name.empty() || name.size() > 16) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '=' || c == '-';
  });
}

result<int> parse_sample_frequency(std::string_view text) {
  if (text.empty()) return 0;
  if (text.ends_with('%')) text.remove_suffix(1);
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto value = parse_decimal(digits);
  if (!value && digits.size() > 1 && digits.front() == '-' && parse_decimal(digits.substr(1)))
    return fail(errc::invalid_argument, "<nil>");  // the peer's word for a number below zero
  if (!value)
    return fail(errc::invalid_argument, std::string("strconv.Atoi: parsing \"").append(text) + "\": invalid syntax");
  return static_cast<int>(std::min<std::uint64_t>(*value, std::numeric_limits<int>::max()));
}

config_problem apply_consumer_defaults(consumer_config& config, const consumer_surroundings& around, bool pedantic) {
  if (config.num_replicas > 1) return problem(jetstream_errc::stream_replicas_not_supported);
  if (auto bad = mend_negatives(config, pedantic)) return bad;
  if (config.max_deliver == 0) config.max_deliver = -1;
  if (config.filter_subjects.empty()) config.filter_subjects = {};
  if (!config.push() && config.max_waiting == 0) config.max_waiting = default_max_waiting;
  if (pedantic && !config.backoff.empty() && config.backoff.front() != config.ack_wait) {
    return pedantic_problem("first backoff value has to equal batch AckWait");
  }
  const bool acks_by_flow = config.ack_policy == ack_mode::flow_control;
  if (acks_by_flow && config.push() && !pedantic) {
    config.flow_control = true;
    config.idle_heartbeat = flow_control_heartbeat;
  }
  if (config.ack_wait == nanoseconds(0) &&
      (config.ack_policy == ack_mode::explicit_each || config.ack_policy == ack_mode::all)) {
    config.ack_wait = default_ack_wait;
    if (!config.backoff.empty()) config.ack_wait = config.backoff.front();
  }
  if (!config.backoff.empty() && config.backoff.front() >= nanoseconds(0) &&
      config.ack_wait != config.backoff.front()) {
    config.ack_wait = config.backoff.front();
  }
  if (auto bad = default_ack_pending(config, around, pedantic)) return bad;
  if (!config.push() && config.max_batch == 0 && around.server.max_request_batch > 0) {
    if (pedantic) return pedantic_problem("max_request_batch must be set if it's JetStream limits are set");
    config.max_batch = around.server.max_request_batch;
  }
  if (auto bad = default_threshold(config, around, pedantic)) return bad;
  if (config.priority_policy == priority_mode::pinned_client && config.priority_timeout == nanoseconds(0)) {
    config.priority_timeout = default_pin_timeout;
  }
  return {};
}

// In the peer's order, so that of several faults the same one is told.
config_problem check_consumer(const consumer_config& config, const consumer_surroundings& around) {
  if (auto bad = check_names(config)) return bad;
  if (auto bad = check_replicas(config, around.stream)) return bad;
  if (auto bad = check_waits(config)) return bad;
  if (auto bad = check_flow_acks(config)) return bad;
  if (auto bad = check_texts(config)) return bad;
  if (auto bad = config.push() ? check_push(config, around) : check_pull(config, around)) return bad;
  if (auto bad = check_limits(config, around)) return bad;
  if (config.direct && !config.push()) return problem(jetstream_errc::consumer_direct_requires_push);
  if (config.direct && config.durable()) return problem(jetstream_errc::consumer_direct_requires_ephemeral);
  if (auto bad = check_filters(config)) return bad;
  if (auto bad = check_start(config)) return bad;
  if (const auto sample = parse_sample_frequency(config.sample_freq); !sample) {
    return problem(jetstream_errc::consumer_invalid_sampling, {{"err", sample.error().context()}});
  }
  if (config.flow_control && config.idle_heartbeat == nanoseconds(0)) {
    return problem(jetstream_errc::consumer_with_flow_control_needs_heartbeats);
  }
  if (auto bad = check_metadata(config)) return bad;
  return check_priority(config);
}

config_problem check_consumer_of_work_queue(const consumer_config& config) {
  if (config.ack_policy != ack_mode::explicit_each && config.ack_policy != ack_mode::flow_control)
    return problem(jetstream_errc::consumer_wq_requires_explicit_ack);
  if (config.deliver_policy != delivery_start::all) {
    return problem(jetstream_errc::consumer_wq_consumer_not_deliver_all);
  }
  return {};
}

config_problem check_consumer_update(const consumer_config& present, const consumer_config& wanted) {
  const auto bad = [](std::string_view text) { return problem(jetstream_errc::consumer_create, {{"err", text}}); };
  if (present.deliver_policy != wanted.deliver_policy) return bad("deliver policy can not be updated");
  if (present.mem_storage != wanted.mem_storage) return bad("storage type can not be updated");
  if (present.direct != wanted.direct) return bad("direct can not be updated");
  if (present.sourcing != wanted.sourcing) return bad("sourcing can not be updated");
  if (present.opt_start_seq != wanted.opt_start_seq) return bad("start sequence can not be updated");
  if (present.opt_start_time != wanted.opt_start_time) return bad("start time can not be updated");
  if (present.ack_policy != wanted.ack_policy) return bad("ack policy can not be updated");
  if (present.replay_policy != wanted.replay_policy) return bad("replay policy can not be updated");
  if (present.idle_heartbeat != wanted.idle_heartbeat) return bad("heart beats can not be updated");
  if (present.flow_control != wanted.flow_control) return bad("flow control can not be updated");
  if (present.push() && !wanted.push()) return bad("can not update push consumer to pull based");
  if (!present.push() && wanted.push()) return bad("can not update pull consumer to push based");
  if (!wanted.push() && present.max_waiting != wanted.max_waiting) return bad("max waiting can not be updated");
  return {};
}

void stamp_consumer_metadata(consumer_config& config) {
  config.metadata.erase("_nats.ver");
  config.metadata.erase("_nats.level");
  const char* level = "0";
  if (config.pause_until || config.priority_policy != priority_mode::none) level = "1";
  // A zero time asks for nothing.
  if (config.pause_until && config.pause_until->text.starts_with("0001-01-01T00:00:00") &&
      config.priority_policy == priority_mode::none) {
    level = "0";
  }
  if (config.ack_policy == ack_mode::flow_control) level = "4";
  config.metadata["_nats.req.level"] = level;
}

consumer_config comparable(consumer_config config) {
  config.metadata.erase("_nats.req.level");
  config.metadata.erase("_nats.ver");
  config.metadata.erase("_nats.level");
  config.pause_until.reset();
  return config;
}

}  // namespace tern::jetstream
