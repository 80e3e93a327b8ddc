// The advisories and metrics of one consumer (jetstream 19). Each is built only when somebody listens.
#include "jetstream/advisory.hpp"
#include "jetstream/consumer/consumer.hpp"

namespace tern::jetstream {
namespace {

std::string type_of_event(std::string_view name) { return std::string("io.nats.jetstream.advisory.v1.").append(name); }

constexpr std::string_view zero_time = "0001-01-01T00:00:00Z";

}  // namespace

std::string consumer::event_subject(std::string_view what) const {
  std::string subject("CONSUMER.");
  return subject.append(what).append(".").append(owner_.stream().config().name).append(".").append(name_);
}

void consumer::tell_max_deliveries(storage::sequence number, std::uint64_t deliveries) {
  const std::string subject = event_subject("MAX_DELIVERIES");
  if (!wants_advisory(account(), subject)) return;
  advisory event(around(), type_of_event("max_deliver"));
  event.add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("stream_seq", number).add("deliveries", deliveries);
  owner_.stream().advise(subject, std::move(event).finish());
}

void consumer::tell_nak(const ack_numbers& numbers) {
  const std::string subject = event_subject("MSG_NAKED");
  if (!wants_advisory(account(), subject)) return;
  advisory event(around(), type_of_event("nak"));
  event.add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("consumer_seq", numbers.consumer_sequence).add("stream_seq", numbers.stream_sequence);
  event.add("deliveries", numbers.deliveries);
  owner_.stream().advise(subject, std::move(event).finish());
}

void consumer::tell_terminated(const ack_numbers& numbers, std::string_view reason) {
  const std::string subject = event_subject("MSG_TERMINATED");
  if (!wants_advisory(account(), subject)) return;
  advisory event(around(), type_of_event("terminated"));
  event.add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("consumer_seq", numbers.consumer_sequence).add("stream_seq", numbers.stream_sequence);
  event.add("deliveries", numbers.deliveries);
  if (!reason.empty()) event.add("reason", reason);
  owner_.stream().advise(subject, std::move(event).finish());
}

void consumer::tell_paused() {
  const std::string subject = event_subject("PAUSE");
  if (!wants_advisory(account(), subject)) return;
  advisory event(around(), type_of_event("consumer_pause"));
  event.add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("paused", paused());
  std::string until(zero_time);
  if (config_.pause_until && config_.pause_until->at > time_point{}) until = to_rfc3339(config_.pause_until->at);
  event.add("pause_until", until);
  owner_.stream().advise(subject, std::move(event).finish());
}

void consumer::tell_pin(std::string_view what, std::string_view type, std::string_view extra_key,
                        std::string_view extra) {
  const std::string subject = event_subject(what);
  if (!wants_advisory(account(), subject)) return;
  advisory event(around(), type_of_event(type));
  event.add("account", account().name()).add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("group", config_.priority_groups.empty() ? std::string_view() : config_.priority_groups.front());
  event.add(extra_key, extra);
  owner_.stream().advise(subject, std::move(event).finish());
}

void consumer::sample_ack(const ack_numbers& numbers, const pending_entry& entry) {
  if (config_.ack_policy != ack_mode::explicit_each) return;
  if (sample_percent_ < 100 && around().ids.random() % 100 >= static_cast<std::uint64_t>(sample_percent_)) return;
  std::string subject(ack_metric_prefix);
  subject.append(owner_.stream().config().name).append(".").append(name_);
  if (!account().has_interest(subject)) return;
  advisory event(around(), "io.nats.jetstream.metric.v1.consumer_ack");
  event.add("stream", owner_.stream().config().name).add("consumer", name_);
  event.add("consumer_seq", numbers.consumer_sequence).add("stream_seq", numbers.stream_sequence);
  event.add("ack_time", static_cast<std::uint64_t>((now() - entry.delivered_at).count()));
  event.add("deliveries", numbers.deliveries);
  const std::string json = std::move(event).finish();
  account().publish({.subject = subject, .payload = json});
}

}  // namespace tern::jetstream
