// The pull requests that wait at one consumer, in the order in which they are served (jetstream 15).
#pragma once

#include "base/timer_queue.hpp"
#include "jetstream/consumer/pull_request.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace tern::jetstream {

struct waiting_pull {
  pull_request asked;  // `batch` and `max_bytes` count down: what is left, raw as given
  std::string reply;
  std::uint64_t delivered = 0;
  bool bounded_bytes = false;  // max_bytes was given
  std::optional<time_point> expires_at;
  time_point next_heartbeat{};                // when asked.idle_heartbeat is set
  std::unique_ptr<timer_queue::timer> clock;  // expiry and heartbeats
  std::list<waiting_pull>::iterator place;    // its own, in whichever list of the queue holds it

  bool satisfied() const { return asked.batch <= 0; }
};

// FIFO, by priority first where priorities are used; a request that was served and wants more goes behind those of its
// priority. Nodes are kept for reuse, so that a busy queue does not allocate. Addresses are stable until remove().
class pull_queue {
 public:
  // `on_clock` runs when a request's timer fires; it may remove the request.
  pull_queue(timer_queue& timers, std::function<void(waiting_pull&)> on_clock);

  std::size_t size() const { return waiting_.size(); }
  bool empty() const { return waiting_.empty(); }
  // How many of them end when there is nothing to deliver.
  std::size_t no_wait_count() const { return no_wait_; }

  waiting_pull& add(const pull_request& asked, std::string_view reply, bool by_priority);
  void remove(waiting_pull& what);
  // To the end of the queue, or of its priority.
  void rotate(waiting_pull& what, bool by_priority);
  void clear();

  waiting_pull* front() { return waiting_.empty() ? nullptr : &waiting_.front(); }
  // From the front, until `visit` returns false. `visit` may remove the request it was given.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      auto here = at++;
      if (!visit(*here)) return;
    }
  }

 private:
  using list = std::list<waiting_pull>;
  list::iterator place_for(std::int64_t priority, bool by_priority);

  timer_queue& timers_;
  std::function<void(waiting_pull&)> on_clock_;
  list waiting_;
  list spare_;
  std::size_t no_wait_ = 0;
};

}  // namespace tern::jetstream
