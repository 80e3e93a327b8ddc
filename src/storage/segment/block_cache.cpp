#include "storage/segment/block_cache.hpp"

namespace tern::storage {

result<block_cache::block> block_cache::get(runtime::disk& disk, const runtime::file_ref& from, std::uint64_t key,
                                            std::uint64_t index) {
  const std::uint64_t place = place_of(key, index);
  if (const auto found = blocks_.find(place); found != blocks_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->content;
  }
  std::string bytes(block_size, '\0');
  const auto read = disk.read(from, index * block_size, bytes);
  if (!read) return std::unexpected(read.error());
  bytes.resize(*read);
  const bool whole = bytes.size() == block_size;
  auto content = std::make_shared<const std::string>(std::move(bytes));
  if (!whole || capacity_ < block_size) return content;
  recent_.push_front({place, content});
  blocks_.emplace(place, recent_.begin());
  bytes_ += block_size;
  while (bytes_ > capacity_) {
    blocks_.erase(recent_.back().place);
    recent_.pop_back();
    bytes_ -= block_size;
  }
  return content;
}

void block_cache::forget(std::uint64_t key, std::uint64_t first_byte, std::uint64_t size) {
  if (size == 0) return;
  for (auto index = first_byte / block_size; index <= (first_byte + size - 1) / block_size; ++index) {
    const auto found = blocks_.find(place_of(key, index));
    if (found == blocks_.end()) continue;
    recent_.erase(found->second);
    blocks_.erase(found);
    bytes_ -= block_size;
  }
}

}  // namespace tern::storage
