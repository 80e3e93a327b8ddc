#include "jetstream/consumer/consumer_pending.hpp"

#include <cassert>

namespace tern::jetstream {

pending_entry* pending_set::find(storage::sequence number) {
  if (live_ == 0) return nullptr;
  const storage::sequence first = entries_[head_].number;
  if (number < first || number > entries_.back().number) return nullptr;
  // Sequences without gaps stand where their distance says, never behind it.
  std::size_t high = std::min<std::uint64_t>(head_ + (number - first), entries_.size() - 1);
  pending_entry* found = &entries_[high];
  if (found->number != number) {
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(high);
    const auto at =
        std::lower_bound(begin, end, number, [](const pending_entry& e, storage::sequence n) { return e.number < n; });
    if (at == end || at->number != number) return nullptr;
    found = &*at;
  }
  return found->consumer_sequence == 0 ? nullptr : found;
}

pending_entry& pending_set::append(storage::sequence number) {
  assert(entries_.empty() || number > entries_.back().number);
  pending_entry& added = entries_.emplace_back();
  added.number = number;
  added.consumer_sequence = ~std::uint64_t{0};  // the caller sets it; it must not look dead until then
  ++live_;
  return added;
}

bool pending_set::erase(storage::sequence number) {
  pending_entry* found = find(number);
  if (found == nullptr) return false;
  found->consumer_sequence = 0;
  --live_;
  if (live_ == 0) {
    entries_.clear();
    head_ = 0;
    return true;
  }
  while (entries_[head_].consumer_sequence == 0) ++head_;
  if (entries_.size() > 2 * live_ + 64) sweep();
  return true;
}

void pending_set::clear() {
  entries_.clear();
  head_ = 0;
  live_ = 0;
}

void pending_set::sweep() {
  std::erase_if(entries_, [](const pending_entry& entry) { return entry.consumer_sequence == 0; });
  head_ = 0;
}

}  // namespace tern::jetstream
