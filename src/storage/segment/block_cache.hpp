// Blocks of segments that reads have fetched from the page cache, least recently used ones thrown out first.
// Owned by the store; one thread.
#pragma once

#include "runtime/disk.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace tern::storage {

// Blocks are handed out shared, so a view into one outlives its eviction while its holder lives.
class block_cache {
 public:
  static constexpr std::uint64_t block_size = 64 << 10;
  using block = std::shared_ptr<const std::string>;

  explicit block_cache(std::uint64_t capacity) : capacity_(capacity) {}

  // The block number `index` of a file; `key` names the file over its life. Shorter than block_size only at the file's
  // end, and then not kept.
  result<block> get(runtime::disk& disk, const runtime::file_ref& from, std::uint64_t key, std::uint64_t index);
  // What was changed in place is read anew.
  void forget(std::uint64_t key, std::uint64_t first_byte, std::uint64_t size);

  std::uint64_t bytes() const { return bytes_; }

 private:
  struct entry {
    std::uint64_t place;
    block content;
  };
  static std::uint64_t place_of(std::uint64_t key, std::uint64_t index) { return key << 24 | index; }

  std::uint64_t capacity_;
  std::uint64_t bytes_ = 0;
  std::list<entry> recent_;  // front: used last
  std::unordered_map<std::uint64_t, std::list<entry>::iterator> blocks_;
};

}  // namespace tern::storage
