// The sequences of one subject, ascending. Two words while there are at most two of them, then delta-compressed chunks:
// one byte per entry for near neighbours, next to nothing for evenly spaced ones.
//
// Owned by subject_index; one thread. Sequences are 1 to 2^64 - 16.
#pragma once

#include "storage/stream_log.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tern::storage {

// Invariants: `second_` says which form it is. 0: none (first_ == 0) or one entry. A sequence: two entries. A mark:
// `first_` is a pointer to one chunk, or to a directory of chunks with counts (a Fenwick tree), so that every question
// costs O(log n) and appending and taking off the front O(1) amortised.
class posting_list {
 public:
  posting_list() = default;
  posting_list(posting_list&& other) noexcept : first_(other.first_), second_(other.second_) {
    other.first_ = other.second_ = 0;
  }
  posting_list& operator=(posting_list&& other) noexcept;
  ~posting_list() { clear(); }

  void push_back(sequence number);  // greater than back()
  bool remove(sequence number);     // false: not there; any place
  void clear();

  bool empty() const { return first_ == 0; }
  std::uint64_t size() const;
  sequence front() const;  // 0 when empty
  sequence back() const;   // 0 when empty
  bool contains(sequence number) const;
  std::optional<sequence> next(sequence from) const;       // the first at or after
  std::optional<sequence> previous(sequence up_to) const;  // the last at or before
  std::uint64_t count_below(sequence bound) const;         // how many are smaller
  std::uint64_t count_from(sequence from) const { return size() - count_below(from); }
  sequence at(std::uint64_t place) const;  // by rank, 0 is front(); place < size()

  std::size_t heap_bytes() const;

 private:
  struct chunk;
  struct directory;
  static constexpr sequence chunk_mark = ~sequence{0};
  static constexpr sequence directory_mark = ~sequence{0} - 1;
  bool is_chunk() const { return second_ == chunk_mark; }
  bool is_directory() const { return second_ == directory_mark; }
  chunk* as_chunk() const;
  directory* as_directory() const;
  void hold(chunk* what);
  void hold(directory* what);
  void shrink();

  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

}  // namespace tern::storage
