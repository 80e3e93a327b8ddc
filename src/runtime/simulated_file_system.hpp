// The file system under simulated_disk: nodes and names, each with its current and its durable state and the unsynced
// changes between them. Knows nothing of batches, faults or shards.
#pragma once

#include "runtime/disk.hpp"
#include "runtime/random.hpp"
#include "runtime/simulated_disk.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime::simulated {

// A write that extends a file is two changes, of bytes and of size: either may reach the disk without the other.
struct file_change {
  enum class kind { bytes, size };
  kind what;
  std::uint64_t at;  // the offset of bytes, or the new size
  std::string bytes;
};

struct node;
using node_ref = std::shared_ptr<node>;

// The changes of one operation share a number: a rename is kept or lost as a whole.
struct name_change {
  std::uint64_t operation;
  std::string name;
  node_ref target;  // null: the name was removed
};

// Invariant: the durable state with all unsynced changes applied in order is the current state.
struct node {
  bool is_directory = false;
  // --- a file ---
  std::string current;
  std::string durable;
  std::vector<file_change> unsynced;
  bool size_in_doubt = false;  // a failed sync left `current` readable, longer than what the disk has
  // --- a directory ---
  using name_map = std::map<std::string, node_ref, std::less<>>;
  name_map names;
  name_map durable_names;
  std::vector<name_change> unsynced_names;
};

class file_system {
 public:
  explicit file_system(naming_rules rules);

  node_ref find(std::string_view path) const;  // null when missing
  result<node_ref> create_file(const std::string& path);
  result<void> make_directory(const std::string& path);
  result<void> rename(const std::string& from, const std::string& to);
  result<void> unlink(const std::string& path);
  result<void> remove_tree(const std::string& path);
  result<void> sync_directory(const std::string& path);

  void write(node& file, std::uint64_t offset, std::string_view bytes);
  void resize(node& file, std::uint64_t size);
  void sync(node& file);
  void drop_unsynced(node& file, bool still_readable);

  void crash(crash_loss loss, random& choices);

  // --- damage: current and durable state alike ---
  bool flip_bit(const std::string& path, std::uint64_t offset, int bit);
  bool cut(const std::string& path, std::uint64_t size);
  bool erase(const std::string& path);

  void for_each_file(const std::function<void(const std::string& path, const node&)>& visit) const;
  std::uint64_t used_bytes() const;

 private:
  struct place {
    node_ref directory;
    std::string name;
  };
  result<place> parent_of(const std::string& path, std::string_view what) const;
  void change_name(const node_ref& directory, const std::string& name, node_ref target, std::uint64_t operation);
  void commit_names(node& directory);
  void commit_all_names();
  void crash_names(crash_loss loss, random& choices);
  void crash_files(node& directory, crash_loss loss, random& choices);
  void remove_below(const node_ref& directory);

  const naming_rules rules_;
  const node_ref root_;
  std::vector<node_ref> changed_directories_;  // have unsynced names
  std::uint64_t next_operation_ = 1;
};

}  // namespace tern::runtime::simulated
