// The stored messages that are schedules, and when each is due (jetstream 5.9).
#pragma once

#include <tern/base/time.hpp>

#include "storage/stream_log.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tern::jetstream {

// By sequence: what they do stands in the messages. Owned by one stream; one thread. Invariant: due_ and queue_ hold
// the same pairs.
class message_schedules {
 public:
  void add(storage::sequence number, time_point due) {
    forget(number);
    due_.emplace(number, due);
    queue_.emplace(due, number);
  }
  void forget(storage::sequence number) {
    if (due_.empty()) return;
    const auto found = due_.find(number);
    if (found == due_.end()) return;
    queue_.erase({found->second, number});
    due_.erase(found);
  }
  void clear() {
    due_.clear();
    queue_.clear();
  }
  std::size_t size() const { return due_.size(); }
  std::optional<time_point> earliest() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }
  // Takes out the first one when it is due.
  struct run {
    storage::sequence number = 0;
    time_point due{};
  };
  std::optional<run> take_due(time_point now) {
    if (queue_.empty() || queue_.begin()->first > now) return std::nullopt;
    const auto [due, number] = *queue_.begin();
    forget(number);
    return run{number, due};
  }

 private:
  std::unordered_map<storage::sequence, time_point> due_;
  std::set<std::pair<time_point, storage::sequence>> queue_;
};

}  // namespace tern::jetstream
