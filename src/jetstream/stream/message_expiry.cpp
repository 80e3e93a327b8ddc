#include "jetstream/stream/message_expiry.hpp"

#include <algorithm>

namespace tern::jetstream {
namespace {

constexpr nanoseconds slot_size = std::chrono::milliseconds(100);

}  // namespace

time_point message_expiry::slot_of(time_point due) {
  const nanoseconds since = due.time_since_epoch();
  const nanoseconds rest = since % slot_size;
  return rest.count() == 0 ? due : due + (slot_size - rest);
}

std::optional<time_point> message_expiry::earliest() const {
  if (slots_.empty()) return std::nullopt;
  return slots_.begin()->first;
}

std::vector<storage::sequence> message_expiry::take_due(time_point now, std::size_t count_max) {
  std::vector<storage::sequence> due;
  while (!slots_.empty() && slots_.begin()->first <= now && due.size() < count_max) {
    auto& slot = slots_.begin()->second;
    due.insert(due.end(), slot.begin(), slot.end());
    slots_.erase(slots_.begin());
  }
  std::ranges::sort(due);
  return due;
}

}  // namespace tern::jetstream
