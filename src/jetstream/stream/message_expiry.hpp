// When single messages end: those with a Nats-TTL of their own, and those that `never` does (jetstream 5.8).
#pragma once

#include <tern/base/time.hpp>

#include "storage/stream_log.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tern::jetstream {

// Kept in memory, by slots of a tenth of a second: a message ends up to that much late, never early. Sequences of
// messages that went otherwise stay until their slot is due. Owned by one stream; one thread.
class message_expiry {
 public:
  void add(time_point due, storage::sequence number) { slots_[slot_of(due)].push_back(number); }
  void add_never(storage::sequence number) { never_.insert(number); }
  void forget(storage::sequence number) {
    if (!never_.empty()) never_.erase(number);
  }
  void clear() {
    slots_.clear();
    never_.clear();
  }

  bool is_never(storage::sequence number) const { return !never_.empty() && never_.contains(number); }
  bool has_never() const { return !never_.empty(); }
  std::optional<time_point> earliest() const;
  // The sequences of slots that are due, at least one slot's and about `count_max` at once, in ascending order.
  std::vector<storage::sequence> take_due(time_point now, std::size_t count_max);

 private:
  static time_point slot_of(time_point due);

  std::map<time_point, std::vector<storage::sequence>> slots_;
  std::set<storage::sequence> never_;
};

}  // namespace tern::jetstream
