// The peer's `msgs/index.db`: what its stream was when the file was written. It is taken as a filter: a message that it
// calls deleted stays deleted, however old the file is, since sequences are never given twice. Messages beyond it are
// newer. Versions 1 to 4. (storage part 1)
#pragma once

#include "storage/segment/byte_order.hpp"

#include <tern/base/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::storage::archive {

class peer_index {
 public:
  // The bytes between the file's start and its checksum, decrypted.
  static result<peer_index> decode(std::string_view bytes);

  std::uint64_t messages() const { return messages_; }
  std::uint64_t first() const { return first_; }
  std::uint64_t last() const { return last_; }
  std::int64_t last_time() const { return last_time_; }
  // That message, found in the block of this number, had been removed.
  bool removed(std::uint32_t block, std::uint64_t number) const;

 private:
  static constexpr std::size_t words_per_node = 32;
  struct node {
    std::uint64_t base;
    std::uint64_t bits[words_per_node];
  };
  struct block {
    std::uint64_t first = 0, last = 0;
    std::vector<node> deleted;  // ascending
  };
  static bool decode_deleted(byte_reader& in, block& into);

  std::uint64_t messages_ = 0, first_ = 0, last_ = 0;
  std::int64_t last_time_ = 0;
  std::map<std::uint32_t, block> blocks_;
};

}  // namespace tern::storage::archive
