#include "storage/index/live_map.hpp"

#include <bit>
#include <cassert>

namespace tern::storage {

live_map::bitmap& live_map::bits_of(slot& where) {
  auto& what = where.value;
  if (what.bits == nullptr) {
    what.bits = std::make_unique<bitmap>();
    what.bits->fill(0);
    for (unsigned inside = what.begin; inside < what.begin + where.count; ++inside) {
      (*what.bits)[inside / 64] |= std::uint64_t{1} << (inside % 64);
    }
  }
  return *what.bits;
}

bool live_map::is_live(const slot& where, unsigned inside) {
  if (where.value.bits == nullptr) return inside >= where.value.begin && inside < where.value.begin + where.count;
  return ((*where.value.bits)[inside / 64] >> (inside % 64) & 1) != 0;
}

unsigned live_map::live_below(const slot& where, unsigned inside) {
  if (where.value.bits == nullptr) {
    const auto begin = unsigned{where.value.begin};
    return inside <= begin ? 0 : std::min(inside - begin, static_cast<unsigned>(where.count));
  }
  const auto& bits = *where.value.bits;
  unsigned count = 0;
  for (unsigned word = 0; word < inside / 64; ++word) count += static_cast<unsigned>(std::popcount(bits[word]));
  if (inside % 64 != 0) {
    count += static_cast<unsigned>(std::popcount(bits[inside / 64] & ((std::uint64_t{1} << (inside % 64)) - 1)));
  }
  return count;
}

unsigned live_map::next_live(const slot& where, unsigned inside) {
  if (where.value.bits == nullptr) {
    const unsigned at = std::max(inside, unsigned{where.value.begin});
    return at < where.value.begin + where.count ? at : block_size;
  }
  const auto& bits = *where.value.bits;
  unsigned word = inside / 64;
  std::uint64_t rest = bits[word] & (~std::uint64_t{0} << (inside % 64));
  while (rest == 0) {
    if (++word == bits.size()) return block_size;
    rest = bits[word];
  }
  return word * 64 + static_cast<unsigned>(std::countr_zero(rest));
}

unsigned live_map::previous_live(const slot& where, unsigned inside) {
  if (where.value.bits == nullptr) {
    if (where.count == 0 || inside < where.value.begin) return block_size;
    return std::min(inside, static_cast<unsigned>(where.value.begin + where.count - 1));
  }
  const auto& bits = *where.value.bits;
  unsigned word = inside / 64;
  std::uint64_t rest = bits[word] & (~std::uint64_t{0} >> (63 - inside % 64));
  while (rest == 0) {
    if (word-- == 0) return block_size;
    rest = bits[word];
  }
  return word * 64 + 63 - static_cast<unsigned>(std::countl_zero(rest));
}

unsigned live_map::next_dead(const slot& where, unsigned inside) {
  if (where.value.bits == nullptr) {
    return is_live(where, inside) ? static_cast<unsigned>(where.value.begin + where.count) : inside;
  }
  const auto& bits = *where.value.bits;
  unsigned word = inside / 64;
  std::uint64_t rest = ~bits[word] & (~std::uint64_t{0} << (inside % 64));
  while (rest == 0) {
    if (++word == bits.size()) return block_size;
    rest = ~bits[word];
  }
  return word * 64 + static_cast<unsigned>(std::countr_zero(rest));
}

unsigned live_map::nth_live(const slot& where, std::uint64_t rank) {
  if (where.value.bits == nullptr) return static_cast<unsigned>(where.value.begin + rank);
  const auto& bits = *where.value.bits;
  unsigned word = 0;
  for (;; ++word) {
    const auto count = static_cast<std::uint64_t>(std::popcount(bits[word]));
    if (rank < count) break;
    rank -= count;
  }
  std::uint64_t rest = bits[word];
  for (; rank != 0; --rank) rest &= rest - 1;
  return word * 64 + static_cast<unsigned>(std::countr_zero(rest));
}

void live_map::append(sequence number) { append_range(number, number); }

void live_map::append_range(sequence first, sequence last) {
  assert(first > previous(~sequence{0}).value_or(0) && first <= last);
  while (first <= last) {
    const std::uint64_t key = first >> block_bits;
    const auto inside = static_cast<unsigned>(first & (block_size - 1));
    const std::uint64_t count = std::min(last - first + 1, block_size - inside);
    if (blocks_.size() == 0 || blocks_.back().key != key) {
      blocks_.push_back(key, count, block{nullptr, static_cast<std::uint16_t>(inside)});
    } else {
      auto& where = blocks_.back();
      if (where.value.bits != nullptr || where.value.begin + where.count != inside) {
        auto& bits = bits_of(where);
        for (unsigned at = inside; at < inside + count; ++at) bits[at / 64] |= std::uint64_t{1} << (at % 64);
      }
      blocks_.grow_back(count);
    }
    first += count;
  }
}

bool live_map::remove(sequence number) {
  const std::size_t place = blocks_.find(number >> block_bits);
  if (place == blocks_.npos || blocks_[place].key != number >> block_bits) return false;
  auto& where = blocks_[place];
  const auto inside = static_cast<unsigned>(number & (block_size - 1));
  if (!is_live(where, inside)) return false;
  auto& what = where.value;
  if (what.bits == nullptr && inside == what.begin) {
    ++what.begin;
  } else if (what.bits != nullptr || inside + 1 != what.begin + where.count) {
    auto& bits = bits_of(where);
    bits[inside / 64] &= ~(std::uint64_t{1} << (inside % 64));
    if (where.count == 2) {  // one stays: no need for a bitmap
      what.begin = static_cast<std::uint16_t>(next_live(where, 0));
      what.bits.reset();
    }
  }
  blocks_.shrink(place, 1);
  return true;
}

bool live_map::contains(sequence number) const {
  const std::size_t place = blocks_.find(number >> block_bits);
  return place != blocks_.npos && blocks_[place].key == number >> block_bits &&
         is_live(blocks_[place], static_cast<unsigned>(number & (block_size - 1)));
}

std::optional<sequence> live_map::next(sequence from) const {
  std::size_t place = blocks_.find(from >> block_bits);
  if (place != blocks_.npos && blocks_[place].key == from >> block_bits) {
    const unsigned inside = next_live(blocks_[place], static_cast<unsigned>(from & (block_size - 1)));
    if (inside != block_size) return begin_of(blocks_[place]) + inside;
  }
  place = blocks_.next_filled(place);
  if (place == blocks_.npos) return std::nullopt;
  return begin_of(blocks_[place]) + next_live(blocks_[place], 0);
}

std::optional<sequence> live_map::previous(sequence up_to) const {
  std::size_t place = blocks_.find(up_to >> block_bits);
  if (place == blocks_.npos) return std::nullopt;
  const bool same = blocks_[place].key == up_to >> block_bits;
  const unsigned from = same ? static_cast<unsigned>(up_to & (block_size - 1)) : block_size - 1;
  if (const unsigned inside = previous_live(blocks_[place], from); inside != block_size) {
    return begin_of(blocks_[place]) + inside;
  }
  place = blocks_.previous_filled(place);
  if (place == blocks_.npos) return std::nullopt;
  return begin_of(blocks_[place]) + previous_live(blocks_[place], block_size - 1);
}

std::uint64_t live_map::count_below(sequence bound) const {
  const std::size_t place = blocks_.find(bound >> block_bits);
  if (place == blocks_.npos) return 0;
  if (blocks_[place].key != bound >> block_bits) return blocks_.count_before(place + 1);
  return blocks_.count_before(place) + live_below(blocks_[place], static_cast<unsigned>(bound & (block_size - 1)));
}

std::uint64_t live_map::count_in(sequence first, sequence last) const {
  if (first > last) return 0;
  return count_below(last) + contains(last) - count_below(first);
}

sequence live_map::at(std::uint64_t rank) const {
  std::uint64_t inside;
  const std::size_t place = blocks_.select(rank, inside);
  return begin_of(blocks_[place]) + nth_live(blocks_[place], inside);
}

// The last sequence of the run that `from`, live and in the block at `place`, belongs to.
sequence live_map::run_end(std::size_t place, sequence from) const {
  for (auto inside = static_cast<unsigned>(from & (block_size - 1));; inside = 0) {
    const unsigned dead = next_dead(blocks_[place], inside);
    if (dead == 0) return begin_of(blocks_[place]) - 1;
    if (dead != block_size) return begin_of(blocks_[place]) + dead - 1;
    const std::size_t following = place + 1;
    if (following == blocks_.size() || blocks_[following].count == 0 ||
        blocks_[following].key != blocks_[place].key + 1) {
      return begin_of(blocks_[place]) + block_size - 1;
    }
    place = following;
  }
}

void live_map::for_each_run(sequence first, sequence last, function_ref<bool(sequence_range)> visit) const {
  while (first <= last) {
    const auto begin = next(first);
    if (!begin || *begin > last) return;
    const sequence end = run_end(blocks_.find(*begin >> block_bits), *begin);
    if (!visit({*begin, std::min(end, last)})) return;
    if (end >= last) return;
    first = end + 1;
  }
}

void live_map::for_each_gap(sequence first, sequence last, function_ref<bool(sequence_range)> visit) const {
  if (first > last) return;
  bool open = true;
  for_each_run(first, last, [&](sequence_range run) {
    if (run.first > first) open = visit({first, run.first - 1});
    if (run.last == last) open = false;
    first = run.last + 1;
    return open;
  });
  if (open) visit({first, last});
}

std::vector<sequence_range> live_map::gaps(sequence first, sequence last) const {
  std::vector<sequence_range> found;
  for_each_gap(first, last, [&](sequence_range gap) {
    found.push_back(gap);
    return true;
  });
  return found;
}

void live_map::clear() { blocks_.clear(); }

std::size_t live_map::heap_bytes() const {
  std::size_t bytes = blocks_.heap_bytes();
  for (std::size_t place = 0; place < blocks_.size(); ++place) {
    if (blocks_[place].value.bits != nullptr) bytes += sizeof(bitmap) + 2 * sizeof(void*);
  }
  return bytes;
}

}  // namespace tern::storage
