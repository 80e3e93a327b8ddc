#include "storage/archive/stream_archive.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace tern::storage::archive;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  archive_reader entries(1 << 16);
  entries.push(archive_magic);
  tar_reader files(1 << 16);
  for (std::size_t at = 0; at < size; at += 11) {
    entries.push(bytes.substr(at, 11));
    files.push(bytes.substr(at, 11));
    archive_entry entry;
    for (auto more = entries.next(entry); more && *more; more = entries.next(entry)) {
      if (entry.headers.size() + entry.payload.size() > 1 << 16) std::abort();
    }
    tar_reader::file file;
    for (auto more = files.next(file); more && *more; more = files.next(file)) {
      if (file.content.size() > 1 << 16) std::abort();
    }
  }
  return 0;
}
