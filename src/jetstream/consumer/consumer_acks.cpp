// Acknowledgements: what a client says of a delivered message, applied and confirmed (jetstream 13.6, 13.8, 14).
#include "jetstream/consumer/consumer.hpp"

#include <string>

namespace tern::jetstream {

void consumer::on_ack(std::string_view numbers, const routing::message& what) {
  const ack_body body = parse_ack_body(what.payload);
  const auto of = parse_ack_numbers(numbers);
  touch();
  const bool settles = body.kind == ack_kind::ack || body.kind == ack_kind::term || body.kind == ack_kind::next;
  if (settles && (!of || of->stream_sequence >= state_.next_stream)) {
    // Above what was delivered: not even answered, but a +NXT pulls.
    if (body.kind == ack_kind::next) on_pull(what.reply, {}, body.argument);
    return;
  }
  if (of) {
    switch (body.kind) {
      case ack_kind::ack:
        apply_ack(*of, true);
        break;
      case ack_kind::nak:
        apply_nak(*of, body);
        break;
      case ack_kind::progress:
        apply_progress(*of);
        break;
      case ack_kind::term:
        apply_ack(*of, false);
        tell_terminated(*of, body.argument);
        break;
      case ack_kind::next:
        apply_ack(*of, true);
        if (!what.reply.empty()) on_pull(what.reply, {}, body.argument);
        return;
      case ack_kind::unknown:
        break;
    }
  }
  if (!what.reply.empty()) confirm(what.reply);
}

// The answer leaves when the acknowledgement is durable (storage D4).
void consumer::confirm(std::string_view reply) {
  flush();
  around().store.when_durable([to = &account(), reply = std::string(reply)](const result<void>& durable) {
    if (durable) to->publish({.subject = reply});
  });
}

bool consumer::apply_ack(const ack_numbers& numbers, bool sampled) {
  if (config_.ack_policy == ack_mode::all) {
    apply_ack_all(numbers);
    return true;
  }
  const storage::sequence number = numbers.stream_sequence;
  pending_entry* entry = state_.pending.find(number);
  if (entry == nullptr) {
    // Given up after its last delivery, yet done after all: it need not be kept any longer (13.7).
    last_ack_at_ = now();
    if (state_.exhausted.erase(number) == 0) return false;
    raise_floor(state_);
    deltas_.settled(number);
    note_delta();
    settle(number);
    return true;
  }
  if (sampled && sample_percent_ > 0) sample_ack(numbers, *entry);
  const bool was_full = at_pending_limit();
  redelivery_.leave(*entry);
  settle_pending(state_, number);
  last_ack_at_ = now();
  deltas_.settled(number);
  note_delta();
  settle(number);
  if (was_full && !pump_timer_.armed()) pump();
  return true;
}

void consumer::apply_ack_all(const ack_numbers& numbers) {
  const storage::sequence up_to = numbers.stream_sequence;
  if (up_to <= state_.floor_stream) return;
  const bool was_full = at_pending_limit();
  std::vector<storage::sequence> done;
  while (!state_.pending.empty() && state_.pending.first()->number <= up_to) {
    const storage::sequence number = state_.pending.first()->number;
    redelivery_.leave(*state_.pending.find(number));
    state_.pending.erase(number);
    done.push_back(number);
  }
  const auto end = state_.exhausted.upper_bound(up_to);
  for (auto at = state_.exhausted.begin(); at != end; ++at) done.push_back(at->first);
  state_.exhausted.erase(state_.exhausted.begin(), end);
  const std::uint64_t consumer_sequence = std::min(numbers.consumer_sequence, state_.next_consumer - 1);
  state_.floor_consumer = std::max(state_.floor_consumer, consumer_sequence);
  state_.floor_stream = up_to;
  last_ack_at_ = now();
  deltas_.settled_up_to(up_to, consumer_sequence);
  note_delta();
  for (const storage::sequence number : done) settle(number);
  if (was_full && !pump_timer_.armed()) pump();
}

void consumer::settle(storage::sequence number) {
  if (owner_.stream().config().retention != retention_policy::limits) owner_.stream().on_settled(number);
}

void consumer::apply_nak(const ack_numbers& numbers, const ack_body& body) {
  if (numbers.consumer_sequence <= state_.floor_consumer || numbers.stream_sequence <= state_.floor_stream) return;
  pending_entry* entry = state_.pending.find(numbers.stream_sequence);
  if (entry == nullptr) return;
  if (body.bad_delay) {
    around().warn("consumer " + owner_.stream().config().name + " > " + name_ +
                  ": a NAK with a delay that cannot be read");
  }
  tell_nak(numbers);
  const time_point at = now();
  if (body.has_delay && body.delay < time_point::max() - at) {
    redelivery_.leave(*entry);
    entry->delayed = true;
    set_deadline(*entry, at + body.delay);
  } else if (spent(*entry)) {
    give_up(*entry);
    if (!pump_timer_.armed()) pump();
    return;
  } else {
    entry->delayed = false;
    redelivery_.push(*entry);
  }
  deltas_.due(*entry);
  note_delta();
  if (entry->ticket != 0 && !pump_timer_.armed()) pump();
}

void consumer::apply_progress(const ack_numbers& numbers) {
  pending_entry* entry = state_.pending.find(numbers.stream_sequence);
  if (entry == nullptr) return;
  entry->delivered_at = now();
  entry->delayed = false;
  if (entry->ticket == 0) set_deadline(*entry, entry->delivered_at + wait_after(entry->deliveries));
  deltas_.due(*entry);
  note_delta();
}

}  // namespace tern::jetstream
