// Seam 4 of 4: the disk. Changes are submitted as ordered batches and complete on the shard's loop; reads are answered
// from the page cache at once. Real: one committer thread per disk runs the batches in order. Simulated: memory that
// forgets what was not synced, tears the last write, flips bits, fills up, fails to sync, and stops at any operation.
// Group commit and recovery are the same code above both.
#pragma once

#include <tern/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tern::runtime {

// An open file. Shared, since a batch in flight keeps what it writes to alive; closed with the last owner.
class file {
 public:
  virtual ~file() = default;
  virtual const std::string& path() const = 0;
};
using file_ref = std::shared_ptr<file>;

namespace disk_op {
// Bytes are owned by the operation until it completes. Writing beyond the end extends the file.
struct write {
  file_ref to;
  std::uint64_t offset;
  std::string bytes;
};
struct sync {
  file_ref what;
};  // fdatasync: data and size
struct truncate {
  file_ref what;
  std::uint64_t size;
};
struct allocate {
  file_ref what;
  std::uint64_t size;
};  // reserves blocks and sets the size; zeros are read
struct rename {
  std::string from;
  std::string to;
};  // replaces `to`
struct unlink {
  std::string path;
};  // a missing file is not an error
struct make_directory {
  std::string path;
};  // with missing parents; an existing one is not an error
struct remove_tree {
  std::string path;
};  // a directory and all in it; missing is not an error
struct sync_directory {
  std::string path;
};  // makes names in it durable (create, rename, unlink)
}  // namespace disk_op

using disk_operation =
    std::variant<disk_op::write, disk_op::sync, disk_op::truncate, disk_op::allocate, disk_op::rename, disk_op::unlink,
                 disk_op::make_directory, disk_op::remove_tree, disk_op::sync_directory>;

struct disk_batch {
  std::vector<disk_operation> operations;
};

enum class open_mode { read_only, read_write, create };  // create: read_write, made when missing (name not yet durable)

struct directory_entry {
  std::string name;
  bool is_directory = false;
  std::uint64_t size = 0;
};

class disk {
 public:
  using completion = std::move_only_function<void(result<void>)>;

  virtual ~disk() = default;

  // At once, on the caller's thread: opening and looking. What is missing is errc::not_found; a full disk is
  // errc::disk_full, every other failure errc::io_error, with the system's text in the context.
  virtual result<file_ref> open(const std::string& path, open_mode mode) = 0;
  virtual result<std::uint64_t> size(const file_ref& what) = 0;
  // Fewer bytes than asked for only at the end of the file.
  virtual result<std::size_t> read(const file_ref& from, std::uint64_t offset, std::span<char> into) = 0;
  virtual result<std::vector<directory_entry>> list(const std::string& directory) = 0;  // sorted by name
  virtual bool exists(const std::string& path) = 0;
  // The directory is this disk's alone until it is destroyed (or its process ends, however); errc::already_exists when
  // another process or disk has it. Repeating it is fine.
  virtual result<void> claim(const std::string& directory) = 0;

  // Operations run in order; the first that fails ends the batch, and its error is the completion's. Batches run in the
  // order of submission, one at a time. The completion runs on the loop that owns the disk, never inside submit(), and
  // never after the disk was destroyed (which first runs what was submitted).
  virtual void submit(disk_batch batch, completion done) = 0;
  // The same, waiting for the end: for start-up and shutdown only. What was submitted before runs first.
  virtual result<void> execute(disk_batch batch) = 0;
};

class shard;
// Completions are posted to `owner`. The committer thread starts with the first submit().
std::unique_ptr<disk> make_real_disk(shard& owner);

}  // namespace tern::runtime
