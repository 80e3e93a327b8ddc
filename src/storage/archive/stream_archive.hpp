// A stream as one sequence of bytes, in the peer's two formats, before compression.
//
// The present one (from 2.15) begins with "NATSARC1"; entries follow each other:
//   uvarint length of the name, varint time (nanoseconds), uvarint sequence, uvarint size of the headers, uvarint size
//   of the payload, name, headers, payload
// `state.json` first, then `consumers/<name>` as often as it says, then messages by ascending sequence with the subject
// as name, then an entry whose fields are all zero and without which the archive is cut.
//
// The older one is a tar of the file store's own files (`meta.inf`, `msgs/<n>.blk`, `obs/<consumer>/...`), plain.
// docs/internals/archive-format.md
#pragma once

#include <tern/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::storage::archive {

constexpr std::string_view archive_magic = "NATSARC1";
constexpr std::string_view state_entry = "state.json";
constexpr std::string_view consumer_entry_prefix = "consumers/";

struct archive_entry {
  std::string_view name;
  std::int64_t time = 0;
  std::uint64_t number = 0;
  std::string_view headers, payload;
  bool is_end() const { return name.empty() && time == 0 && number == 0 && headers.empty() && payload.empty(); }
};

void append_archive_magic(std::string& out);
void append_archive_entry(std::string& out, const archive_entry& what);

// What both readers have in common: bytes come in pieces, entries go out one at a time.
class entry_reader {
 public:
  void push(std::string_view bytes);

 protected:
  std::string_view rest() const { return std::string_view(waiting_).substr(at_); }
  void take(std::size_t size) { at_ += size; }

 private:
  std::string waiting_;
  std::size_t at_ = 0;
};

// Reads entries; views live until the next push(). An entry above `entry_max` is refused, so no more than that and the
// last piece is held.
class archive_reader : public entry_reader {
 public:
  explicit archive_reader(std::size_t entry_max) : entry_max_(entry_max) {}
  // False: more bytes are needed.
  result<bool> next(archive_entry& out);

 private:
  std::size_t entry_max_;
  bool begun_ = false;
};

// Reads the regular files of a tar. Paths are given as they are: whoever writes files checks them.
class tar_reader : public entry_reader {
 public:
  explicit tar_reader(std::size_t file_max) : file_max_(file_max) {}
  struct file {
    std::string_view name;
    std::string_view content;
  };
  // False: more bytes are needed, or the archive has ended.
  result<bool> next(file& out);
  bool ended() const { return ended_; }

 private:
  std::size_t file_max_;
  std::string long_name_, name_;
  bool ended_ = false;
};

}  // namespace tern::storage::archive
