#include "storage/archive/peer_block.hpp"

#include "storage/archive/peer_consumer_state.hpp"
#include "storage/archive/peer_index.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace tern::storage::archive;

// Any bytes as a block, a consumer's state and an index.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const auto key = block_key("S", 1);
  peer_block_reader reader(bytes, key);
  std::uint64_t covered = 0;
  for (auto item = reader.next(); item != peer_block_reader::item::end; item = reader.next()) covered += reader.size();
  if (covered != size) std::abort();
  static_cast<void>(decompress_peer_block(std::string(bytes)));
  if (const auto state = decode_peer_consumer(bytes)) static_cast<void>(encode_peer_consumer(*state));
  if (const auto index = peer_index::decode(bytes)) static_cast<void>(index->removed(1, index->last()));
  // What is written is read back.
  std::string block;
  const peer_record record{.number = size + 1,
                           .time = 1,
                           .subject = "s",
                           .headers = bytes.substr(0, size / 2),
                           .payload = bytes.substr(size / 2)};
  if (!append_peer_record(block, record, key)) return 0;
  peer_block_reader again(block, key);
  if (again.next() != peer_block_reader::item::record || again.record().payload != record.payload ||
      again.record().headers != record.headers) {
    std::abort();
  }
  return 0;
}
