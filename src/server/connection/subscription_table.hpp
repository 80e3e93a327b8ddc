// The subscriptions of one connection by sid. Small when small: one pointer per subscription in an open-addressed
// table, no memory without any. Does not own the subscriptions.
#pragma once

#include "base/hash.hpp"
#include "routing/subscription.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace tern::server {

class subscription_table {
 public:
  routing::subscription* find(std::string_view sid) const {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home(sid);; at = next(at)) {
      if (slots_[at] == nullptr) return nullptr;
      if (slots_[at]->sid == sid) return slots_[at];
    }
  }
  // No subscription has its sid yet.
  void insert(routing::subscription* what) {
    if ((size_ + 1) * 4 > capacity_ * 3) grow();
    place(what);
    ++size_;
  }
  void erase(const routing::subscription* what) {
    std::size_t hole = home(what->sid);
    while (slots_[hole] != what) hole = next(hole);
    for (std::size_t at = next(hole); slots_[at] != nullptr; at = next(at)) {
      const std::size_t from = home(slots_[at]->sid);
      if (((at - from) & (capacity_ - 1)) < ((at - hole) & (capacity_ - 1))) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = nullptr;
    if (--size_ == 0) clear();
  }
  void clear() {
    slots_.reset();
    size_ = capacity_ = 0;
  }
  std::size_t size() const { return size_; }
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t at = 0; at < capacity_; ++at)
      if (slots_[at] != nullptr) visit(*slots_[at]);
  }

 private:
  std::size_t home(std::string_view sid) const { return hash64(sid) & (capacity_ - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (capacity_ - 1); }
  void place(routing::subscription* what) {
    std::size_t at = home(what->sid);
    while (slots_[at] != nullptr) at = next(at);
    slots_[at] = what;
  }
  void grow() {
    const std::size_t old_capacity = capacity_;
    const auto old = std::move(slots_);
    capacity_ = old_capacity == 0 ? 4 : static_cast<std::uint32_t>(old_capacity * 2);
    slots_ = std::make_unique<routing::subscription*[]>(capacity_);
    for (std::size_t at = 0; at < old_capacity; ++at)
      if (old[at] != nullptr) place(old[at]);
  }

  std::unique_ptr<routing::subscription*[]> slots_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace tern::server
