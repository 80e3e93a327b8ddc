#include "client/jetstream/pull_stream_core.hpp"

#include <algorithm>
#include <exception>
#include <thread>

#include "base/numbers.hpp"
#include "client/jetstream/api.hpp"
#include "protocol/writer.hpp"

namespace tern::client::detail {
namespace {

constexpr int missed_heartbeats = 2;
constexpr nanoseconds safety_margin = std::chrono::seconds(5);
// Errors that wait for somebody to take them; more only count.
constexpr std::size_t waiting_errors_max = 16;

std::int64_t size_of(const message& kept) {
  return static_cast<std::int64_t>(kept.subject().size() + kept.reply().size() + kept.header_block().size() +
                                   kept.payload().size());
}

std::string request_of(const std::string& subject, const std::string& inbox, const pull_options& with) {
  const pull_request request{.batch = with.batch(),
                             .expires = with.expires(),
                             .heartbeat = with.heartbeat(),
                             .max_bytes = with.max_bytes(),
                             .no_wait = false,
                             .group = with.group(),
                             .min_pending = with.min_pending(),
                             .min_ack_pending = with.min_ack_pending()};
  std::string out;
  protocol::append_publish(out, subject, inbox, {}, request.to_json());
  return out;
}

error stream_ended() { return error(errc::closed, "the pull stream has ended"); }

}  // namespace

pull_stream_core::pull_stream_core(std::shared_ptr<connection_core> connection, const std::string& api_prefix,
                                   const std::string& stream, const std::string& consumer, const pull_options& with,
                                   pull_stream::callback callback)
    : connection_(std::move(connection)),
      with_(with),
      info_subject_(api_prefix + ".CONSUMER.INFO." + stream + "." + consumer),
      inbox_(connection_->new_inbox()),
      request_(request_of(api_prefix + ".CONSUMER.MSG.NEXT." + stream + "." + consumer, inbox_, with)),
      name_(stream + "/" + consumer),
      callback_(std::move(callback)),
      silence_timer_(connection_->loop().timers(), [this] { on_silence(); }),
      safety_timer_(connection_->loop().timers(), [this] { on_safety(); }),
      pause_timer_(connection_->loop().timers(),
                   [this] {
                     lock held(mutex_);
                     holding_back_ = false;
                     ask_if_low(held);
                   }),
      info_timer_(connection_->loop().timers(), [this] { ask_info(); }) {}

result<void> pull_stream_core::open() {
  auto sid = connection_->subscribe(inbox_, {}, shared_from_this());
  if (!sid) return std::unexpected(std::move(sid).error());
  sid_ = *sid;
  if (callback_) {
    lock held(mutex_);
    begin(held);
  }
  return {};
}

void pull_stream_core::begin(lock& held) {
  if (std::exchange(begun_, true)) return;
  connected_ = connection_->state() != connection_state::reconnecting;
  ask_if_low(held);
}

// With the mutex held, on any thread. A request that cannot be sent is made up for by the reconnect or the safety
// timer.
void pull_stream_core::ask(lock&, counting how) {
  const auto sent = connection_->control(request_, [self = shared_from_this()] { self->request_left(); });
  if (!sent) return;
  ++statistics_.requests;
  const auto kept = how == counting::set ? static_cast<std::int64_t>(buffered_) : pending_;
  pending_ = kept + with_.batch();
  if (how == counting::set) pending_bytes_ = 0;
  pending_bytes_ += with_.max_bytes();
}

void pull_stream_core::ask_if_low(lock& held) {
  if (!begun_ || ended_ || !connected_ || recovering_ || holding_back_) return;
  const bool low = pending_ <= with_.refill_at();
  const bool low_bytes = with_.max_bytes() > 0 && pending_bytes_ <= with_.max_bytes() / 2;
  if (low || low_bytes) ask(held, counting::add);
}

void pull_stream_core::request_left() {
  const lock held(mutex_);
  if (ended_) return;
  asked_at_ = connection_->loop().now();
  safety_timer_.arm(asked_at_ + with_.expires() + safety_margin);
  if (with_.heartbeat() > nanoseconds::zero() && !silence_timer_.armed()) {
    heard_at_ = asked_at_;
    silence_timer_.arm(heard_at_ + with_.heartbeat() * missed_heartbeats);
  }
}

void pull_stream_core::on_message(const protocol::message_frame& frame) {
  heard_at_ = connection_->loop().now();
  if (const auto status = read_pull_status(frame); status.kind != pull_status::none) return on_status(status);
  troubles_ = 0;
  message received;
  received.assign(frame.subject, frame.reply, frame.header(), frame.payload());
  deliver(std::move(received));
}

void pull_stream_core::deliver(message received) {
  std::shared_ptr<operation_state<jetstream_message>> waiter;
  {
    lock held(mutex_);
    if (ended_) {
      // Was under way when the stream was cancelled: others get it at once, not after ack_wait.
      held.unlock();
      (void)jetstream_message(std::move(received), connection_).nak();
      return;
    }
    ++statistics_.messages;
    if (!callback_ && waiter_ == nullptr) {
      ++buffered_;
      items_.emplace_back(std::move(received));
      return;
    }
    --pending_;
    pending_bytes_ -= size_of(received);
    ask_if_low(held);
    waiter = std::exchange(waiter_, nullptr);
  }
  if (waiter) {
    result<jetstream_message> item(jetstream_message(std::move(received), connection_));
    if (waiter->complete(std::move(item))) return;
    // The wait was cancelled meanwhile: the message waits for the next one.
    const lock held(mutex_);
    const auto size = size_of(item->base());
    ++pending_;
    pending_bytes_ += size;
    ++buffered_;
    items_.emplace_front(std::move(*item).release());
    return;
  }
  calling_.store(true, std::memory_order_seq_cst);
  if (!stopped_.load(std::memory_order_seq_cst)) {
    try {
      callback_(jetstream_message(std::move(received), connection_));
    } catch (const std::exception& thrown) {
      connection_->emit({.what = connection_event::kind::callback_failed,
                         .subject = name_,
                         .reason = error(errc::handler_failed, thrown.what())});
    } catch (...) {
      connection_->emit({.what = connection_event::kind::callback_failed,
                         .subject = name_,
                         .reason = error(errc::handler_failed, "an exception of an unknown type")});
    }
  }
  calling_.store(false, std::memory_order_release);
}

void pull_stream_core::report(error problem, bool last) {
  std::shared_ptr<operation_state<jetstream_message>> waiter;
  {
    const lock held(mutex_);
    if (ended_) return;
    // Before anybody hears of it: who has the last error may ask ended() at once, from another thread.
    if (last) {
      ended_ = true;
      if (!end_) end_ = stream_ended();
    }
    if (!callback_) {
      waiter = std::exchange(waiter_, nullptr);
      if (waiter == nullptr) {
        if (errors_ < waiting_errors_max) {
          ++errors_;
          items_.emplace_back(std::move(problem));
        }
        return;
      }
    }
  }
  if (waiter) {
    waiter->complete(std::unexpected(std::move(problem)));
    return;
  }
  calling_.store(true, std::memory_order_seq_cst);
  if (!stopped_.load(std::memory_order_seq_cst)) {
    try {
      callback_(std::unexpected(std::move(problem)));
    } catch (...) {
      connection_->emit({.what = connection_event::kind::callback_failed,
                         .subject = name_,
                         .reason = error(errc::handler_failed, "the callback threw on an error")});
    }
  }
  calling_.store(false, std::memory_order_release);
}

void pull_stream_core::on_status(const pull_status_report& status) {
  bool verify = false;
  {
    const lock held(mutex_);
    switch (status.kind) {
      case pull_status::none:
        return;
      case pull_status::heartbeat:
        ++statistics_.heartbeats;
        degraded_ = recovering_;
        troubles_ = 0;
        return;
      case pull_status::expired:
        ++statistics_.expired;
        break;
      case pull_status::conflict:
        ++statistics_.conflicts;
        break;
      case pull_status::consumer_deleted:
        break;
      case pull_status::no_responders:
        ++statistics_.no_responders;
        verify = true;
        break;
      case pull_status::no_messages:
      case pull_status::other:
        ++statistics_.other_statuses;
        break;
    }
  }
  if (status.kind == pull_status::consumer_deleted) {
    return end_with(error(errc::consumer_deleted, name_ + ": " + std::string(status.text)));
  }
  if (status.kind == pull_status::expired) {
    lock held(mutex_);
    subtract(status);
    ask_if_low(held);
    return;
  }
  ++troubles_;
  if (status.kind == pull_status::conflict) {
    const lock held(mutex_);
    subtract(status);
  } else if (verify) {
    report(error(errc::no_responders, name_ + ": the consumer does not answer"));
    return recover(false);
  } else {
    {
      const lock held(mutex_);
      subtract(status);
    }
    report(error(errc::pull_failed, name_ + ": " + std::to_string(status.code) + " " + std::string(status.text)));
  }
  ask_again_after_trouble();
}

// A header that is missing means a whole request (service 16.6). What is buffered stays counted.
void pull_stream_core::subtract(const pull_status_report& status) {
  const auto messages = status.messages_left >= 0 ? status.messages_left : static_cast<std::int64_t>(with_.batch());
  const auto bytes = status.bytes_left >= 0 ? status.bytes_left : with_.max_bytes();
  pending_ = std::max(pending_ - messages, static_cast<std::int64_t>(buffered_));
  pending_bytes_ = std::max<std::int64_t>(pending_bytes_ - bytes, 0);
}

// The first time at once; then with growing pauses, so that a server which refuses every request is not flooded.
void pull_stream_core::ask_again_after_trouble() {
  lock held(mutex_);
  if (troubles_ > 1) {
    holding_back_ = true;
    const auto exponent = std::min<std::uint32_t>(troubles_ - 2, 6);
    const nanoseconds pause =
        std::min<nanoseconds>(std::chrono::milliseconds(100) * (1 << exponent), std::chrono::seconds(5));
    pause_timer_.arm(connection_->loop().now() + pause);
  }
  ask_if_low(held);
}

void pull_stream_core::on_silence() {
  {
    const lock held(mutex_);
    if (ended_ || !connected_ || recovering_) return;
    if (pending_ <= static_cast<std::int64_t>(buffered_)) return;  // no request is open: the next one arms it again
    const auto due = heard_at_ + with_.heartbeat() * missed_heartbeats;
    if (connection_->loop().now() < due) return silence_timer_.arm(due);
    ++statistics_.missed_heartbeats;
    degraded_ = true;
  }
  report(error(errc::missing_heartbeat, name_ + ": nothing was heard for two heartbeats"));
  recover(false);
}

void pull_stream_core::on_safety() {
  lock held(mutex_);
  if (ended_ || !connected_ || recovering_) return;
  // Enough is buffered: whoever takes it decides. Otherwise a request or a status was lost.
  if (static_cast<std::int64_t>(buffered_) > with_.refill_at()) {
    return safety_timer_.arm(connection_->loop().now() + with_.expires() + safety_margin);
  }
  ++statistics_.safety_requests;
  ask(held, counting::set);
}

std::optional<pull_stream::item> pull_stream_core::take(lock& held) {
  if (items_.empty()) return std::nullopt;
  auto front = std::move(items_.front());
  items_.pop_front();
  if (auto* problem = std::get_if<error>(&front)) {
    --errors_;
    return pull_stream::item(std::unexpected(std::move(*problem)));
  }
  auto& received = std::get<message>(front);
  --buffered_;
  --pending_;
  pending_bytes_ -= size_of(received);
  ask_if_low(held);
  return pull_stream::item(jetstream_message(std::move(received), connection_));
}

operation<jetstream_message> pull_stream_core::next() {
  using outcome = operation<jetstream_message>;
  if (callback_) return outcome::ended(fail(errc::unsupported, "items of this pull stream go to its callback"));
  lock held(mutex_);
  begin(held);
  if (auto item = take(held)) return outcome::ended(*std::move(item));
  if (ended_) return outcome::ended(std::unexpected(end_.value_or(stream_ended())));
  if (waiter_ != nullptr && !waiter_->done()) {
    return outcome::ended(fail(errc::invalid_argument, "another next() waits already"));
  }
  waiter_ = std::make_shared<operation_state<jetstream_message>>(connection_->loop_identity());
  return outcome(waiter_);
}

std::optional<pull_stream::item> pull_stream_core::try_next() {
  lock held(mutex_);
  begin(held);
  return take(held);
}

bool pull_stream_core::ended() const {
  const lock held(mutex_);
  return ended_ && items_.empty();
}

std::vector<std::string> pull_stream_core::waiting_replies() const {
  const lock held(mutex_);
  std::vector<std::string> replies;
  replies.reserve(buffered_);
  for (const auto& item : items_) {
    if (const auto* waiting = std::get_if<message>(&item)) replies.emplace_back(waiting->reply());
  }
  return replies;
}

bool pull_stream_core::degraded() const {
  const lock held(mutex_);
  return degraded_;
}

std::size_t pull_stream_core::buffered() const {
  const lock held(mutex_);
  return items_.size();
}

pull_statistics pull_stream_core::statistics() const {
  const lock held(mutex_);
  return statistics_;
}

std::vector<jetstream_message> pull_stream_core::cancel() {
  std::vector<jetstream_message> rest;
  std::shared_ptr<operation_state<jetstream_message>> waiter;
  {
    const lock held(mutex_);
    ended_ = true;
    if (!end_) end_ = stream_ended();
    for (auto& item : items_) {
      if (auto* kept = std::get_if<message>(&item)) rest.emplace_back(std::move(*kept), connection_);
    }
    items_.clear();
    buffered_ = errors_ = 0;
    waiter = std::exchange(waiter_, nullptr);
  }
  // Until the PONG, so that what is still under way comes to deliver().
  (void)connection_->drain_subscription(sid_).done();
  if (waiter) waiter->complete(std::unexpected(stream_ended()));
  return rest;
}

void pull_stream_core::abandon() {
  stopped_.store(true, std::memory_order_seq_cst);
  for (auto& rest : cancel()) (void)rest.nak();
  if (connection_->loop().on_loop_thread()) return;
  while (calling_.load(std::memory_order_seq_cst)) std::this_thread::yield();
}

// An error as the last item, then nothing.
void pull_stream_core::end_with(error why) {
  report(std::move(why), true);
  connection_->unsubscribe(sid_);
}

void pull_stream_core::on_end(const error& why) {
  for (auto* timer : {&silence_timer_, &safety_timer_, &pause_timer_, &info_timer_}) timer->disarm();
  ++recovery_;
  std::shared_ptr<operation_state<jetstream_message>> waiter;
  {
    const lock held(mutex_);
    ended_ = true;
    if (!end_) end_ = why;
    waiter = std::exchange(waiter_, nullptr);
  }
  if (waiter) waiter->complete(std::unexpected(why));
}

}  // namespace tern::client::detail
