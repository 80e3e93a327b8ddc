#include "jetstream/consumer/consumer.hpp"

#include "jetstream/consumer/consumer_checks.hpp"
#include "jetstream/consumer/consumer_push.hpp"
#include "protocol/ack_subject.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

enum subscription_tag : std::uint64_t { pull_tag = 1, ack_tag, ack_v2_tag, reset_tag, flow_tag, flow_v2_tag };

// An unused consumer is looked at no more often than this, however short its threshold; nor is it removed sooner.
constexpr nanoseconds inactivity_slack = std::chrono::milliseconds(150);

std::string_view after_tokens(std::string_view subject, int count) {
  for (; count > 0; --count) {
    const std::size_t dot = subject.find('.');
    if (dot == std::string_view::npos) return {};
    subject.remove_prefix(dot + 1);
  }
  return subject;
}

}  // namespace

consumer::consumer(consumer_owner& owner, consumer_config config, std::string name, time_point created,
                   storage::consumer_record& record)
    : owner_(owner),
      config_(std::move(config)),
      name_(std::move(name)),
      created_(created),
      record_(record),
      pulls_(owner.stream().surroundings().timers, [this](waiting_pull& pull) { on_pull_clock(pull); }),
      redelivery_timer_(owner.stream().surroundings().timers, [this] { on_redelivery_clock(); }),
      pump_timer_(owner.stream().surroundings().timers, [this] { pump(); }),
      flush_timer_(owner.stream().surroundings().timers, [this] { flush(); }),
      inactivity_timer_(owner.stream().surroundings().timers, [this] { on_inactivity_clock(); }),
      pin_timer_(owner.stream().surroundings().timers, [this] { expire_pin("timeout"); }),
      pause_timer_(owner.stream().surroundings().timers, [this] { arm_pause(); }) {
  const stream_config& stream = owner.stream().config();
  durable_state_ = stream.storage == storage_type::file && !config_.mem_storage;
  ack_prefix_ = protocol::ack_subject_prefix(stream.name, name_);
  sample_percent_ = parse_sample_frequency(config_.sample_freq).value_or(0);
  last_activity_ = now();
}

consumer::~consumer() {
  // The store outlives its consumers and may write their state once more.
  if (durable_state_) record_.set_snapshot_source([last = encode_snapshot(state_)] { return last; });
  for (routing::subscription* subscription : subscriptions_) account().unsubscribe(subscription);
}

void consumer::supply_snapshots() {
  if (durable_state_) record_.set_snapshot_source([this] { return encode_snapshot(state_); });
}

void consumer::open() {
  open_ = true;
  // Not before resume(): from here on the record forgets what the disk had.
  if (durable_state_) record_.set_snapshot_source([this] { return encode_snapshot(state_); });
  subscribe();
  if (config_.push()) push_ = std::make_unique<push_delivery>(*this);
  arm_inactivity();
  arm_pause();
  if (push_ != nullptr) push_->start();
  wake_soon();
}

void consumer::subscribe() {
  const std::string& stream = owner_.stream().config().name;
  const std::string& domain = around().settings.domain;
  const std::string both = stream + '.' + name_;
  const auto listen = [this](const std::string& subject, std::uint64_t tag) {
    routing::subscription* subscription = account().subscribe(*this, subject);
    subscription->tag = tag;
    subscription->internal = true;
    subscriptions_.push_back(subscription);
  };
  const std::string v2 = std::string(domain.empty() ? "_" : domain).append(".*.").append(both);
  listen("$JS.API.CONSUMER.MSG.NEXT." + both, pull_tag);
  listen("$JS.API.CONSUMER.RESET." + both, reset_tag);
  if (config_.ack_policy != ack_mode::none && config_.ack_policy != ack_mode::flow_control) {
    listen("$JS.ACK." + both + ".*.*.*.*.*", ack_tag);
    listen("$JS.ACK." + v2 + ".*.*.*.*.>", ack_v2_tag);
  }
  if (config_.flow_control) {
    listen("$JS.FC." + both + ".*", flow_tag);
    listen("$JS.FC." + v2 + ".*", flow_v2_tag);
  }
}

bool consumer::deliver(routing::subscription& to, const routing::message& what) {
  if (!open_) return false;
  switch (to.tag) {
    case ack_tag:
      on_ack(what.subject.substr(std::min(ack_prefix_.size(), what.subject.size())), what);
      break;
    case ack_v2_tag:
      on_ack(after_tokens(what.subject, 6), what);
      break;
    case pull_tag:
      on_pull(what.reply, what.headers, what.payload);
      break;
    case reset_tag:
      on_reset(what);
      break;
    case flow_tag:
      push_->on_flow_answer(after_tokens(what.subject, 4), what);
      break;
    case flow_v2_tag:
      push_->on_flow_answer(after_tokens(what.subject, 6), what);
      break;
    default:
      return false;
  }
  return true;
}

