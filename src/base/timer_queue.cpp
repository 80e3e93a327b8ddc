#include "base/timer_queue.hpp"

#include <cassert>

namespace tern {

void timer_queue::timer::arm(time_point deadline) {
  if (armed()) queue_->remove(*this);
  deadline_ = deadline;
  queue_->insert(*this);
}

void timer_queue::timer::disarm() {
  if (armed()) queue_->remove(*this);
}

std::optional<time_point> timer_queue::earliest() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().deadline;
}

std::size_t timer_queue::run_due(time_point now) {
  firing_at_ = now;
  std::size_t fired = 0;
  while (!heap_.empty() && heap_.front().deadline <= now) {
    timer& due = *heap_.front().owner;
    remove(due);
    ++fired;
    // The action is moved out while it runs, so that it may destroy the timer that holds it.
    bool destroyed = false;
    due.destroyed_ = &destroyed;
    auto action = std::move(due.action_);
    action();
    if (!destroyed) {
      due.destroyed_ = nullptr;
      due.action_ = std::move(action);
    }
  }
  firing_at_.reset();
  return fired;
}

void timer_queue::place(std::size_t at, entry value) {
  heap_[at] = value;
  value.owner->place_ = at;
}

void timer_queue::sift_up(std::size_t at) {
  const entry moving = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!before(moving, heap_[parent])) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, moving);
}

void timer_queue::sift_down(std::size_t at) {
  const entry moving = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], moving)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, moving);
}

void timer_queue::insert(timer& owner) {
  // Armed by an action for a time that is due: behind all that is due now, so that nobody starves.
  const bool waits = firing_at_ && owner.deadline_ <= *firing_at_;
  heap_.push_back({waits ? *firing_at_ + nanoseconds(1) : owner.deadline_, next_order_++, &owner});
  owner.place_ = heap_.size() - 1;
  sift_up(owner.place_);
}

void timer_queue::remove(timer& owner) {
  const std::size_t at = owner.place_;
  assert(at < heap_.size() && heap_[at].owner == &owner);
  owner.place_ = timer::npos;
  const entry last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  place(at, last);
  sift_up(at);
  sift_down(last.owner->place_);
}

}  // namespace tern
