// The message ids of one stream that were seen within its duplicate window (jetstream 5.5), and the sequences they got.
// An id counts from when it was first seen; whatever happens to the message afterwards does not matter.
//
// Owned by the stream; one thread.
#pragma once

#include "base/function_ref.hpp"
#include "storage/stream_log.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace tern::storage {

// Ids are kept as 96 bits of keyed hash: with 100 million ids in the window, a new id is taken for an old one once in
// 10^20 times. Entries stand in open-addressed tables, one per eighth of the window, which are dropped whole once all
// in them is past; the exact time of each entry decides meanwhile.
class dedup_window {
 public:
  struct entry {
    std::uint64_t hash_low = 0;
    std::uint32_t hash_high = 0;
    sequence number = 0;
    time_point seen;
  };

  // `key` comes from the random seam; entries that are stored and restored need the same key again.
  dedup_window(nanoseconds window, std::uint64_t key) : window_(window), key_(key) {}

  // The sequence that the id got, when it was seen less than a window ago.
  std::optional<sequence> find(std::string_view id, time_point now) const;
  // Remembers an id that find() does not know. Times may not ascend exactly.
  void add(std::string_view id, sequence number, time_point now);
  // The message of this sequence was not committed after all: the id is new again. False when it is not there.
  bool withdraw(std::string_view id, sequence number);
  // Drops what is past. find() is exact without it; it gives memory back. Cheap.
  void expire(time_point now);
  // Of what is there; a longer window does not bring back what was dropped.
  void set_window(nanoseconds window) { window_ = window; }
  nanoseconds window() const { return window_; }
  std::uint64_t key() const { return key_; }

  std::size_t size() const { return size_; }  // some of them may be past
  std::size_t heap_bytes() const;
  void clear();

  // For persistence, in no order.
  void for_each(function_ref<void(const entry&)> visit) const;
  void restore(const entry& what);

 private:
  // Times are kept as an offset from the bucket's begin in units that give each bucket 2^32 of them.
  struct slot {
    std::uint64_t hash_low = 0;
    std::uint32_t hash_high = 0;
    std::uint32_t offset = 0;
    sequence number = 0;  // 0: free
  };
  struct bucket {
    time_point begin;
    nanoseconds span{};
    std::vector<slot> slots;  // a power of two
    std::size_t used = 0;
  };
  struct hashed {
    std::uint64_t low;
    std::uint32_t high;
  };

  hashed hash(std::string_view id) const;
  bucket& bucket_for(time_point seen);
  void insert(bucket& where, const hashed& id, sequence number, time_point seen);
  static time_point seen_at(const bucket& where, const slot& what);
  static std::size_t find_in(const bucket& where, const hashed& id);
  static void grow(bucket& what);

  nanoseconds window_;
  std::uint64_t key_;
  std::deque<bucket> buckets_;  // by begin
  std::size_t size_ = 0;
};

}  // namespace tern::storage
