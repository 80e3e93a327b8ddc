#include "storage/index/slab.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace tern::storage {

std::size_t slab::units_for(std::size_t bytes) {
  const std::size_t units = std::max<std::size_t>((bytes + unit - 1) / unit, 1);
  return units <= small_units ? units : std::bit_ceil(units);
}

std::size_t slab::class_of(std::size_t units) {
  return units <= small_units ? units : small_units + static_cast<std::size_t>(std::countr_zero(units));
}

slab::reference slab::allocate(std::size_t bytes) {
  const std::size_t units = units_for(bytes);
  const std::size_t size_class = class_of(units);
  if (size_class >= free_.size()) free_.resize(size_class + 1);
  if (const reference reused = free_[size_class]; reused != 0) {
    std::memcpy(&free_[size_class], at(reused), sizeof(reference));
    return reused;
  }
  return take_units(units);
}

void slab::free(reference what, std::size_t bytes) {
  const std::size_t size_class = class_of(units_for(bytes));
  std::memcpy(at(what), &free_[size_class], sizeof(reference));
  free_[size_class] = what;
}

slab::reference slab::take_units(std::size_t units) {
  constexpr std::size_t page_units = page_mask + 1;
  if (units > page_units) {  // a run of page numbers for one block: only the first page holds memory
    const std::size_t count = (units + page_units - 1) / page_units;
    const auto first = static_cast<reference>(pages_.size() << page_bits);
    pages_.push_back(std::make_unique_for_overwrite<char[]>(units * unit));
    pages_.resize(pages_.size() + count - 1);
    bytes_ += units * unit;
    return first;
  }
  if (units > static_cast<std::size_t>(end_ - next_)) {
    assert(pages_.size() < (std::size_t{1} << (32 - page_bits)));
    next_ = static_cast<reference>(pages_.size() << page_bits);
    end_ = next_ + static_cast<reference>(page_units);
    if (next_ == 0) ++next_;  // reference 0 means nothing
    pages_.push_back(std::make_unique_for_overwrite<char[]>(page_units * unit));
    bytes_ += page_units * unit;
  }
  const reference taken = next_;
  next_ += static_cast<reference>(units);
  return taken;
}

}  // namespace tern::storage
