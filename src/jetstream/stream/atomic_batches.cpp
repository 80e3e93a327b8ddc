#include "jetstream/stream/atomic_batches.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {

atomic_batch* atomic_batches::find(std::string_view id) {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second;
}

atomic_batch& atomic_batches::begin(std::string_view id) { return open_[std::string(id)]; }

void atomic_batches::add(atomic_batch& to, batched_message what, time_point now) {
  const std::size_t size = what.subject.size() + what.headers.size() + what.payload.size();
  to.messages.push_back(std::move(what));
  to.bytes += size;
  to.last_seen = now;
  bytes_ += size;
}

atomic_batch atomic_batches::take(std::string_view id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return {};
  atomic_batch out = std::move(found->second);
  bytes_ -= out.bytes;
  open_.erase(found);
  return out;
}

std::optional<time_point> atomic_batches::oldest() const {
  std::optional<time_point> found;
  for (const auto& [id, one] : open_) found = found ? std::min(*found, one.last_seen) : one.last_seen;
  return found;
}

std::vector<std::string> atomic_batches::idle_since(time_point before) const {
  std::vector<std::string> ids;
  for (const auto& [id, one] : open_) {
    if (one.last_seen <= before) ids.push_back(id);
  }
  return ids;
}

}  // namespace tern::jetstream
