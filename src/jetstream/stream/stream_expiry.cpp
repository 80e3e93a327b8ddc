// Messages that end by age or by a time to live of their own, and the markers they leave (jetstream 5.8, 6.2).
#include "jetstream/stream/stream.hpp"

#include "base/go_duration.hpp"
#include "protocol/headers.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

// Expiry and the reading of stored headers work in slices, so that a loop turn stays short however much there is to do.
constexpr int expiry_slice = 4096;
constexpr int scan_slice = 1024;
constexpr int first_scan_slice = 16'384;  // before the stream opens: small streams are complete from the start

}  // namespace

void stream::arm_age_timer() {
  const auto& state = log_.state();
  if (!limits_remove() || state.messages == 0 || age_timer_.armed()) return;
  std::optional<time_point> due = expiry_.earliest();
  if (config().max_age.count() > 0) {
    if (const auto oldest = next_to_age()) {
      const time_point aged = oldest->second + config().max_age;
      due = due ? std::min(*due, aged) : aged;
    }
  }
  if (due) age_timer_.arm(*due);
}

// The oldest message that max_age may take, and when it was stored: those that never end are passed over once.
std::optional<std::pair<storage::sequence, time_point>> stream::next_to_age() {
  const auto& state = log_.state();
  if (!expiry_.has_never() && scan_from_ == 0) {
    if (state.messages == 0) return std::nullopt;
    return std::pair(state.first, state.first_timestamp);
  }
  age_from_ = std::max(age_from_, state.first);
  while (const auto at = log_.next_live(age_from_)) {
    if (scan_from_ != 0 && *at >= scan_from_) return std::nullopt;  // its header has not been looked at
    if (!expiry_.is_never(*at)) {
      if (*at == state.first) return std::pair(*at, state.first_timestamp);
      if (const auto message = log_.load(*at)) return std::pair(*at, message->timestamp);
    }
    age_from_ = *at + 1;
  }
  return std::nullopt;
}

void stream::expire() {
  if (!limits_remove() || closed_) return;
  const time_point now = surroundings_.now();
  for (const storage::sequence number : expiry_.take_due(now, expiry_slice)) end_of_life(number);
  if (config().max_age.count() > 0) {
    int left = expiry_slice;
    for (auto next = next_to_age(); next && next->second + config().max_age <= now && left-- > 0; next = next_to_age())
      end_of_life(next->first);
  }
  settle_usage();
  arm_age_timer();
}

void stream::end_of_life(storage::sequence number) {
  if (log_.subject_of(number).empty()) return;  // went otherwise
  if (config().subject_delete_marker_ttl.count() > 0) leave_marker(number);
  remove(number, removal_reason::limits);
}

// The last message of a subject leaves a marker in its place, unless it is one itself.
void stream::leave_marker(storage::sequence number) {
  const std::string subject(log_.subject_of(number));
  if (last_of_subject(subject) != number) return;
  if (const auto message = log_.load(number); message && !message->headers.empty()) {
    const protocol::header_view headers(message->headers);
    if (headers.has("Nats-Marker-Reason") || headers.get("KV-Operation") == "PURGE") return;
  }
  const nanoseconds lifetime = config().subject_delete_marker_ttl;
  const std::string block = protocol::header_builder()
                                .add("Nats-Marker-Reason", "MaxAge")
                                .add("Nats-TTL", to_go_duration(lifetime))
                                .add("Nats-Rollup", "sub")
                                .finish();
  stage_marker(subject, block, lifetime);
}

// What a committed message says about its end. The caller arms the timer.
void stream::note_lifetime(storage::sequence number, time_point stored, nanoseconds lifetime) {
  if (lifetime.count() == 0) return;
  if (lifetime == never_ends) {
    expiry_.add_never(number);
  } else {
    expiry_.add(stored + lifetime, number);
    if (age_timer_.armed() && *expiry_.earliest() < age_timer_.deadline()) age_timer_.disarm();
  }
}

// Times to live and schedules stand in the headers of stored messages: they are read again after a start, and when an
// update turns a feature on. Nothing ends by age before its header was looked at.
void stream::begin_header_scan() {
  expiry_.clear();
  schedules_.clear();
  age_from_ = 0;
  scan_from_ = 0;
  if ((!config().allow_msg_ttl && !config().allow_msg_schedules) || log_.state().messages == 0) return;
  scan_from_ = log_.state().first;
  scan_headers(first_scan_slice);
}

void stream::scan_headers(int slice) {
  if (closed_ || scan_from_ == 0) return;
  auto at = log_.next_with_headers(scan_from_);
  for (; at && slice-- > 0; at = log_.next_with_headers(scan_from_)) {
    const auto message = log_.load(*at);
    if (message) {
      const auto known = publish_headers::read(message->headers);
      if (config().allow_msg_schedules) note_stored_schedule(*message, known);
      const std::string_view text = config().allow_msg_ttl ? known.time_to_live : std::string_view();
      if (const auto lifetime = text.empty() ? std::nullopt : parse_time_to_live(text))
        note_lifetime(*at, message->timestamp, lifetime->count() == 0 ? never_ends : *lifetime);
    }
    scan_from_ = *at + 1;
  }
  if (at) {
    scan_timer_.arm(surroundings_.now());
  } else {
    scan_from_ = 0;
  }
  age_timer_.disarm();
  arm_age_timer();
}

void stream::scan_more_headers() { scan_headers(scan_slice); }

}  // namespace tern::jetstream
