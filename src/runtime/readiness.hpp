// The reactor of a shard: which descriptors may be read or written. One level-triggered epoll set, in which a
// descriptor is registered once and changed only when what is wanted of it changes: an event costs its share of one
// epoll_wait.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstddef>
#include <memory>

struct epoll_event;

namespace tern::runtime {

// Owned by its shard. One thread, the loop's, except for wake(). Costs no descriptor before the first open().
class readiness {
 public:
  struct events {
    bool read = false;
    bool write = false;
    bool operator==(const events&) const = default;
  };

  // Told about its descriptor from within tell(). Known by its address while it is watching. on_ready() may add,
  // change and forget any watcher, itself included.
  class watcher {
   public:
    // The end of the stream and failures count as both.
    virtual void on_ready(events what) = 0;

   protected:
    ~watcher() = default;
  };

  readiness();
  ~readiness();
  readiness(const readiness&) = delete;
  readiness& operator=(const readiness&) = delete;

  // Makes the set; without effect when there is one. Fails when the process has no descriptors left.
  result<void> open();

  // The descriptor stays the caller's, who forgets it before closing: a copy of it in a forked process would keep it
  // registered. Failing is for lack of memory or of watches that the system grants.
  result<void> watch(int descriptor, watcher& by, events wanted);
  // With nothing wanted a failure of the descriptor is still told, once.
  void change(int descriptor, watcher& by, events wanted);
  void forget(int descriptor, watcher& by);

  // Asks the system once which descriptors are ready: at most `events_max` of them, the others come first the next
  // time. Waiting needs an open set and ends with an event, an alarm, a wake, or a signal of the process. Without
  // descriptors and without waiting: no system call.
  void gather(bool may_wait);
  // Tells each watcher whose descriptor was found ready. Returns how many were told.
  std::size_t tell();
  static constexpr std::size_t events_max = 256;

  // Makes a wait end at `deadline`, which is `from_now` away. An alarm for earlier stays, for it is cheaper to wake
  // once for nothing than to set an alarm before each wait.
  void set_alarm(time_point deadline, nanoseconds from_now);

  // Any thread, once open: ends the wait at hand, or the next one.
  void wake() const;

  // The set itself, readable while there is something to gather.
  int descriptor() const { return set_; }

 private:
  int control(int operation, int descriptor, watcher& by, events wanted);
  void close_all();

  int set_ = -1;
  int wake_ = -1;   // an eventfd
  int alarm_ = -1;  // a timerfd
  bool alarm_is_set_ = false;
  time_point alarm_at_{};
  std::size_t watched_ = 0;
  // What was gathered and not told yet: from next_ to count_. Allocated by open().
  std::unique_ptr<epoll_event[]> batch_;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace tern::runtime
