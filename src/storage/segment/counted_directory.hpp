// Slots in ascending order of key, each with a count of what lies behind it: appended at the end, emptied anywhere, and
// searched by key or by rank in O(log n). What postings and the live map have in common.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::storage {

// Invariants: keys ascend; `tree_` is a Fenwick tree over the counts, so a prefix sum costs O(log n) and counting up in
// the last slot O(1). Slots with count 0 stay where they are until more than half are such, then the directory is
// packed; the last slot is never empty.
template <class Value>
class counted_directory {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  struct slot {
    std::uint64_t key;
    std::uint64_t count;
    Value value;
  };

  std::uint64_t total() const { return total_; }
  std::size_t size() const { return slots_.size(); }
  slot& operator[](std::size_t place) { return slots_[place]; }
  const slot& operator[](std::size_t place) const { return slots_[place]; }
  slot& back() { return slots_.back(); }

  void push_back(std::uint64_t key, std::uint64_t count, Value value) {
    slots_.push_back({key, count, std::move(value)});
    total_ += count;
    const std::size_t at = slots_.size();  // the tree counts from 1
    std::uint64_t sum = count;
    for (std::size_t step = 1; step < lowest_bit(at); step *= 2) sum += tree_[at - step - 1];
    tree_.push_back(sum);
  }

  void grow_back(std::uint64_t by) {
    slots_.back().count += by;
    tree_.back() += by;
    total_ += by;
  }

  // Takes `by` off one slot. Slots that became empty may move the others: places are void afterwards.
  void shrink(std::size_t place, std::uint64_t by) {
    slots_[place].count -= by;
    total_ -= by;
    for (std::size_t at = place + 1; at <= tree_.size(); at += lowest_bit(at)) tree_[at - 1] -= by;
    if (slots_[place].count != 0) return;
    slots_[place].value = Value{};
    ++empty_;
    while (!slots_.empty() && slots_.back().count == 0) {
      slots_.pop_back();
      tree_.pop_back();
      --empty_;
    }
    if (empty_ > 8 && empty_ * 2 > slots_.size()) pack();
  }

  // Sum of the counts of the slots before `place`.
  std::uint64_t count_before(std::size_t place) const {
    std::uint64_t sum = 0;
    for (std::size_t at = place; at != 0; at -= lowest_bit(at)) sum += tree_[at - 1];
    return sum;
  }

  // The last slot whose key is at most `key`, empty ones included; npos when there is none.
  std::size_t find(std::uint64_t key) const {
    auto above = std::upper_bound(slots_.begin(), slots_.end(), key,
                                  [](std::uint64_t value, const slot& what) { return value < what.key; });
    return static_cast<std::size_t>(above - slots_.begin()) - 1;
  }

  // The slot that holds the entry of this rank; its rank inside is put into `inside`. rank < total().
  std::size_t select(std::uint64_t rank, std::uint64_t& inside) const {
    std::size_t at = 0;
    for (std::size_t step = std::bit_floor(tree_.size()); step != 0; step /= 2) {
      if (at + step <= tree_.size() && tree_[at + step - 1] <= rank) {
        at += step;
        rank -= tree_[at - 1];
      }
    }
    inside = rank;
    return at;
  }

  // The nearest slot with entries after / before `place`; npos when there is none.
  std::size_t next_filled(std::size_t place) const {
    if (place + 1 < slots_.size() && slots_[place + 1].count != 0) return place + 1;
    const std::uint64_t before = place == npos ? 0 : count_before(place + 1);
    std::uint64_t inside;
    return before < total_ ? select(before, inside) : npos;
  }
  std::size_t previous_filled(std::size_t place) const {
    if (place != 0 && slots_[place - 1].count != 0) return place - 1;
    const std::uint64_t before = count_before(place);
    std::uint64_t inside;
    return before != 0 ? select(before - 1, inside) : npos;
  }

  void clear() {
    slots_.clear();
    tree_.clear();
    total_ = empty_ = 0;
  }
  std::size_t heap_bytes() const { return slots_.capacity() * sizeof(slot) + tree_.capacity() * sizeof(std::uint64_t); }

 private:
  static std::size_t lowest_bit(std::size_t value) { return value & (~value + 1); }

  void pack() {
    std::erase_if(slots_, [](const slot& what) { return what.count == 0; });
    slots_.shrink_to_fit();
    empty_ = 0;
    tree_.assign(slots_.size(), 0);
    tree_.shrink_to_fit();
    for (std::size_t at = 1; at <= tree_.size(); ++at) {
      tree_[at - 1] += slots_[at - 1].count;
      const std::size_t parent = at + lowest_bit(at);
      if (parent <= tree_.size()) tree_[parent - 1] += tree_[at - 1];
    }
  }

  std::vector<slot> slots_;
  std::vector<std::uint64_t> tree_;
  std::uint64_t total_ = 0;
  std::size_t empty_ = 0;
};

}  // namespace tern::storage
