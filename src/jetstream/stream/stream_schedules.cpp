// Message schedules: what a publish may say of them, and their runs (jetstream 5.9).
#include "jetstream/stream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/stream/incoming_publish.hpp"
#include "jetstream/stream/schedule_pattern.hpp"
#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr nanoseconds granularity = std::chrono::milliseconds(250);
constexpr int runs_per_turn = 1024;
constexpr std::string_view purge_word = "purge";

// RFC 3339 as the zone's clocks show it.
std::string local_rfc3339(time_point at, const time_zone* zone) {
  const nanoseconds offset = zone == nullptr ? nanoseconds(0) : zone->offset_at(at);
  std::string text = to_rfc3339(at + offset);
  if (offset.count() == 0) return text;
  text.pop_back();  // the Z
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(offset < nanoseconds(0) ? -offset : offset);
  char suffix[16];
  std::snprintf(suffix, sizeof suffix, "%c%02d:%02d", offset < nanoseconds(0) ? '-' : '+',
                static_cast<int>(minutes.count() / 60), static_cast<int>(minutes.count() % 60));
  return text + suffix;
}

// What a run sends of a message's headers.
std::string headers_of_run(std::string_view block) {
  std::string kept(block);
  for (const std::string_view prefix : {"Nats-Schedule", "Nats-Expected-"})
    kept = protocol::without_headers_with_prefix(kept, prefix);
  for (const std::string_view key : {"Nats-Msg-Id", "Nats-TTL", "Nats-Rollup"})
    kept = protocol::without_header(kept, key);
  return kept;
}

}  // namespace

std::shared_ptr<const time_zone> stream::find_zone(std::string_view name) const {
  return surroundings_.find_time_zone ? surroundings_.find_time_zone(name) : nullptr;
}

// Another subject of this stream, without wildcards.
bool stream::is_schedule_subject(std::string_view subject, std::string_view own) const {
  return subject != own && !subject.empty() && protocol::is_valid_config_subject(subject) &&
         protocol::is_literal(subject) && std::ranges::any_of(config().subjects, [subject](const std::string& pattern) {
           return protocol::subject_matches(pattern, subject);
         });
}

stream::problem stream::check_schedule(incoming& what) {
  const publish_headers& known = what.known;
  if (known.scheduler.data() != nullptr || known.schedule_next.data() != nullptr) return check_cancellation(what);
  const bool has_zone = known.schedule_time_zone.data() != nullptr;
  if (known.schedule.empty() && !has_zone) return {};
  if (!config().allow_msg_schedules) return make_api_error(jetstream_errc::message_schedules_disabled);
  const auto zone = has_zone ? find_zone(known.schedule_time_zone) : nullptr;
  if (has_zone && zone == nullptr) return make_api_error(jetstream_errc::message_schedules_time_zone_invalid);
  if (known.schedule.empty()) return {};
  const auto pattern = schedule_pattern::parse(known.schedule, zone);
  if (!pattern) return make_api_error(jetstream_errc::message_schedules_pattern_invalid);
  const bool bad_lifetime = !known.schedule_ttl.empty() && !parse_time_to_live(known.schedule_ttl);
  if (bad_lifetime) return make_api_error(jetstream_errc::message_schedules_ttl_invalid);
  for (const std::string_view rollup : {known.schedule_rollup, known.rollup}) {
    if (!rollup.empty() && parse_rollup(rollup) != rollup_scope::subject)
      return make_api_error(jetstream_errc::message_schedules_rollup_invalid);
  }
  if (!known.schedule_ttl.empty() && !config().allow_msg_ttl)
    return make_api_error(jetstream_errc::message_ttl_disabled);
  if (!is_schedule_subject(known.schedule_target, what.subject))
    return make_api_error(jetstream_errc::message_schedules_target_invalid);
  if (!known.schedule_source.empty() &&
      (known.schedule_source == known.schedule_target || !is_schedule_subject(known.schedule_source, what.subject)))
    return make_api_error(jetstream_errc::message_schedules_source_invalid);
  what.schedule_due = pattern->first(surroundings_.now());
  if (known.rollup.empty()) {  // one schedule per subject
    what.scheduled_headers = what.headers;
    protocol::append_header(what.scheduled_headers, "Nats-Rollup", "sub");
    what.headers = what.scheduled_headers;
    what.known.rollup = "sub";
  }
  return {};
}

