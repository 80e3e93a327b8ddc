// Small state that must survive the loss of a file: two copies, each one whole record with a generation number. The
// newest whole copy counts (storage I4). Used for the store's list of journals, streams and consumers.
#pragma once

#include "runtime/disk.hpp"
#include "storage/segment/record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tern::storage {

struct state_copies {
  std::optional<std::string> content;  // of the newest whole copy
  std::uint64_t generation = 0;
  bool damaged = false;                // a copy is missing, cut or wrong while the other is there
  bool exists = false;                 // some file is there
  std::vector<std::string> bad_files;  // that are there and not whole
};

// `base` is the path without the suffixes `.a` and `.b`.
state_copies read_state(runtime::disk& disk, const std::string& base);

// Appends to the batch what replaces both copies, each written aside, synced and renamed, then the directory synced.
// The directory must exist.
result<void> write_state(runtime::disk& disk, runtime::disk_batch& batch, const std::string& base,
                         std::uint64_t generation, std::string_view content);
// The operations that remove both copies; the directory is not synced.
void remove_state(runtime::disk_batch& batch, const std::string& base);

std::string directory_of(const std::string& path);
// A whole file; empty optional when it cannot be opened.
std::optional<std::string> read_file(runtime::disk& disk, const std::string& path);

}  // namespace tern::storage
