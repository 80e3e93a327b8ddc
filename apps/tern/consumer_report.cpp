#include "consumer_report.hpp"

#include "base/go_duration.hpp"
#include "text.hpp"

#include <tern/codec/reflect.hpp>

#include <algorithm>

namespace tern::command {
namespace {

std::string count_text(std::int64_t value) {
  return with_thousands(static_cast<std::uint64_t>(std::max<std::int64_t>(0, value)));
}

std::string position_text(const client::sequence_pair& at) {
  return "Consumer sequence: " + with_thousands(at.consumer_seq) + " Stream sequence: " + with_thousands(at.stream_seq);
}

std::string deliver_text(const client::consumer_config& config) {
  if (config.opt_start_seq) return "from sequence " + with_thousands(*config.opt_start_seq);
  if (config.opt_start_time) return "since " + to_rfc3339(*config.opt_start_time);
  return std::string(codec::to_word(config.deliver_policy));
}

void add_filters(field_list& out, const client::consumer_config& config) {
  if (config.filter_subject && !config.filter_subject->empty()) out.field("Filter Subject", *config.filter_subject);
  if (config.filter_subjects.empty()) return;
  std::string all;
  for (const auto& one : config.filter_subjects) all.append(all.empty() ? "" : ", ").append(one);
  out.field("Filter Subjects", all);
}

void add_configuration(field_list& out, const client::consumer_config& config, std::string_view name) {
  out.section("Configuration");
  out.field("Name", std::string(name));
  if (config.description && !config.description->empty()) out.field("Description", *config.description);
  out.field("Durable", config.durable_name.has_value());
  if (config.deliver_subject)
    out.field("Delivery Subject", *config.deliver_subject);
  else
    out.field("Pull Mode", true);
  if (config.deliver_group) out.field("Delivery Group", *config.deliver_group);
  add_filters(out, config);
  out.field("Deliver Policy", deliver_text(config));
  out.field("Ack Policy", std::string(codec::to_word(config.ack_policy)));
  if (config.ack_wait && config.ack_policy != client::ack_policy::none)
    out.field("Ack Wait", to_go_duration(*config.ack_wait));
  out.field("Replay Policy", std::string(codec::to_word(config.replay_policy)));
  if (config.max_deliver.value_or(-1) > 0) out.field("Maximum Deliveries", count_text(*config.max_deliver));
  if (config.max_ack_pending.value_or(0) > 0) out.field("Max Ack Pending", count_text(*config.max_ack_pending));
  if (config.max_waiting.value_or(0) > 0) out.field("Max Waiting Pulls", count_text(*config.max_waiting));
  if (config.inactive_threshold && config.inactive_threshold->count() > 0)
    out.field("Inactive Threshold", to_go_duration(*config.inactive_threshold));
  if (config.headers_only.value_or(false)) out.field("Headers Only", true);
  if (config.backoff.empty()) return;
  std::string steps;
  for (const auto step : config.backoff) steps.append(steps.empty() ? "" : ", ").append(to_go_duration(step));
  out.field("Backoff", steps);
}

}  // namespace

std::string describe_consumer(const client::consumer_info& consumer) {
  const client::consumer_config& config = consumer.config;
  field_list out;
  add_configuration(out, config, consumer.name);
  out.section("State");
  out.field("Last Delivered Message", position_text(consumer.delivered));
  const bool acks = config.ack_policy != client::ack_policy::none;
  if (acks) {
    out.field("Acknowledgment Floor", position_text(consumer.ack_floor));
    const auto most = config.max_ack_pending.value_or(0);
    out.field("Outstanding Acks",
              count_text(consumer.num_ack_pending) + (most > 0 ? " out of maximum " + count_text(most) : ""));
    out.field("Redelivered Messages", count_text(consumer.num_redelivered));
  }
  out.field("Unprocessed Messages", with_thousands(consumer.num_pending));
  if (config.deliver_subject)
    out.field("Active Interest", consumer.push_bound ? "yes" : "no interest");
  else
    out.field("Waiting Pulls", count_text(consumer.num_waiting));
  if (consumer.paused) {
    out.field("Paused", consumer.pause_remaining ? "for another " + short_duration(*consumer.pause_remaining) : "yes");
  }
  const bool known = consumer.created && consumer.created->time_since_epoch().count() > 0;
  return "Information for Consumer " + consumer.stream_name + " > " + consumer.name +
         (known ? " created " + day_and_time(*consumer.created) : "") + "\n\n" + out.text();
}

std::string describe_consumers(std::vector<client::consumer_info> consumers, time_point now) {
  std::ranges::sort(consumers, {}, &client::consumer_info::name);
  table out;
  out.column("NAME");
  out.column("MODE");
  out.column("CREATED");
  out.column("ACK PENDING", table::alignment::right);
  out.column("UNPROCESSED", table::alignment::right);
  out.column("LAST DELIVERY");
  for (const auto& one : consumers) {
    const auto& last = one.delivered.last_active;
    out.row({one.name, one.config.deliver_subject ? "push" : "pull", one.created ? day_and_time(*one.created) : "",
             count_text(one.num_ack_pending), with_thousands(one.num_pending),
             last && last->time_since_epoch().count() > 0 ? short_duration(now - *last) + " ago" : "never"});
  }
  return out.text();
}

}  // namespace tern::command
