#include "storage/index/dedup_window.hpp"

#include "base/hash.hpp"

#include <algorithm>
#include <bit>

namespace tern::storage {
namespace {

constexpr int buckets_per_window = 8;
constexpr std::size_t smallest_table = 64;
constexpr nanoseconds shortest_span{1'000'000};

// The time that one step of an entry's 32-bit offset stands for.
std::int64_t step_of(nanoseconds span) { return (span.count() >> 32) + 1; }

}  // namespace

dedup_window::hashed dedup_window::hash(std::string_view id) const {
  const std::uint64_t low = hash64(id, key_);
  const std::uint64_t high = hash64(id, ~key_ * 0x9e3779b97f4a7c15ull + 1);
  return {low, static_cast<std::uint32_t>(high >> 32)};
}

time_point dedup_window::seen_at(const bucket& where, const slot& what) {
  return where.begin + nanoseconds(static_cast<std::int64_t>(what.offset) * step_of(where.span));
}

// The slot of the id, or the free one where it would go; the table is never full.
std::size_t dedup_window::find_in(const bucket& where, const hashed& id) {
  const std::size_t mask = where.slots.size() - 1;
  std::size_t at = id.low & mask;
  while (where.slots[at].number != 0 && (where.slots[at].hash_low != id.low || where.slots[at].hash_high != id.high)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::optional<sequence> dedup_window::find(std::string_view id, time_point now) const {
  if (size_ == 0) return std::nullopt;
  const hashed wanted = hash(id);
  for (const auto& where : buckets_) __builtin_prefetch(&where.slots[wanted.low & (where.slots.size() - 1)]);
  for (auto where = buckets_.rbegin(); where != buckets_.rend(); ++where) {
    const auto& found = where->slots[find_in(*where, wanted)];
    if (found.number != 0 && seen_at(*where, found) + window_ > now) return found.number;
  }
  return std::nullopt;
}

// Buckets stand on a grid, so that entries may be restored in any order; where a changed window has changed the grid, a
// new one is cut to what its neighbours leave. They never overlap.
dedup_window::bucket& dedup_window::bucket_for(time_point seen) {
  auto after = std::upper_bound(buckets_.begin(), buckets_.end(), seen,
                                [](time_point at, const bucket& what) { return at < what.begin; });
  if (after != buckets_.begin() && seen < std::prev(after)->begin + std::prev(after)->span) return *std::prev(after);
  bucket made;
  made.span = std::max(window_ / buckets_per_window, shortest_span);
  made.begin = seen - seen.time_since_epoch() % made.span;
  if (made.begin > seen) made.begin -= made.span;  // before 1970
  time_point end = made.begin + made.span;
  if (after != buckets_.begin()) made.begin = std::max(made.begin, std::prev(after)->begin + std::prev(after)->span);
  if (after != buckets_.end()) end = std::min(end, after->begin);
  made.span = end - made.begin;
  // As many as in the one before are likely to come.
  const std::size_t expected = after != buckets_.begin() ? std::prev(after)->used : 0;
  made.slots.resize(std::max(smallest_table, std::bit_ceil(expected + expected / 3)));
  return *buckets_.insert(after, std::move(made));
}

void dedup_window::grow(bucket& what) {
  std::vector<slot> old(what.slots.size() * 2);
  old.swap(what.slots);
  for (const auto& each : old) {
    if (each.number != 0) what.slots[find_in(what, {each.hash_low, each.hash_high})] = each;
  }
}

void dedup_window::insert(bucket& where, const hashed& id, sequence number, time_point seen) {
  if ((where.used + 1) * 4 > where.slots.size() * 3) grow(where);
  auto& place = where.slots[find_in(where, id)];
  if (place.number == 0) {
    ++where.used;
    ++size_;
  }
  const auto offset = (seen - where.begin).count() / step_of(where.span);
  place = {id.low, id.high, static_cast<std::uint32_t>(offset), number};
}

void dedup_window::add(std::string_view id, sequence number, time_point now) {
  insert(bucket_for(now), hash(id), number, now);
}

bool dedup_window::withdraw(std::string_view id, sequence number) {
  const hashed wanted = hash(id);
  for (auto& where : buckets_) {
    std::size_t at = find_in(where, wanted);
    if (where.slots[at].number != number || number == 0) continue;
    // What was pushed behind the slot moves up, so that every chain stays unbroken.
    const std::size_t mask = where.slots.size() - 1;
    for (std::size_t from = (at + 1) & mask; where.slots[from].number != 0; from = (from + 1) & mask) {
      const std::size_t home = where.slots[from].hash_low & mask;
      if (((from - home) & mask) < ((from - at) & mask)) continue;
      where.slots[at] = where.slots[from];
      at = from;
    }
    where.slots[at] = {};
    --where.used;
    --size_;
    return true;
  }
  return false;
}

void dedup_window::expire(time_point now) {
  while (!buckets_.empty() && buckets_.front().begin + buckets_.front().span + window_ <= now) {
    size_ -= buckets_.front().used;
    buckets_.pop_front();
  }
}

std::size_t dedup_window::heap_bytes() const {
  std::size_t bytes = 0;
  for (const auto& where : buckets_) bytes += sizeof(bucket) + where.slots.capacity() * sizeof(slot);
  return bytes;
}

void dedup_window::clear() {
  buckets_.clear();
  size_ = 0;
}

void dedup_window::for_each(function_ref<void(const entry&)> visit) const {
  for (const auto& where : buckets_) {
    for (const auto& each : where.slots) {
      if (each.number != 0) visit({each.hash_low, each.hash_high, each.number, seen_at(where, each)});
    }
  }
}

void dedup_window::restore(const entry& what) {
  insert(bucket_for(what.seen), {what.hash_low, what.hash_high}, what.number, what.seen);
}

}  // namespace tern::storage
