// One subscription of the user: a callback that the loop calls, or a buffer between the loop and next().
//
// Owned by its handle and by the connection's table. The buffer and what waits at it are under the mutex; the callback
// runs without it, on the loop. Invariant: at most one next() waits, and only while the buffer is empty.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tern/client/subscription.hpp>

#include "base/timer_queue.hpp"
#include "client/connection_core.hpp"
#include "client/message_sink.hpp"

namespace tern::client::detail {

class subscription_core final : public message_sink, public std::enable_shared_from_this<subscription_core> {
 public:
  subscription_core(std::shared_ptr<connection_core> connection, std::string subject, subscription::callback callback,
                    std::size_t buffer_messages, std::size_t buffer_bytes);

  // --- any thread ---
  operation<message> next(std::optional<nanoseconds> patience);
  std::optional<message> try_next();
  void set_sid(std::uint64_t sid) { sid_.store(sid, std::memory_order_release); }
  void unsubscribe(std::uint64_t max_messages);
  operation<void> drain();
  void abandon();  // the handle goes: no callback runs after this

  bool active() const { return !ended_.load(std::memory_order_acquire); }
  const std::string& subject() const { return subject_; }
  std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::size_t pending() const;

  // --- the loop's thread ---
  void on_message(const protocol::message_frame& frame) override;
  void on_end(const error& why) override;
  bool drains() const override { return true; }
  bool idle() const override { return pending() == 0; }

 private:
  void call(const protocol::message_frame& frame);
  void keep(const protocol::message_frame& frame);
  void on_patience_over();
  message take_front();

  std::weak_ptr<connection_core> connection_;
  connection_core& core_;  // used on the loop only: alive while the interest is in its table
  const void* const loop_identity_;
  const std::string subject_;
  std::atomic<std::uint64_t> sid_ = 0;
  std::atomic<std::uint64_t> received_ = 0;  // written by the loop
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<bool> stopped_ = false;  // nothing is handed out any more
  std::atomic<bool> ended_ = false;

  // The loop's own.
  subscription::callback callback_;
  message scratch_;  // its memory serves the next message when the callback did not take it
  std::atomic<bool> calling_ = false;
  timer_queue::timer patience_timer_;

  mutable std::mutex mutex_;
  std::deque<message> buffer_;
  std::size_t buffered_bytes_ = 0;
  const std::size_t messages_max_;
  const std::size_t bytes_max_;
  bool slow_ = false;  // told once, until the buffer has emptied
  std::shared_ptr<operation_state<message>> waiter_;
  std::optional<error> end_;
};

}  // namespace tern::client::detail