void consumer::retire() {
  if (!open_) return;
  flush();
  open_ = false;
  for (routing::subscription* subscription : subscriptions_) account().unsubscribe(subscription);
  subscriptions_.clear();
  push_.reset();
  for (auto* timer :
       {&redelivery_timer_, &pump_timer_, &flush_timer_, &inactivity_timer_, &pin_timer_, &pause_timer_}) {
    timer->disarm();
  }
}

void consumer::forget_record() {
  if (durable_state_) record_.set_snapshot_source({});
  durable_state_ = false;
}

void consumer::end_pulls(std::string_view why, bool with_pending) {
  while (waiting_pull* pull = pulls_.front()) end_pull(*pull, 409, why, with_pending);
}

void consumer::release() {
  held_ = false;
  wake_soon();
}

void consumer::update(consumer_config config) {
  const bool filters_changed = config.filters() != config_.filters();
  const bool waits_changed = config.ack_wait != config_.ack_wait || config.backoff != config_.backoff;
  const bool moved = config.deliver_subject != config_.deliver_subject || config.deliver_group != config_.deliver_group;
  const bool groups_changed = config.priority_groups != config_.priority_groups;
  config.pause_until = config_.pause_until;
  stamp_consumer_metadata(config);
  config_ = std::move(config);
  sample_percent_ = parse_sample_frequency(config_.sample_freq).value_or(0);
  if (filters_changed) adopt_filters();
  if (waits_changed) {
    deadlines_.clear();
    state_.pending.for_each([&](pending_entry& entry) {
      if (!entry.delayed) entry.due = entry.delivered_at + wait_after(entry.deliveries);
      if (entry.ticket == 0) set_deadline(entry, entry.due);
    });
  }
  if ((groups_changed || config_.priority_policy != priority_mode::pinned_client) && !pin_id_.empty()) {
    pin_id_.clear();
    pinned_at_.reset();
    pin_timer_.disarm();
  }
  if (push_ != nullptr) push_->adopt_config(moved);
  arm_inactivity();
  wake_soon();
}

void consumer::adopt_filters() {
  cursor_ = log().open_cursor(config_.filters());
  recount();
}

// num_pending from scratch: the rest of the skip list, then what the filters match from the position on, as far as the
// set was told of it.
void consumer::recount() {
  const auto& state = state_;
  storage::sequence from = state.next_stream;
  num_pending_ = 0;
  if (state.skipping()) {
    for (std::size_t i = state.skip_next; i < state.skip.size(); ++i) {
      if (!log().subject_of(state.skip[i]).empty()) ++num_pending_;
    }
    from = std::max(from, state.skip_end + 1);
  }
  last_counted_ = owner_.last_committed();
  num_pending_ += cursor_->count_from(from) - cursor_->count_from(std::max(from, last_counted_ + 1));
}

consumer_info consumer::info() {
  consumer_info out;
  out.stream_name = owner_.stream().config().name;
  out.name = name_;
  out.created = created_;
  out.config = &config_;
  out.delivered = {state_.next_consumer - 1, state_.delivered_stream, last_delivery_at_};
  out.ack_floor = {state_.floor_consumer, state_.floor_stream,
                   config_.ack_policy == ack_mode::none ? std::nullopt : last_ack_at_};
  out.num_ack_pending = state_.pending.size();
  state_.pending.for_each([&](const pending_entry& entry) { out.num_redelivered += entry.deliveries > 1; });
  for (const auto& [number, deliveries] : state_.exhausted) out.num_redelivered += deliveries > 1;
  if (!config_.push()) {
    drop_dead_pulls();
    out.num_waiting = pulls_.size();
  }
  out.num_pending = num_pending_;
  out.push_bound = bound();
  out.now = now();
  if (paused()) out.pause_remaining = config_.pause_until->at - out.now;
  if (config_.priority_policy != priority_mode::none) {
    out.priority_groups.push_back({config_.priority_groups.front(), pin_id_, pinned_at_});
  }
  return out;
}

bool consumer::bound() const { return push_ != nullptr && push_->bound(); }

void consumer::on_match(storage::sequence number) {
  const bool ahead = number >= state_.next_stream;
  // A roll-up may have made it count already.
  if (number > last_counted_) {
    last_counted_ = number;
    if (ahead) ++num_pending_;
  }
  if (ahead && !pump_timer_.armed()) pump();
}

