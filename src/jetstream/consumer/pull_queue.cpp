#include "jetstream/consumer/pull_queue.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::size_t spare_max = 64;

}  // namespace

pull_queue::pull_queue(timer_queue& timers, std::function<void(waiting_pull&)> on_clock)
    : timers_(timers), on_clock_(std::move(on_clock)) {}

pull_queue::list::iterator pull_queue::place_for(std::int64_t priority, bool by_priority) {
  auto at = waiting_.end();
  if (!by_priority) return at;
  while (at != waiting_.begin() && std::prev(at)->asked.priority > priority) --at;
  return at;
}

waiting_pull& pull_queue::add(const pull_request& asked, std::string_view reply, bool by_priority) {
  if (spare_.empty()) {
    waiting_pull& made = spare_.emplace_back();
    made.place = std::prev(spare_.end());
    made.clock = std::make_unique<timer_queue::timer>(timers_, [this, &made] { on_clock_(made); });
  }
  waiting_pull& added = spare_.front();
  added.asked = asked;
  added.reply.assign(reply);
  added.delivered = 0;
  added.bounded_bytes = asked.max_bytes > 0;
  added.expires_at.reset();
  waiting_.splice(place_for(asked.priority, by_priority), spare_, spare_.begin());
  if (asked.no_wait) ++no_wait_;
  return added;
}

void pull_queue::remove(waiting_pull& what) {
  if (what.asked.no_wait) --no_wait_;
  what.clock->disarm();
  spare_.splice(spare_.end(), waiting_, what.place);
  // The request's own timer may be what runs now, so the newest spare one stays.
  while (spare_.size() > spare_max) spare_.pop_front();
}

void pull_queue::rotate(waiting_pull& what, bool by_priority) {
  const auto at = what.place;
  if (!by_priority) {
    waiting_.splice(waiting_.end(), waiting_, at);
    return;
  }
  list moved;
  moved.splice(moved.end(), waiting_, at);
  waiting_.splice(place_for(what.asked.priority, true), moved);
}

void pull_queue::clear() {
  while (!waiting_.empty()) remove(waiting_.front());
}

}  // namespace tern::jetstream
