// What removes messages from a stream: limits, age, retention, roll-ups, deletes and purges (jetstream 5.6, 6, 9).
#include "jetstream/stream/stream.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

// The evaluation of interest works in slices, so that a loop turn stays short however much there is to do.
constexpr int slice_size = 4096;

}  // namespace

// What waits for the message, before it goes.
void stream::forget(storage::sequence number) {
  expiry_.forget(number);
  schedules_.forget(number);
  intake_.on_removed(number);
}

// Consumers hear of it first, unless they do not know the message yet.
void stream::remove(storage::sequence number, removal_reason why, bool erase) {
  if (number <= announced_) {
    scratch_subject_ = log_.subject_of(number);
    consumers_.on_removed(number, scratch_subject_, why);
  }
  forget(number);
  log_.remove(number, erase);
}

bool stream::delete_message(storage::sequence number, bool erase) {
  if (log_.subject_of(number).empty()) return false;
  remove(number, removal_reason::deleted, erase);
  settle_usage();
  return true;
}

std::uint64_t stream::purge(const storage::stream_log::purge_request& what) {
  const auto removed = log_.purge(what, [this](storage::sequence number, std::string_view subject) {
    forget(number);
    if (number <= announced_) consumers_.on_removed(number, subject, removal_reason::purged);
  });
  consumers_.on_purged(what.subject);
  if (staged_.empty()) last_sequence_ = log_.state().last;  // a purge may move it (9)
  settle_usage();
  return removed;
}

void stream::roll_up(rollup_scope scope, std::string_view subject, storage::sequence below) {
  if (scope == rollup_scope::none) return;
  storage::stream_log::purge_request what{.below = below};
  if (scope == rollup_scope::subject) what.subject = subject;
  purge(what);
}

void stream::enforce_subject_limit(std::string_view subject) {
  if (config().max_msgs_per_subject <= 0) return;
  const auto limit = static_cast<std::uint64_t>(config().max_msgs_per_subject);
  for (auto totals = log_.totals(subject); totals.messages > limit; totals = log_.totals(subject))
    remove(totals.first, removal_reason::limits);
}

// The oldest go while the stream is above a limit; with discard new nothing stored is cut.
void stream::enforce_totals() {
  if (config().discard == discard_policy::new_messages) return;
  const auto& state = log_.state();
  const auto above = [&state](std::uint64_t use, std::int64_t limit) {
    return limit > 0 && use > static_cast<std::uint64_t>(limit) && state.messages > 0;
  };
  while (above(state.messages, config().max_msgs) || above(state.bytes, config().max_bytes))
    remove(state.first, removal_reason::limits);
}

// At start and after an update: subjects first, as a stream does it message by message (22).
void stream::enforce_everything() {
  if (!limits_remove()) return;
  if (config().max_msgs_per_subject > 0) {
    const auto limit = static_cast<std::uint64_t>(config().max_msgs_per_subject);
    std::vector<std::string> above;
    log_.for_each_subject(">", 0, [&](std::string_view subject, const storage::subject_totals& totals) {
      if (totals.messages > limit) above.emplace_back(subject);
      return true;
    });
    for (const auto& subject : above) enforce_subject_limit(subject);
  }
  enforce_totals();
  expire();
  settle_usage();
}

void stream::on_settled(storage::sequence number) {
  if (config().retention == retention_policy::limits) return;
  scratch_subject_ = log_.subject_of(number);
  if (scratch_subject_.empty() || consumers_.needs(number, scratch_subject_)) return;
  forget(number);
  log_.remove(number);
  settle_usage();
}

void stream::on_interest_changed() {
  if (config().retention != retention_policy::interest || log_.state().messages == 0) return;
  interest_scan_from_ = log_.state().first;
  interest_timer_.arm(surroundings_.now());
}

void stream::scan_interest() {
  if (closed_ || config().retention != retention_policy::interest) return;
  int left = slice_size;
  auto at = log_.next_live(interest_scan_from_);
  while (at && left-- > 0) {
    on_settled(*at);
    interest_scan_from_ = *at + 1;
    at = log_.next_live(interest_scan_from_);
  }
  if (at) interest_timer_.arm(surroundings_.now());
}

void stream::settle_usage() {
  const std::uint64_t bytes = log_.state().bytes;
  if (bytes == counted_bytes_) return;
  owner_.add_used(config().storage, static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(counted_bytes_));
  counted_bytes_ = bytes;
}

}  // namespace tern::jetstream
