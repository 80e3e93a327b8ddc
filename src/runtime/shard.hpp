// A shard: one thread, one event loop, everything that it owns. The same class runs in production, where run() waits in
// the reactor, and in tests, where somebody calls run_ready() and moves a paused clock.
//
// A turn: posted work and handlers run, then what the descriptors that are ready bring (asked for once, waited for when
// nothing else ran), due timers fire, then each turn_end hook runs once (a server writes its dirty connections there;
// storage starts its next commit). Hooks may post; that makes another turn. Work, handlers and events of one turn are
// limited, so that timers and hooks are never starved.
#pragma once

#include "base/timer_queue.hpp"
#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/readiness.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace tern::runtime {

class shard {
 public:
  // The clock and the source of randomness outlive the shard.
  shard(clock& time, random& randomness);
  ~shard();
  shard(const shard&) = delete;
  shard& operator=(const shard&) = delete;

  // --- any thread ---
  void post(std::move_only_function<void()> work);  // runs on the loop, in order of posting
  void stop();                                      // run() returns after the turn at hand

  // --- the loop's thread ---
  // Read once a turn, when first asked for, so that all events of a turn share it.
  time_point now() const {
    if (!now_is_read_) read_now();
    return now_;
  }
  time_point refresh_now();  // reads the clock again; for long turns
  random& randomness() { return randomness_; }
  clock& time() { return clock_; }
  timer_queue& timers() { return timers_; }
  readiness& reactor() { return reactor_; }  // of sockets and signals
  // Executor of coroutines, and home of what its users have of Asio's own objects. Any thread may post to it, unless it
  // was told to sleep:
  boost::asio::io_context& context() { return context_; }
  // From now on other threads reach this shard through post() alone; to the context they may only post what completes
  // an operation that was started on the loop (a resolver does). In return a shard whose context has no work waits in
  // its own reactor, two system calls cheaper than waiting in Asio for both. For shards that run no foreign code.
  void context_sleeps_when_idle();
  // The thread of the latest run() or run_ready(), before that the one that made the shard.
  bool on_loop_thread() const;

  // Hooks run in the order of registration. The handle removes its hook on destruction.
  class hook_handle;
  [[nodiscard]] std::unique_ptr<hook_handle> at_turn_end(std::move_only_function<void()> hook);

  // Production: until stop(). Throws std::system_error when the process has no descriptors left for the reactor.
  void run();
  // Tests: turns until nothing is ready, without waiting and without moving the clock; at most `turn_limit` of them.
  // Returns the number of turns taken, 0 when there was nothing to do.
  std::size_t run_ready(std::size_t turn_limit = 1'000'000);
  // The earliest deadline of the timer queue, for whoever moves a paused clock.
  std::optional<time_point> next_deadline() const { return timers_.earliest(); }

 private:
  struct implementation;

  bool turn(bool may_wait);
  std::size_t run_posted();
  std::size_t run_handlers();
  std::size_t run_round();
  bool timer_is_due() const;
  std::size_t wait();
  std::size_t wait_in_context();
  std::size_t run_events();
  void run_hooks();
  void adopt_thread();
  void read_now() const;

  clock& clock_;
  random& randomness_;
  mutable time_point now_{};
  mutable bool now_is_read_ = false;
  // The order of destruction matters: handlers that are still queued in the context may own timers and streams, and may
  // post.
  readiness reactor_;
  timer_queue timers_;
  std::unique_ptr<implementation> implementation_;
  boost::asio::io_context context_;
};

class shard::hook_handle {
 public:
  virtual ~hook_handle() = default;
};

}  // namespace tern::runtime
