#include "client/subscription_core.hpp"

#include <exception>
#include <thread>

namespace tern::client::detail {
namespace {

std::size_t size_of(const message& kept) {
  return kept.subject().size() + kept.reply().size() + kept.header_block().size() + kept.payload().size();
}

}  // namespace

subscription_core::subscription_core(std::shared_ptr<connection_core> connection, std::string subject,
                                     subscription::callback callback, std::size_t buffer_messages,
                                     std::size_t buffer_bytes)
    : connection_(connection->weak_from_this()),
      core_(*connection),
      loop_identity_(connection->loop_identity()),
      subject_(std::move(subject)),
      callback_(std::move(callback)),
      patience_timer_(connection->loop().timers(), [this] { on_patience_over(); }),
      messages_max_(buffer_messages),
      bytes_max_(buffer_bytes) {}

void subscription_core::on_message(const protocol::message_frame& frame) {
  received_.store(received_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (callback_) {
    call(frame);
  } else {
    keep(frame);
  }
}

void subscription_core::call(const protocol::message_frame& frame) {
  // Sequentially consistent with abandon(): either it sees calling_, or this sees stopped_.
  calling_.store(true, std::memory_order_seq_cst);
  if (!stopped_.load(std::memory_order_seq_cst)) {
    scratch_.assign(frame.subject, frame.reply, frame.header(), frame.payload());
    try {
      callback_(std::move(scratch_));
    } catch (const std::exception& thrown) {
      core_.emit({.what = connection_event::kind::callback_failed,
                  .subject = subject_,
                  .reason = error(errc::handler_failed, thrown.what())});
    } catch (...) {
      core_.emit({.what = connection_event::kind::callback_failed,
                  .subject = subject_,
                  .reason = error(errc::handler_failed, "an exception of an unknown type")});
    }
  }
  calling_.store(false, std::memory_order_release);
}

void subscription_core::keep(const protocol::message_frame& frame) {
  message kept;
  kept.assign(frame.subject, frame.reply, frame.header(), frame.payload());
  std::shared_ptr<operation_state<message>> waiter;
  bool became_slow = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return;
    if (waiter_ != nullptr) {
      waiter = std::exchange(waiter_, nullptr);
    } else if (buffer_.size() >= messages_max_ || buffered_bytes_ + size_of(kept) > bytes_max_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      core_.count_dropped();
      became_slow = !std::exchange(slow_, true);
    } else {
      buffered_bytes_ += size_of(kept);
      buffer_.push_back(std::move(kept));
      return;
    }
  }
  if (became_slow) {
    core_.emit({.what = connection_event::kind::slow_consumer,
                .subject = subject_,
                .reason = error(errc::limit_exceeded, "the subscription's buffer is full; messages are dropped")});
  }
  if (waiter == nullptr) return;
  patience_timer_.disarm();
  result<message> outcome(std::move(kept));
  if (waiter->complete(std::move(outcome))) return;
  // The wait was cancelled meanwhile: the message waits for the next one.
  const std::lock_guard lock(mutex_);
  buffered_bytes_ += size_of(*outcome);
  buffer_.push_front(*std::move(outcome));
}

void subscription_core::on_end(const error& why) {
  patience_timer_.disarm();
  std::shared_ptr<operation_state<message>> waiter;
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = why;
    waiter = std::exchange(waiter_, nullptr);
  }
  ended_.store(true, std::memory_order_release);
  if (waiter) waiter->complete(std::unexpected(why));
}

void subscription_core::on_patience_over() {
  std::shared_ptr<operation_state<message>> waiter;
  {
    const std::lock_guard lock(mutex_);
    waiter = std::exchange(waiter_, nullptr);
  }
  if (waiter) waiter->complete(fail(errc::timeout, "no message on '" + subject_ + "' in time"));
}

message subscription_core::take_front() {
  message taken = std::move(buffer_.front());
  buffer_.pop_front();
  buffered_bytes_ -= size_of(taken);
  if (buffer_.empty()) {
    slow_ = false;
    if (end_) {  // who drains the connection waits for this
      if (const auto connection = connection_.lock()) connection->loop().post([] {});
    }
  }
  return taken;
}

operation<message> subscription_core::next(std::optional<nanoseconds> patience) {
  if (callback_) {
    return operation<message>::ended(fail(errc::unsupported, "messages of this subscription go to its callback"));
  }
  auto state = std::make_shared<operation_state<message>>(loop_identity_);
  {
    const std::lock_guard lock(mutex_);
    if (!buffer_.empty()) {
      state->complete(take_front());
      return operation<message>(state);
    }
    if (end_) return operation<message>::ended(std::unexpected(*end_));
    if (waiter_ != nullptr && !waiter_->done()) {
      return operation<message>::ended(fail(errc::invalid_argument, "another next() waits already"));
    }
    waiter_ = state;
  }
  if (patience) {
    const auto connection = connection_.lock();
    if (!connection) return operation<message>(state);
    const auto due = connection->loop().time().now() + *patience;
    connection->loop().post([weak = weak_from_this(), state, due] {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (self->waiter_ == state) self->patience_timer_.arm(due);
    });
  }
  return operation<message>(state);
}

std::optional<message> subscription_core::try_next() {
  const std::lock_guard lock(mutex_);
  if (buffer_.empty()) return std::nullopt;
  return take_front();
}

void subscription_core::unsubscribe(std::uint64_t max_messages) {
  const auto connection = connection_.lock();
  if (connection) connection->unsubscribe(sid_.load(std::memory_order_acquire), max_messages);
  if (max_messages == 0) stopped_.store(true, std::memory_order_seq_cst);
}

operation<void> subscription_core::drain() {
  const auto connection = connection_.lock();
  if (!connection) return operation<void>::ended({});
  return connection->drain_subscription(sid_.load(std::memory_order_acquire));
}

void subscription_core::abandon() {
  stopped_.store(true, std::memory_order_seq_cst);
  const auto connection = connection_.lock();
  if (connection == nullptr) return;
  if (active()) connection->unsubscribe(sid_.load(std::memory_order_acquire), 0);
  if (connection->loop().on_loop_thread()) return;
  while (calling_.load(std::memory_order_seq_cst)) std::this_thread::yield();
}

std::size_t subscription_core::pending() const {
  const std::lock_guard lock(mutex_);
  return buffer_.size();
}

}  // namespace tern::client::detail
