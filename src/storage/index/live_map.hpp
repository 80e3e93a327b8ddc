// Which sequences of a stream have a message: ranks for num_pending, neighbours for reads, gaps for STREAM.INFO. Costs
// follow the number of gaps and islands, not the number of messages or the distance between them: whole blocks of 4096
// need no bitmap, empty ones no entry.
//
// Owned by the log; one thread. Sequences are 1 to 2^64 - 16.
#pragma once

#include "base/function_ref.hpp"
#include "storage/segment/counted_directory.hpp"
#include "storage/stream_log.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tern::storage {

class live_map {
 public:
  void append(sequence number);                      // greater than every one before, removed or not
  void append_range(sequence first, sequence last);  // all of them, as append() would one by one, at once
  bool remove(sequence number);                      // false: not there

  bool contains(sequence number) const;
  std::uint64_t size() const { return blocks_.total(); }
  bool empty() const { return size() == 0; }
  std::optional<sequence> first() const { return next(0); }
  std::optional<sequence> last() const { return previous(~sequence{0}); }
  std::optional<sequence> next(sequence from) const;       // the first at or after
  std::optional<sequence> previous(sequence up_to) const;  // the last at or before
  std::uint64_t count_below(sequence bound) const;
  std::uint64_t count_from(sequence from) const { return size() - count_below(from); }
  std::uint64_t count_in(sequence first, sequence last) const;  // both inside
  sequence at(std::uint64_t place) const;                       // by rank; place < size()

  // Gaps inside [first, last], in order, until visit returns false.
  void for_each_gap(sequence first, sequence last, function_ref<bool(sequence_range)> visit) const;
  std::vector<sequence_range> gaps(sequence first, sequence last) const;
  // Runs of live sequences that touch [first, last], cut to it.
  void for_each_run(sequence first, sequence last, function_ref<bool(sequence_range)> visit) const;

  void clear();
  std::size_t heap_bytes() const;

 private:
  static constexpr unsigned block_bits = 12;
  static constexpr std::uint64_t block_size = 1u << block_bits;
  using bitmap = std::array<std::uint64_t, block_size / 64>;
  // A run from `begin` while `bits` is empty: so are blocks that are filled in order, and whole ones.
  struct block {
    std::unique_ptr<bitmap> bits;
    std::uint16_t begin = 0;
  };
  using slot = counted_directory<block>::slot;

  static sequence begin_of(const slot& where) { return where.key << block_bits; }
  static bitmap& bits_of(slot& where);
  static bool is_live(const slot& where, unsigned inside);
  static unsigned live_below(const slot& where, unsigned inside);
  static unsigned next_live(const slot& where, unsigned inside);      // block_size: none
  static unsigned previous_live(const slot& where, unsigned inside);  // block_size: none
  static unsigned next_dead(const slot& where, unsigned inside);      // block_size: none
  static unsigned nth_live(const slot& where, std::uint64_t rank);
  sequence run_end(std::size_t place, sequence from) const;

  counted_directory<block> blocks_;
};

}  // namespace tern::storage
