// Any bytes, in any split, to both kinds of decoder, into the input's own memory and into another: never more out than
// allowed, never stuck, and an uncompressed stream does not depend on the split.
#include "protocol/websocket/decoder.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using tern::protocol::websocket_decoder;

std::string run(std::string_view bytes, bool compress, std::size_t split, std::size_t room) {
  websocket_decoder decoder({.masked = (bytes.size() & 1) != 0, .may_compress = compress, .inflated_max = 1 << 20});
  std::string out;
  std::vector<char> block(room);
  while (!bytes.empty()) {
    std::string piece(bytes.substr(0, split));
    bytes.remove_prefix(piece.size());
    std::span<char> input(piece);
    for (int idle = 0;;) {
      const auto done = decoder.decode(input, compress ? std::span<char>(block) : input);
      if (done.consumed > input.size() || (compress && done.produced > block.size())) std::abort();
      out.append(compress ? block.data() : input.data(), done.produced);
      out += static_cast<char>('0' + static_cast<int>(done.what == websocket_decoder::event::failed));
      if (out.back() == '0') out.pop_back();
      input = input.subspan(done.consumed);
      if (done.what == websocket_decoder::event::failed) return out;
      if (done.what == websocket_decoder::event::need_input) break;
      idle = done.consumed == 0 && done.produced == 0 ? idle + 1 : 0;
      if (idle > 2) std::abort();
      if (out.size() > (64u << 20)) std::abort();
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t split = 1 + data[0] % 16;
  if (run(bytes, false, size, 1) != run(bytes, false, split, 1)) std::abort();
  run(bytes, true, size, 64);
  run(bytes, true, split, 7);
  return 0;
}
