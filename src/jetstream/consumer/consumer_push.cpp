#include "jetstream/consumer/consumer_push.hpp"

#include "base/numbers.hpp"
#include "jetstream/consumer/consumer.hpp"
#include "protocol/headers.hpp"

#include <algorithm>

namespace tern::jetstream {
namespace {

constexpr std::uint64_t largest_window = std::uint64_t{32} << 20;
constexpr std::uint64_t first_window = largest_window / 16;
constexpr std::size_t flow_id_length = 4;

}  // namespace

push_delivery::push_delivery(consumer& owner)
    : owner_(owner), heartbeat_timer_(owner.around().timers, [this] { on_heartbeat_clock(); }) {
  if (owner.config_.flow_control) window_ = first_window;
  unbound_since_ = owner.now();
  tokens_at_ = owner.now();
}

void push_delivery::start() {
  tokens_ = static_cast<double>(largest_window);
  watch();
}

void push_delivery::watch() {
  const std::string& subject = owner_.config_.deliver_subject;
  watch_ = owner_.account().watch_literal(subject, [this] { on_interest_changed(); });
  on_interest_changed();
}

void push_delivery::on_interest_changed() {
  const bool before = bound_;
  bound_ = owner_.account().literal_interest(owner_.config_.deliver_subject, owner_.config_.deliver_group) > 0;
  if (bound_ == before) return;
  if (!bound_) {
    unbound_since_ = owner_.now();
    heartbeat_timer_.disarm();
    owner_.arm_inactivity();
    return;
  }
  // A new subscriber owes nothing for what was sent to the one before it.
  outstanding_ = asked_bytes_ = 0;
  asked_id_.clear();
  last_sent_ = owner_.now();
  arm_heartbeat();
  owner_.wake_soon();
}

void push_delivery::adopt_config(bool moved) {
  if (!moved) return owner_.wake_soon();
  watch();
  owner_.state_.pending.for_each([this](pending_entry& entry) {
    entry.delayed = false;
    owner_.redelivery_.push(entry);
  });
  owner_.wake_soon();
}

bool push_delivery::may_send() const { return bound_ && (window_ == 0 || outstanding_ <= window_); }

bool push_delivery::afford(std::uint64_t size) {
  const double rate = static_cast<double>(owner_.config_.rate_limit_bps) / 8;
  if (rate <= 0) return true;
  const stream_config& stream = owner_.owner_.stream().config();
  const double burst =
      static_cast<double>(stream.max_msg_size > 0 ? stream.max_msg_size : owner_.around().settings.max_payload);
  const time_point at = owner_.now();
  tokens_ = std::min(burst, tokens_ + rate * std::chrono::duration<double>(at - tokens_at_).count());
  tokens_at_ = at;
  // A message above the burst passes once the bucket is full.
  const double price = std::min(static_cast<double>(size), burst);
  if (tokens_ + 1e-6 >= price) return true;
  const auto wait = std::chrono::duration<double>((price - tokens_) / rate);
  owner_.pump_timer_.arm(at + std::chrono::duration_cast<nanoseconds>(wait) + nanoseconds(1));
  return false;
}

void push_delivery::on_sent(std::uint64_t size) {
  last_sent_ = owner_.now();
  tokens_ -= static_cast<double>(size);
  if (tokens_ < 0) tokens_ = 0;
  if (window_ == 0) return;
  outstanding_ += size;
  if (!asked_id_.empty()) {
    if (outstanding_ - asked_bytes_ >= window_) asked_bytes_ += size;
    return;
  }
  const bool by_acks = owner_.config_.ack_policy == ack_mode::flow_control && owner_.at_pending_limit();
  if (by_acks || outstanding_ > window_ / 2) ask_for_answer();
}

void push_delivery::on_refused() { on_interest_changed(); }

// --- heartbeats ---

void push_delivery::arm_heartbeat() {
  const nanoseconds interval = owner_.config_.idle_heartbeat;
  if (bound_ && interval > nanoseconds(0)) heartbeat_timer_.arm(last_sent_ + interval);
}

void push_delivery::on_heartbeat_clock() {
  if (!bound_) return;
  const time_point at = owner_.now();
  // Deliveries only note their time; the timer finds out here that it is early.
  if (at >= last_sent_ + owner_.config_.idle_heartbeat) {
    owner_.send_heartbeat(owner_.config_.deliver_subject);
    last_sent_ = at;
    if (owner_.config_.ack_policy == ack_mode::flow_control && asked_id_.empty() && !owner_.state_.pending.empty()) {
      ask_for_answer();
    }
  }
  arm_heartbeat();
}

// --- flow control ---

std::string push_delivery::flow_subject() const {
  std::string subject("$JS.FC.");
  subject.append(owner_.owner_.stream().config().name).append(".").append(owner_.name_).append(".").append(asked_id_);
  return subject;
}

void push_delivery::ask_for_answer() {
  asked_id_ = owner_.around().ids.random_text(flow_id_length);
  asked_bytes_ = outstanding_;
  const std::string reply = flow_subject();
  const std::string block = protocol::status_block(100, "FlowControl Request");
  owner_.account().publish({.subject = owner_.config_.deliver_subject, .reply = reply, .headers = block});
}

void push_delivery::on_flow_answer(std::string_view id, const routing::message& what) {
  if (asked_id_.empty() || id != asked_id_) return;
  window_ = std::min(window_ * 2, largest_window);
  outstanding_ -= std::min(outstanding_, asked_bytes_);
  asked_bytes_ = 0;
  asked_id_.clear();
  if (owner_.config_.ack_policy == ack_mode::flow_control && !what.headers.empty()) {
    const protocol::header_view headers(what.headers);
    const auto consumer_sequence = parse_decimal(headers.get("Nats-Last-Consumer").value_or(""));
    const auto stream_sequence = parse_decimal(headers.get("Nats-Last-Stream").value_or(""));
    if (consumer_sequence && stream_sequence && *stream_sequence < owner_.state_.next_stream) {
      owner_.apply_ack_all({0, *stream_sequence, *consumer_sequence});
    }
  }
  owner_.touch();
  owner_.wake_soon();
}

std::string push_delivery::stalled_header() const {
  if (asked_id_.empty()) return {};
  return "Nats-Consumer-Stalled: " + flow_subject() + "\r\n";
}

}  // namespace tern::jetstream