// A client ends a schedule on another subject with a message that looks like its last run.
stream::problem stream::check_cancellation(incoming& what) {
  const publish_headers& known = what.known;
  const bool well_formed = known.schedule_next == purge_word && protocol::is_literal(known.scheduler) &&
                           known.scheduler != what.subject && protocol::is_valid_config_subject(known.scheduler);
  if (!well_formed) return make_api_error(jetstream_errc::message_schedules_scheduler_invalid);
  if (!config().allow_msg_schedules) return make_api_error(jetstream_errc::message_schedules_disabled);
  if (const auto last = log_.totals(known.scheduler); last.messages > 0) {
    const auto message = log_.load(last.last);
    if (message && publish_headers::read(message->headers).schedule.empty())
      return make_api_error(jetstream_errc::message_schedules_scheduler_invalid);
  }
  what.cancels_schedule = true;
  return {};
}

// Of a message that was committed or found in the log. The run is not sooner than the granularity allows.
void stream::note_schedule(storage::sequence number, time_point due) {
  schedules_.add(number, std::max(due, surroundings_.now() + granularity));
  arm_schedule_timer();
}

// After a start: a run that lies behind the last thing this stream has stored did not happen.
void stream::note_stored_schedule(const storage::stored_message& message, const publish_headers& known) {
  if (known.schedule.empty()) return;
  const auto zone = known.schedule_time_zone.empty() ? nullptr : find_zone(known.schedule_time_zone);
  const auto pattern = schedule_pattern::parse(known.schedule, zone);
  if (!pattern) return;
  const auto due = pattern->repeats()
                       ? pattern->next(message.timestamp, std::max(message.timestamp, log_.state().last_timestamp))
                       : pattern->first(message.timestamp);
  if (due) note_schedule(message.number, *due);
}

void stream::arm_schedule_timer() {
  const auto due = schedules_.earliest();
  if (!due) return schedule_timer_.disarm();
  if (!schedule_timer_.armed() || *due < schedule_timer_.deadline()) schedule_timer_.arm(*due);
}

void stream::run_schedules() {
  if (closed_ || config().sealed) return;
  const time_point now = surroundings_.now();
  if (!has_room_for_copy()) return schedule_timer_.arm(now + granularity);
  for (int left = runs_per_turn; left > 0; --left) {
    const auto run = schedules_.take_due(now);
    if (!run) break;
    run_schedule(run->number);
  }
  arm_schedule_timer();
}

void stream::run_schedule(storage::sequence number) {
  const auto loaded = log_.load(number);
  if (!loaded) return;
  // The views go with the next append or load.
  const std::string subject(loaded->subject), own_headers(loaded->headers);
  const time_point stored = loaded->timestamp;
  const publish_headers known = publish_headers::read(own_headers);
  const auto zone = known.schedule_time_zone.empty() ? nullptr : find_zone(known.schedule_time_zone);
  const auto pattern = schedule_pattern::parse(known.schedule, zone);
  if (!pattern) return;
  std::string payload(loaded->payload);
  std::string headers = headers_of_run(own_headers);
  if (const auto source =
          known.schedule_source.empty() ? storage::subject_totals() : log_.totals(known.schedule_source);
      source.messages > 0) {
    if (const auto message = log_.load(source.last)) {
      payload = message->payload;
      headers = headers_of_run(message->headers);
    }
  }
  const auto next = pattern->next(stored, surroundings_.now());
  protocol::append_header(headers, "Nats-Scheduler", subject);
  protocol::append_header(headers, "Nats-Schedule-Next",
                          next ? local_rfc3339(*next, pattern->zone()) : std::string(purge_word));
  if (!known.schedule_ttl.empty()) protocol::append_header(headers, "Nats-TTL", known.schedule_ttl);
  if (!known.schedule_rollup.empty()) protocol::append_header(headers, "Nats-Rollup", "sub");
  incoming what{.subject = known.schedule_target, .headers = headers, .payload = payload};
  what.known = publish_headers::read(headers);
  what.rollup = known.schedule_rollup.empty() ? rollup_scope::none : rollup_scope::subject;
  what.cancels_schedule = !next;
  const auto admitted = admit_copy(what);
  if (!admitted || *admitted == intake_result::later) {
    surroundings_.warn("JetStream stream '" + account().name() + " > " + name() + "': the run of the schedule on '" +
                       subject + "' cannot be stored: " + (admitted ? "no room" : admitted.error()));
    note_schedule(number, next.value_or(surroundings_.now() + std::chrono::seconds(1)));
    return;
  }
  append(what, reserve(what, what.entry));
  if (what.skipped) {
    await_skips();
    if (!next) remove(number, removal_reason::purged);  // no message will say that it is over
  }
  if (next) note_schedule(number, *next);
}

// The committed message says which schedule it ends.
void stream::end_schedule(storage::sequence number) {
  const auto message = log_.load(number);
  if (!message) return;
  const std::string subject(publish_headers::read(message->headers).scheduler);
  if (!subject.empty()) purge({.subject = subject, .below = number});
}

}  // namespace tern::jetstream
