// From the stream to whoever takes the message: what is next, how it looks, what is remembered of it, and when it comes
// again (jetstream 13.3-13.7, 13.11).
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_push.hpp"

#include "protocol/ack_subject.hpp"
#include "protocol/headers.hpp"

#include "base/numbers.hpp"

#include <algorithm>
#include <vector>

namespace tern::jetstream {
namespace {

// One consumer's share of a turn; the rest follows in the next one.
constexpr int deliveries_per_turn = 512;
constexpr std::uint64_t bytes_per_turn = 4 << 20;
constexpr std::size_t expiries_per_turn = 8192;
constexpr nanoseconds smallest_replay_gap = std::chrono::milliseconds(1);

}  // namespace

void consumer::pump() {
  if (pumping_ || !open_ || held_) return;
  pumping_ = true;
  const std::uint64_t bytes_before = sent_bytes_;
  int left = deliveries_per_turn;
  for (;;) {
    if (left-- == 0 || sent_bytes_ - bytes_before > bytes_per_turn) {
      pump_timer_.arm(now());
      break;
    }
    if ((config_.push() ? push_step() : pull_step()) == step::stop) break;
  }
  pumping_ = false;
}

void consumer::wake_soon() {
  if (open_ && (!pump_timer_.armed() || pump_timer_.deadline() > now())) pump_timer_.arm(now());
}

bool consumer::at_pending_limit() const {
  return keeps_pending() && config_.max_ack_pending > 0 &&
         state_.pending.size() >= static_cast<std::uint64_t>(config_.max_ack_pending);
}

consumer::supply consumer::next_message(candidate& out) {
  if (const supply again = next_redelivery(out); again != supply::none) return again;
  if (at_pending_limit()) return supply::blocked;
  return next_new(out);
}

consumer::supply consumer::next_redelivery(candidate& out) {
  while (pending_entry* entry = redelivery_.front(state_.pending)) {
    if (spent(*entry)) {
      give_up(*entry);
      continue;
    }
    auto loaded = log().load(entry->number);
    if (!loaded) {
      tell_terminated({entry->deliveries, entry->number, entry->consumer_sequence},
                      "Unacknowledged message was deleted");
      drop_pending(entry->number);
      continue;
    }
    out.message = *loaded;
    out.entry = entry;
    return supply::ready;
  }
  return supply::none;
}

consumer::supply consumer::next_new(candidate& out) {
  out.entry = nullptr;
  while (state_.skipping()) {
    if (auto loaded = log().load(state_.skip[state_.skip_next])) {
      out.message = *loaded;
      return hold_for_replay(out.message);
    }
    ++state_.skip_next;  // removed meanwhile
    if (!state_.skipping()) state_.next_stream = std::max(state_.next_stream, state_.skip_end + 1);
  }
  for (;;) {
    const auto next = cursor_->next(state_.next_stream);
    if (!next || *next > owner_.last_committed()) return supply::none;
    if (auto loaded = log().load(*next)) {
      out.message = *loaded;
      return hold_for_replay(out.message);
    }
    around().warn("consumer " + owner_.stream().config().name + " > " + name_ + ": message " + std::to_string(*next) +
                  " cannot be read and is passed over");
    state_.next_stream = *next + 1;
    if (num_pending_ > 0) --num_pending_;
  }
}

// The original pace: as long after the message before it as it was stored after it (13.11).
consumer::supply consumer::hold_for_replay(const storage::stored_message& message) {
  if (message.number > replay_until_ || !replay_stamp_) return supply::ready;
  const nanoseconds gap = message.timestamp - *replay_stamp_;
  if (gap <= smallest_replay_gap) return supply::ready;
  const time_point due = replay_at_ + gap;
  if (due <= now()) return supply::ready;
  pump_timer_.arm(due);
  return supply::later;
}

// Headers, payload and ack reply as they are sent.
void consumer::dress(candidate& what) {
  what.headers = what.message.headers;
  what.payload = what.message.payload;
  if (config_.headers_only) {
    header_buffer_.assign(what.headers);
    std::string size;
    append_decimal(size, what.payload.size());
    protocol::append_header(header_buffer_, "Nats-Msg-Size", size);
    what.headers = header_buffer_;
    what.payload = {};
  }
  const std::uint64_t pending = what.entry != nullptr ? num_pending_ : num_pending_ - (num_pending_ > 0 ? 1 : 0);
  reply_buffer_.assign(ack_prefix_);
  protocol::append_ack_numbers(reply_buffer_, what.entry != nullptr ? what.entry->deliveries + 1 : 1,
                               what.message.number, state_.next_consumer, what.message.timestamp, pending);
  what.reply = reply_buffer_;
  what.size = what.message.subject.size() + what.reply.size() + what.headers.size() + what.payload.size();
}

// False when nobody took it.
bool consumer::send(std::string_view to, candidate& what, std::string_view pin) {
  if (!pin.empty()) {
    if (what.headers.data() != header_buffer_.data()) header_buffer_.assign(what.headers);
    protocol::append_header(header_buffer_, "Nats-Pin-Id", pin);
    what.headers = header_buffer_;
  }
  const stream_context::delivery_scope views(owner_.stream());
  return account().publish_to(to, {what.message.subject, what.reply, what.headers, what.payload}) > 0;
}

// The message was taken. Its views may be gone when this returns: on streams that keep messages for their consumers,
// ack none settles it here.
void consumer::count_delivery(candidate& what) {
  const time_point at = now();
  const storage::sequence number = what.message.number;
  const std::uint64_t consumer_sequence = state_.next_consumer++;
  sent_bytes_ += what.size;
  last_delivery_at_ = at;
  pending_entry* entry = what.entry;
  if (entry != nullptr) {
    entry = state_.pending.find(number);
    if (entry == nullptr) return;  // settled by whoever took it, before this returned
    redelivery_.leave(*entry);
  } else {
    if (num_pending_ > 0) --num_pending_;
    replay_stamp_ = what.message.timestamp;
    replay_at_ = at;
    state_.next_stream = number + 1;
    state_.delivered_stream = number;
    if (state_.skipping()) {
      ++state_.skip_next;
      if (!state_.skipping()) state_.next_stream = std::max(state_.next_stream, state_.skip_end + 1);
    }
    if (!keeps_pending()) {
      state_.floor_consumer = consumer_sequence;
      state_.floor_stream = number;
      deltas_.passed(number, consumer_sequence);
      note_delta();
      if (owner_.stream().config().retention != retention_policy::limits) owner_.stream().on_settled(number);
      return;
    }
    entry = &state_.pending.append(number);
    entry->consumer_sequence = consumer_sequence;
  }
  ++entry->deliveries;
  entry->delivered_at = at;
  entry->delayed = false;
  if (config_.ack_policy != ack_mode::flow_control) set_deadline(*entry, at + wait_after(entry->deliveries));
  deltas_.delivered(*entry, consumer_sequence);
  note_delta();
}

consumer::step consumer::pull_step() {
  if (pulls_.empty() || paused()) return step::stop;
  candidate next;
  switch (next_message(next)) {
    case supply::ready:
      break;
    case supply::none:
      end_no_wait_pulls();
      return step::stop;
    case supply::blocked:
    case supply::later:
      return step::stop;
  }
  dress(next);
  while (waiting_pull* pull = pick_pull()) {
    if (pull->bounded_bytes && next.size > static_cast<std::uint64_t>(pull->asked.max_bytes)) {
      end_pull(*pull, 409, "Message Size Exceeds MaxBytes", true);
      continue;
    }
    std::string pin_id;
    if (config_.priority_policy == priority_mode::pinned_client)
      pin_id = pin_id_.empty() ? around().ids.next() : pin_id_;
    if (!send(pull->reply, next, pin_id)) {
      pulls_.remove(*pull);
      if (!pin_id.empty()) dress(next);  // without the header again
      continue;
    }
    if (!pin_id.empty() && pin_id_.empty()) pin(*pull, std::move(pin_id));
    const std::uint64_t size = next.size;
    after_delivery(*pull, size);
    count_delivery(next);
    return step::delivered;
  }
  return step::stop;
}

consumer::step consumer::push_step() {
  if (push_ == nullptr || !push_->may_send() || paused()) return step::stop;
  candidate next;
  if (next_message(next) != supply::ready) return step::stop;
  dress(next);
  if (!push_->afford(next.size)) return step::stop;
  if (!send(config_.deliver_subject, next, {})) {
    push_->on_refused();
    return step::stop;
  }
  const std::uint64_t size = next.size;
  count_delivery(next);
  push_->on_sent(size);
  return step::delivered;
}

// --- deadlines (13.7) ---

nanoseconds consumer::wait_after(std::uint64_t deliveries) const {
  if (config_.backoff.empty()) return config_.ack_wait;
  return config_.backoff[std::min<std::uint64_t>(deliveries - 1, config_.backoff.size() - 1)];
}

bool consumer::is_current(storage::sequence number, time_point due) const {
  const pending_entry* entry = state_.pending.find(number);
  return entry != nullptr && entry->ticket == 0 && entry->due == due;
}

void consumer::set_deadline(pending_entry& entry, time_point due) {
  entry.due = due;
  deadlines_.push(due, entry.number);
  deadlines_.sweep_if_stale(state_.pending.size(), [this](auto number, auto at) { return is_current(number, at); });
  arm_redelivery(due);
}

void consumer::arm_redelivery(time_point due) {
  if (!redelivery_timer_.armed() || due < redelivery_timer_.deadline()) redelivery_timer_.arm(due);
}

void consumer::on_redelivery_clock() {
  const auto current = [this](storage::sequence number, time_point due) { return is_current(number, due); };
  const time_point at = now();
  std::vector<storage::sequence> expired;
  while (expired.size() < expiries_per_turn) {
    const auto number = deadlines_.take_due(at, current);
    if (!number) break;
    expired.push_back(*number);
  }
  std::sort(expired.begin(), expired.end());
  expired.erase(std::unique(expired.begin(), expired.end()), expired.end());
  for (const storage::sequence number : expired) {
    pending_entry* entry = state_.pending.find(number);
    if (entry == nullptr) continue;
    if (spent(*entry)) {
      give_up(*entry);
    } else {
      entry->delayed = false;
      redelivery_.push(*entry);
    }
  }
  redelivery_.sweep_if_stale(state_.pending);
  if (const auto next = deadlines_.earliest(current)) arm_redelivery(std::max(*next, at));
  pump();
}

bool consumer::spent(const pending_entry& entry) const {
  return config_.max_deliver > 0 && entry.deliveries >= static_cast<std::uint64_t>(config_.max_deliver);
}

// The message had all its deliveries: it stays in the stream and leaves the pending ones; the floor passes it with the
// next acknowledgement.
void consumer::give_up(pending_entry& entry) {
  const storage::sequence number = entry.number;
  const std::uint64_t deliveries = entry.deliveries;
  redelivery_.leave(entry);
  state_.pending.erase(number);
  state_.exhausted[number] = deliveries;
  deltas_.exhausted(number, deliveries);
  note_delta();
  if (deliveries == static_cast<std::uint64_t>(config_.max_deliver)) tell_max_deliveries(number, deliveries);
}

// The message is gone from the stream, or settled: nothing waits for it any more.
void consumer::drop_pending(storage::sequence number) {
  pending_entry* entry = state_.pending.find(number);
  if (entry == nullptr) return;
  redelivery_.leave(*entry);
  settle_pending(state_, number);
  deltas_.settled(number);
  note_delta();
}

}  // namespace tern::jetstream
