// Items between the loop, which produces them, and whoever takes them: a callback on the loop, or next() on any thread.
//
// Owned by shared pointers of a handle and of the producer. The buffer and the waiter are under the mutex; the callback
// runs without it. Invariants: at most one next() waits, and only while nothing is buffered; after stop() no callback
// begins, and stop() returns when none is running (unless it is called from one).
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <tern/client/operation.hpp>

#include "client/connection_core.hpp"

namespace tern::client::detail {

template <class T>
class item_queue {
 public:
  using item = result<T>;
  using callback = std::move_only_function<void(item&&)>;

  item_queue(connection_core& core, std::string name, callback to)
      : loop_(core.loop()), name_(std::move(name)), callback_(std::move(to)) {}

  // --- the loop's thread ---
  void push(item what) {
    if (callback_) return call(std::move(what));
    std::shared_ptr<operation_state<T>> waiter;
    {
      const std::lock_guard lock(mutex_);
      if (end_) return;
      waiter = std::exchange(waiter_, nullptr);
      if (waiter == nullptr) {
        items_.push_back(std::move(what));
        return;
      }
    }
    if (waiter->complete(std::move(what))) return;
    const std::lock_guard lock(mutex_);  // the wait was cancelled meanwhile: the item waits for the next one
    items_.push_front(std::move(what));
  }
  void end(error why) {
    std::shared_ptr<operation_state<T>> waiter;
    {
      const std::lock_guard lock(mutex_);
      if (end_) return;
      end_ = why;
      waiter = std::exchange(waiter_, nullptr);
    }
    if (waiter) waiter->complete(std::unexpected(why));
    // Told to a callback only when somebody else than its owner ended it.
    if (callback_) call(std::unexpected(std::move(why)));
  }
  // Called on the loop, once, when nothing is buffered any more; at once when nothing is.
  void when_taken(std::move_only_function<void()> action) {
    {
      const std::lock_guard lock(mutex_);
      if (!items_.empty()) {
        when_taken_ = std::move(action);
        return;
      }
    }
    action();
  }

  // --- any thread ---
  operation<T> next() {
    if (callback_) return operation<T>::ended(fail(errc::unsupported, "items of " + name_ + " go to its callback"));
    auto state = std::make_shared<operation_state<T>>(&loop_);
    {
      std::unique_lock lock(mutex_);
      if (!items_.empty()) {
        state->complete(take(lock));
        return operation<T>(state);
      }
      if (end_) return operation<T>::ended(std::unexpected(*end_));
      if (waiter_ != nullptr && !waiter_->done()) {
        return operation<T>::ended(fail(errc::invalid_argument, "another next() waits already"));
      }
      waiter_ = state;
    }
    return operation<T>(state);
  }
  std::optional<item> try_next() {
    std::unique_lock lock(mutex_);
    if (items_.empty()) return std::nullopt;
    return take(lock);
  }
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return end_.has_value() && items_.empty();
  }
  std::size_t buffered() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  void stop() {
    stopped_.store(true, std::memory_order_seq_cst);
    {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = error(errc::closed, name_ + " has ended");
      when_taken_ = nullptr;
    }
    if (loop_.on_loop_thread()) return;
    while (calling_.load(std::memory_order_seq_cst)) std::this_thread::yield();
  }

 private:
  void call(item&& what) {
    // Sequentially consistent with stop(): either it sees calling_, or this sees stopped_.
    calling_.store(true, std::memory_order_seq_cst);
    if (!stopped_.load(std::memory_order_seq_cst)) {
      try {
        callback_(std::move(what));
      } catch (...) {  // what a callback throws has nobody to go to; the item counts as handled
      }
    }
    calling_.store(false, std::memory_order_release);
  }
  item take(std::unique_lock<std::mutex>&) {
    item taken = std::move(items_.front());
    items_.pop_front();
    if (items_.empty() && when_taken_) loop_.post(std::exchange(when_taken_, nullptr));
    return taken;
  }

  runtime::shard& loop_;  // outlives the queue: its producer and its handle hold the connection
  const std::string name_;
  callback callback_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> calling_ = false;
  mutable std::mutex mutex_;
  std::deque<item> items_;
  std::shared_ptr<operation_state<T>> waiter_;
  std::optional<error> end_;
  std::move_only_function<void()> when_taken_;
};

}  // namespace tern::client::detail
