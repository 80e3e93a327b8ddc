#include "storage/state_file.hpp"

#include "storage/segment/record_reader.hpp"

namespace tern::storage {

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::optional<std::string> read_file(runtime::disk& disk, const std::string& path) {
  auto file = disk.open(path, runtime::open_mode::read_only);
  if (!file) return std::nullopt;
  const auto size = disk.size(*file);
  if (!size) return std::nullopt;
  std::string bytes(*size, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto read = disk.read(*file, have, std::span<char>(bytes).subspan(have));
    if (!read || *read == 0) break;
    have += *read;
  }
  bytes.resize(have);
  return bytes;
}

state_copies read_state(runtime::disk& disk, const std::string& base) {
  state_copies out;
  std::uint64_t generations[2] = {};
  int place = 0;
  for (const char* suffix : {".a", ".b"}) {
    const std::string path = base + suffix;
    const bool exists = disk.exists(path);
    out.exists |= exists;
    const auto bytes = exists ? read_file(disk, path) : std::nullopt;
    record_reader reader(bytes ? std::string_view(*bytes) : std::string_view());
    const bool whole = reader.next() == record_reader::item::record && reader.header().kind == record_kind::state &&
                       reader.size() == bytes->size();
    if (!whole) {
      out.damaged = true;
      if (exists) out.bad_files.push_back(path);
    } else {
      generations[place] = reader.header().sequence;
      if (!out.content || generations[place] > out.generation) {
        out.content = std::string(reader.body());
        out.generation = generations[place];
      }
    }
    ++place;
  }
  if (!out.exists) out.damaged = false;
  return out;
}

result<void> write_state(runtime::disk& disk, runtime::disk_batch& batch, const std::string& base,
                         std::uint64_t generation, std::string_view content) {
  std::string bytes;
  record_header header;
  header.kind = record_kind::state;
  header.sequence = generation;
  append_record(bytes, header, content);
  // The generation makes the name unique, since two writes of one state may wait in the disk's queue together.
  const std::string aside = "." + std::to_string(generation) + ".new";
  for (const char* suffix : {".a", ".b"}) {
    auto file = disk.open(base + suffix + aside, runtime::open_mode::create);
    if (!file) return std::unexpected(std::move(file.error()).within("state file " + base));
    // What a crash left there may be longer.
    batch.operations.push_back(runtime::disk_op::truncate{*file, 0});
    batch.operations.push_back(runtime::disk_op::write{*file, 0, bytes});
    batch.operations.push_back(runtime::disk_op::sync{*file});
  }
  for (const char* suffix : {".a", ".b"}) {
    batch.operations.push_back(runtime::disk_op::rename{base + suffix + aside, base + suffix});
  }
  batch.operations.push_back(runtime::disk_op::sync_directory{directory_of(base)});
  return {};
}

void remove_state(runtime::disk_batch& batch, const std::string& base) {
  for (const char* suffix : {".a", ".b"}) batch.operations.push_back(runtime::disk_op::unlink{base + suffix});
}

}  // namespace tern::storage
