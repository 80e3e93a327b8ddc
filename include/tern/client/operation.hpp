/// What every operation of the client returns: one result with three faces.
///
///     auto reply = co_await connection.request("time", "");                       // coroutine, any executor
///     auto reply = connection.request("time", "").get();                          // blocking
///     connection.request("time", "").then([](tern::result<message> reply) { ... });   // callback
///
/// The operation has already begun when the function returns; dropping the value drops the answer, not the operation.
///  - An operation is an `awaitable<result<T>>`: await it once, with any executor; the coroutine goes on there.
///  - get() waits on the calling thread. On the thread of the connection's own loop nobody would complete it, so there
///  it
///    fails at once with errc::invalid_argument, unless the result stands already.
///  - then() runs the callback on the connection's loop, or at once when the result stands already.
/// Asio's cancellation (for example `operator||`) ends the wait with errc::cancelled.
/// Use one face, once. Thread safety: like any value. Source: design 3.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <tern/base/error.hpp>

namespace tern::client {

namespace detail {

// True on a thread that runs the loop with this identity (null: no loop at all).
bool on_loop_thread(const void* loop) noexcept;

// Shared by the loop, which completes it once, and by whoever waits for it.
template <class T>
class operation_state {
 public:
  using callback = std::move_only_function<void(result<T>)>;

  explicit operation_state(const void* loop) : loop_(loop) {}

  // Any thread. The first completion counts; a later one leaves `outcome` untouched and returns false.
  bool complete(result<T>&& outcome) {
    callback waiter;
    {
      std::lock_guard lock(mutex_);
      if (completed_) return false;
      completed_ = true;
      if (waiter_ == nullptr) {
        outcome_.emplace(std::move(outcome));
      } else {
        waiter = std::move(waiter_);
      }
      done_.store(true, std::memory_order_release);
      if (blocked_) condition_.notify_all();
    }
    if (waiter) waiter(std::move(outcome));
    return true;
  }
  void cancel() { complete(fail(errc::cancelled, "the operation was cancelled")); }

  bool done() const { return done_.load(std::memory_order_acquire); }
  result<T> take() {
    std::lock_guard lock(mutex_);
    return std::move(*outcome_);
  }
  void then(callback waiter) {
    {
      std::lock_guard lock(mutex_);
      if (!completed_) {
        waiter_ = std::move(waiter);
        return;
      }
    }
    waiter(std::move(*outcome_));
  }
  result<T> get() {
    if (!done() && on_loop_thread(loop_)) {
      return fail(errc::invalid_argument, "waiting on the thread of the connection's loop would never end",
                  "await the operation, or give it a callback");
    }
    std::unique_lock lock(mutex_);
    blocked_ = true;
    condition_.wait(lock, [this] { return completed_; });
    return std::move(*outcome_);
  }

 private:
  const void* loop_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::optional<result<T>> outcome_;
  callback waiter_;
  bool completed_ = false;
  bool blocked_ = false;
  std::atomic<bool> done_ = false;
};

// Starts the wait of a coroutine: keeps its executor busy meanwhile and resumes it there. A class, not a lambda that
// captures by value: design 3.
template <class T>
class operation_wait {
 public:
  operation_wait(std::shared_ptr<operation_state<T>> state, std::shared_ptr<std::optional<result<T>>> slot)
      : state_(std::move(state)), slot_(std::move(slot)) {}

  template <class Handler>
  void operator()(Handler&& handler) {
    auto executor = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                        boost::asio::execution::outstanding_work.tracked);
    auto cancellation = boost::asio::get_associated_cancellation_slot(handler);
    if (cancellation.is_connected()) {
      cancellation.assign([state = std::weak_ptr(state_)](boost::asio::cancellation_type) {
        if (auto alive = state.lock()) alive->cancel();
      });
    }
    state_->then([slot = slot_, executor = std::move(executor),
                  handler = std::forward<Handler>(handler)](result<T> outcome) mutable {
      slot->emplace(std::move(outcome));
      boost::asio::post(executor, std::move(handler));
    });
  }

 private:
  std::shared_ptr<operation_state<T>> state_;
  std::shared_ptr<std::optional<result<T>>> slot_;
};

template <class T>
boost::asio::awaitable<result<T>> await_operation(std::shared_ptr<operation_state<T>> state) {
  if (state->done()) co_return state->take();
  auto slot = std::make_shared<std::optional<result<T>>>();
  operation_wait<T> wait(state, slot);
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(wait, boost::asio::use_awaitable);
  co_return std::move(**slot);
}

}  // namespace detail

template <class T>
class [[nodiscard]] operation : public boost::asio::awaitable<result<T>> {
 public:
  explicit operation(std::shared_ptr<detail::operation_state<T>> state)
      : boost::asio::awaitable<result<T>>(detail::await_operation<T>(state)), state_(std::move(state)) {}

  /// An operation that ended before it began.
  static operation ended(result<T> outcome) {
    auto state = std::make_shared<detail::operation_state<T>>(nullptr);
    state->complete(std::move(outcome));
    return operation(std::move(state));
  }

  result<T> get() { return state_->get(); }
  void then(std::move_only_function<void(result<T>)> callback) { state_->then(std::move(callback)); }
  /// True once the result stands.
  bool done() const { return state_->done(); }

 private:
  std::shared_ptr<detail::operation_state<T>> state_;
};

}  // namespace tern::client
