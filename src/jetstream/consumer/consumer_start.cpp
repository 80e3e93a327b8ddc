// Where a consumer begins: at its creation by its deliver policy (jetstream 13.2), after a restart by what was stored
// (22).
#include "jetstream/consumer/consumer.hpp"

#include <algorithm>

namespace tern::jetstream {

storage::sequence consumer::start_position() {
  const storage::log_state& stream = log().state();
  const storage::sequence first = std::max<storage::sequence>(stream.first, 1);
  const storage::sequence end = std::max(stream.last + 1, first);
  const auto filters = config_.filters();
  switch (config_.deliver_policy) {
    case delivery_start::all:
      return first;
    case delivery_start::new_only:
      return end;
    case delivery_start::last: {
      if (filters.empty()) return std::max(stream.last, first);
      storage::sequence newest = 0;
      for (const std::string& filter : filters)
        newest = std::max(newest, log().last_match(filter, stream.last).value_or(0));
      return std::max(newest, first);
    }
    case delivery_start::by_start_sequence:
      return std::max(config_.opt_start_seq, first);
    case delivery_start::by_start_time:
      return std::max(log().first_at_or_after(config_.opt_start_time->at).value_or(end), first);
    case delivery_start::last_per_subject:
      if (owner_.stream().config().max_msgs_per_subject == 1) return first;
      build_skip_list();
      return state_.skip.empty() ? std::max(stream.last, first) : state_.skip.front();
  }
  return first;
}

// The newest message of every subject, in stream order.
void consumer::build_skip_list() {
  for (const std::string& filter : config_.filters()) {
    log().for_each_subject(filter, 0, [&](std::string_view, const storage::subject_totals& totals) {
      state_.skip.push_back(totals.last);
      return true;
    });
  }
  std::sort(state_.skip.begin(), state_.skip.end());
  state_.skip.erase(std::unique(state_.skip.begin(), state_.skip.end()), state_.skip.end());
  state_.skip_next = 0;
  state_.skip_end = log().state().last;
}

void consumer::start_new() {
  state_ = consumer_state();
  const storage::sequence start = start_position();
  state_.next_stream = start;
  state_.delivered_stream = start - 1;
  state_.floor_stream = start - 1;
  adopt_filters();
  supply_snapshots();
  replay_until_ = config_.replay_policy == replay_mode::original ? log().state().last : 0;
  deltas_.whole(state_);
  note_delta();
  flush();
}

void consumer::resume() {
  const auto recovered = record_.take_recovered();  // before a source of snapshots, which replaces it
  supply_snapshots();
  bool whole = recovered.snapshot.empty() || apply_snapshot(state_, recovered.snapshot);
  for (const std::string& delta : recovered.deltas) whole = apply_deltas(state_, delta) && whole;
  if (!whole) {
    around().warn("consumer " + owner_.stream().config().name + " > " + name_ +
                  ": a part of its stored state could not be read, messages may be delivered again");
  }
  cursor_ = log().open_cursor(config_.filters());
  if (clamp_to_stream()) {
    // Deltas that follow speak of this state, not of the one that the stored ones lead to.
    deltas_.whole(state_);
    note_delta();
    flush();
  }
  recount();
  replay_until_ = config_.replay_policy == replay_mode::original ? log().state().last : 0;
  arm_recovered();
}

// The stream may have lost a tail, or dropped messages that were pending here. True when something changed.
bool consumer::clamp_to_stream() {
  const storage::sequence last = log().state().last;
  const bool waits_ahead = state_.next_consumer == 1 && config_.deliver_policy == delivery_start::by_start_sequence;
  bool changed = false;
  if (state_.delivered_stream > last && !waits_ahead) {
    state_.delivered_stream = last;
    state_.skip_end = std::min(state_.skip_end, last);
    state_.next_stream = std::min(state_.next_stream, last + 1);
    state_.floor_stream = std::min(state_.floor_stream, last);
    changed = true;
  }
  return forget_removed() || changed;
}

void consumer::arm_recovered() {
  const time_point at = now();
  state_.pending.for_each([&](pending_entry& entry) {
    entry.ticket = 0;
    if (entry.due <= at) {
      redelivery_.push(entry);
    } else {
      set_deadline(entry, entry.due);
    }
  });
}

}  // namespace tern::jetstream
