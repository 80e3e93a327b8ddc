#include "storage/archive/peer_index.hpp"

#include <algorithm>

namespace tern::storage::archive {

namespace {

constexpr unsigned char index_magic = 11, newest_version = 4;
constexpr unsigned char set_magic = 22;
constexpr std::uint64_t bits_per_word = 64;

}  // namespace

bool peer_index::decode_deleted(byte_reader& in, block& into) {
  if (in.number<std::uint8_t>() != set_magic) return false;
  const auto version = in.number<std::uint8_t>();
  const std::size_t words = version == 2 ? words_per_node : version == 1 ? 2 * words_per_node : 0;
  const auto nodes = in.number<std::uint32_t>();
  in.number<std::uint32_t>();  // how many are in it
  if (words == 0 || nodes > in.remaining() / (8 + 8 * words + 2)) return false;
  for (std::uint32_t left = nodes; left > 0; --left) {
    std::uint64_t base = in.number<std::uint64_t>();
    for (std::size_t part = 0; part < words; part += words_per_node, base += bits_per_word * words_per_node) {
      node& made = into.deleted.emplace_back();
      made.base = base;
      for (auto& word : made.bits) word = in.number<std::uint64_t>();
    }
    in.number<std::uint16_t>();  // height in the tree
  }
  std::ranges::sort(into.deleted, {}, &node::base);
  return in.ok();
}

result<peer_index> peer_index::decode(std::string_view bytes) {
  const auto damaged = [] { return fail(errc::corrupted, "the index of the stream is damaged"); };
  byte_reader in(bytes);
  if (in.number<std::uint8_t>() != index_magic) return damaged();
  const auto version = in.number<std::uint8_t>();
  if (version < 1 || version > newest_version)
    return fail(errc::unsupported, "an index of version " + std::to_string(version));
  peer_index made;
  made.messages_ = in.varint();
  in.varint();  // bytes
  made.first_ = in.varint();
  in.signed_varint();
  made.last_ = in.varint();
  made.last_time_ = in.signed_varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    if (in.text().empty()) continue;
    const std::uint64_t total = in.varint();
    in.varint();
    if (total > 1 || version >= 4) in.varint();
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const auto number = static_cast<std::uint32_t>(in.varint());
    in.varint();  // bytes
    block& each = made.blocks_[number];
    each.first = in.varint();
    in.signed_varint();
    each.last = in.varint();
    in.signed_varint();
    const std::uint64_t deleted = in.varint();
    if (version >= 2) in.varint();  // with a time to live
    if (version >= 3) in.varint();  // schedules
    if (deleted > 0 && !decode_deleted(in, each)) return damaged();
  }
  if (!in.ok()) return damaged();
  return made;
}

bool peer_index::removed(std::uint32_t block_number, std::uint64_t number) const {
  const auto found = blocks_.find(block_number);
  if (found == blocks_.end()) return !blocks_.empty() && block_number < blocks_.rbegin()->first;
  const block& in = found->second;
  if (number > in.last) return false;
  if (number < in.first) return true;
  auto node = std::ranges::upper_bound(in.deleted, number, {}, &node::base);
  if (node == in.deleted.begin()) return false;
  --node;
  const std::uint64_t distance = number - node->base;
  return distance < bits_per_word * words_per_node &&
         (node->bits[distance / bits_per_word] >> distance % bits_per_word & 1) != 0;
}

}  // namespace tern::storage::archive
