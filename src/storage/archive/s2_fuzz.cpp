#include "storage/archive/s2.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace tern::storage::archive;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string out;
  static_cast<void>(decode_s2_block(bytes, 1 << 20, out));
  s2_frame_reader reader;
  for (std::size_t at = 0; at < size; at += 7) {
    reader.push(bytes.substr(at, 7));
    for (auto more = reader.next(out); more && *more; more = reader.next(out)) {
      if (out.empty() || out.size() > s2_block_max) std::abort();
    }
  }
  // What we write is read back.
  snappy_frame_writer writer;
  std::string stream, all;
  writer.append(bytes, stream);
  writer.flush(stream);
  s2_frame_reader again;
  again.push(stream);
  for (auto more = again.next(out); more && *more; more = again.next(out)) all += out;
  if (all != bytes) std::abort();
  return 0;
}