// Before the message goes. Views of it may still be in use below on the stack, so nothing is delivered from here.
void consumer::on_removed(storage::sequence number, bool announced) {
  if (number >= state_.next_stream) {
    const bool counted = !state_.skipping() || number > state_.skip_end ||
                         std::binary_search(state_.skip.begin() + static_cast<std::ptrdiff_t>(state_.skip_next),
                                            state_.skip.end(), number);
    if (counted && number <= last_counted_ && num_pending_ > 0) --num_pending_;
    return;
  }
  if (const pending_entry* entry = state_.pending.find(number)) {
    if (announced) {
      // The peer tells redeliveries here, and one when there were none.
      const std::uint64_t told = std::max<std::uint64_t>(entry->deliveries, 2) - 1;
      tell_terminated({told, number, entry->consumer_sequence}, "Unacknowledged message was deleted");
    }
    drop_pending(number);
    last_ack_at_ = now();
    wake_soon();
  }
  if (state_.exhausted.erase(number) > 0) {
    deltas_.settled(number);
    note_delta();
  }
}

void consumer::on_purged(std::string_view subject_pattern, bool count_anew) {
  const auto filters = config_.filters();
  const bool everything = subject_pattern.empty() || subject_pattern == ">";
  const bool inside =
      !everything && !filters.empty() && std::all_of(filters.begin(), filters.end(), [&](const std::string& filter) {
        return protocol::is_subset(filter, subject_pattern);
      });
  if (count_anew && forget_removed()) last_ack_at_ = now();
  bool moved = false;
  // On to what survived; the position never moves back. It moves no further than to what the stream begins with, unless
  // the purge was of this consumer's subjects.
  const auto& stream = log().state();
  const storage::sequence survivor =
      inside ? cursor_->next(state_.next_stream).value_or(stream.last + 1) : stream.first;
  if (survivor > state_.next_stream) {
    moved = true;
    state_.next_stream = survivor;
    state_.delivered_stream = std::max(state_.delivered_stream, survivor - 1);
    while (state_.skipping() && state_.skip[state_.skip_next] < survivor) ++state_.skip_next;
  }
  if ((everything || inside || moved) && state_.pending.empty()) raise_floor(state_);
  if (count_anew || moved) {
    recount();
    deltas_.whole(state_);
    note_delta();
  }
  wake_soon();
}

// Takes what the stream no longer has out of the pending ones.
bool consumer::forget_removed() {
  std::vector<storage::sequence> gone;
  state_.pending.for_each([&](const pending_entry& entry) {
    if (log().subject_of(entry.number).empty()) gone.push_back(entry.number);
  });
  for (const storage::sequence number : gone) {
    redelivery_.leave(*state_.pending.find(number));
    settle_pending(state_, number);
  }
  const auto given_up =
      std::erase_if(state_.exhausted, [&](const auto& one) { return log().subject_of(one.first).empty(); });
  return !gone.empty() || given_up > 0;
}

bool consumer::needs(storage::sequence number) const {
  if (number >= state_.next_stream) {
    return !state_.skipping() || number > state_.skip_end ||
           std::binary_search(state_.skip.begin() + static_cast<std::ptrdiff_t>(state_.skip_next), state_.skip.end(),
                              number);
  }
  return state_.pending.find(number) != nullptr || state_.exhausted.contains(number);
}

// --- deltas: gathered for a moment, so that deliveries do not bring about a sync per turn; handed to the store at once
// before something is confirmed (storage D4) ---

void consumer::note_delta() {
  constexpr std::size_t flush_bytes = 64 << 10;
  constexpr nanoseconds flush_delay = std::chrono::milliseconds(20);
  if (!durable_state_) {
    deltas_.clear();
  } else if (deltas_.size() >= flush_bytes) {
    flush();
  } else if (!flush_timer_.armed()) {
    flush_timer_.arm(now() + flush_delay);
  }
}

void consumer::flush() {
  if (deltas_.empty()) return;
  if (durable_state_) record_.append_delta(deltas_.bytes());
  deltas_.clear();
  flush_timer_.disarm();
}

// --- inactivity (13.10) ---

void consumer::arm_inactivity() {
  if (config_.inactive_threshold <= nanoseconds(0)) {
    inactivity_timer_.disarm();
  } else {
    inactivity_timer_.arm(now() + config_.inactive_threshold + inactivity_slack);
  }
}

void consumer::on_inactivity_clock() {
  const time_point at = now();
  bool used = false;
  if (config_.push()) {
    used = bound();
  } else {
    drop_dead_pulls();
    used = !pulls_.empty();
  }
  if (used) {
    last_activity_ = at;
    arm_inactivity();
    return;
  }
  time_point idle_since = push_ != nullptr ? std::max(last_activity_, push_->unbound_since()) : last_activity_;
  if (!config_.push()) {
    state_.pending.for_each([&](const pending_entry& entry) {
      if (entry.ticket == 0) idle_since = std::max(idle_since, entry.due);
    });
  }
  if (const time_point end = idle_since + config_.inactive_threshold; end + inactivity_slack > at) {
    inactivity_timer_.arm(end + inactivity_slack);
    return;
  }
  owner_.on_inactive(*this);
}

}  // namespace tern::jetstream
