// Timers as data: state machines arm timers here, the loop that owns the queue asks for the earliest deadline and fires
// what is due. Nothing in it reads a clock. One thread.
#pragma once

#include <tern/base/time.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace tern {

// Invariants: heap_ is a binary heap by (deadline, arm order); each armed timer knows its place in it, so arming,
// re-arming and disarming cost O(log n). Timers with one deadline fire in the order in which they were armed.
class timer_queue {
 public:
  // Owned by whoever waits; disarms itself on destruction. Must not outlive its queue. Neither copied nor moved.
  class timer {
   public:
    timer(timer_queue& queue, std::move_only_function<void()> action) : queue_(&queue), action_(std::move(action)) {}
    ~timer() {
      if (destroyed_ != nullptr) *destroyed_ = true;
      disarm();
    }
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    // Replaces an earlier deadline. The action runs once, on the queue's thread; it may re-arm or destroy any timer,
    // itself included.
    void arm(time_point deadline);
    void disarm();
    bool armed() const { return place_ != npos; }
    time_point deadline() const { return deadline_; }  // of the last arm()

   private:
    friend class timer_queue;
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);
    timer_queue* queue_;
    std::move_only_function<void()> action_;
    time_point deadline_{};
    std::size_t place_ = npos;
    bool* destroyed_ = nullptr;  // set while the action runs, so that it may destroy its own timer
  };

  timer_queue() = default;
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;

  std::optional<time_point> earliest() const;
  std::size_t size() const { return heap_.size(); }

  // Fires, in order, every timer that was due at `now` when the call began; one armed by an action waits for the next
  // call, so that an action which re-arms itself for the past cannot hold the loop. Returns how many fired.
  std::size_t run_due(time_point now);

 private:
  struct entry {
    time_point deadline;
    std::uint64_t order;
    timer* owner;
  };
  static bool before(const entry& a, const entry& b) {
    return a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order;
  }
  void place(std::size_t at, entry value);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void insert(timer& owner);
  void remove(timer& owner);

  std::vector<entry> heap_;
  std::optional<time_point> firing_at_;  // set while run_due() runs
  std::uint64_t next_order_ = 0;
};

}  // namespace tern
