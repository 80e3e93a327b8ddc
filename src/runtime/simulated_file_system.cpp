#include "runtime/simulated_file_system.hpp"

#include <algorithm>
#include <set>

namespace tern::runtime::simulated {
namespace {

// "/a//b/./c" as a, b, c. Relative paths start at the root as well: there is one working directory.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (const auto part = path.substr(0, end); !part.empty() && part != ".") parts.push_back(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

std::unexpected<error> missing(std::string_view what, const std::string& path) {
  return fail(errc::not_found, std::string(what) + " " + path + ": No such file or directory");
}

// Bytes beyond the size stay in the buffer until the end, since a later change of the size may cover them.
struct replay {
  std::string bytes;
  std::uint64_t size;

  explicit replay(std::string start) : bytes(std::move(start)), size(bytes.size()) {}

  void apply(const file_change& change, std::size_t bytes_kept) {
    if (change.what == file_change::kind::size) {
      if (change.at < bytes.size()) bytes.resize(change.at);
      size = change.at;
      return;
    }
    const std::string_view kept = std::string_view(change.bytes).substr(0, bytes_kept);
    if (bytes.size() < change.at + kept.size()) bytes.resize(change.at + kept.size());
    bytes.replace(change.at, kept.size(), kept);
  }
  void apply(const file_change& change) { apply(change, change.bytes.size()); }

  std::string finish() && {
    bytes.resize(size);
    return std::move(bytes);
  }
};

}  // namespace

file_system::file_system(naming_rules rules) : rules_(rules), root_(std::make_shared<node>()) {
  root_->is_directory = true;
}

node_ref file_system::find(std::string_view path) const {
  node_ref at = root_;
  for (const std::string_view part : parts_of(path)) {
    if (!at->is_directory) return nullptr;
    const auto found = at->names.find(part);
    if (found == at->names.end()) return nullptr;
    at = found->second;
  }
  return at;
}

result<file_system::place> file_system::parent_of(const std::string& path, std::string_view what) const {
  const auto parts = parts_of(path);
  if (parts.empty()) return fail(errc::io_error, std::string(what) + " " + path + ": Is a directory");
  node_ref at = root_;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto found = at->names.find(parts[i]);
    if (found == at->names.end() || !found->second->is_directory) return missing(what, path);
    at = found->second;
  }
  return place{at, std::string(parts.back())};
}

void file_system::change_name(const node_ref& directory, const std::string& name, node_ref target,
                              std::uint64_t operation) {
  if (target) {
    directory->names[name] = target;
  } else {
    directory->names.erase(name);
  }
  if (directory->unsynced_names.empty()) changed_directories_.push_back(directory);
  directory->unsynced_names.push_back({operation, name, std::move(target)});
}

result<node_ref> file_system::create_file(const std::string& path) {
  const auto where = parent_of(path, "open");
  if (!where) return std::unexpected(where.error());
  if (const auto found = where->directory->names.find(where->name); found != where->directory->names.end()) {
    if (found->second->is_directory) return fail(errc::io_error, "open " + path + ": Is a directory");
    return found->second;
  }
  auto made = std::make_shared<node>();
  change_name(where->directory, where->name, made, next_operation_++);
  return made;
}

result<void> file_system::make_directory(const std::string& path) {
  node_ref at = root_;
  for (const std::string_view part : parts_of(path)) {
    const auto found = at->names.find(part);
    if (found != at->names.end()) {
      if (!found->second->is_directory) return fail(errc::io_error, "make directory " + path + ": File exists");
      at = found->second;
      continue;
    }
    auto made = std::make_shared<node>();
    made->is_directory = true;
    change_name(at, std::string(part), made, next_operation_++);
    at = std::move(made);
  }
  return {};
}

result<void> file_system::rename(const std::string& from, const std::string& to) {
  const auto source = parent_of(from, "rename"), target = parent_of(to, "rename");
  if (!source) return std::unexpected(source.error());
  if (!target) return std::unexpected(target.error());
  const auto found = source->directory->names.find(source->name);
  if (found == source->directory->names.end()) return missing("rename", from);
  const node_ref moved = found->second;
  if (const auto replaced = target->directory->names.find(target->name); replaced != target->directory->names.end()) {
    if (replaced->second == moved) return {};
    const bool onto_directory = replaced->second->is_directory;
    if (onto_directory && !moved->is_directory) return fail(errc::io_error, "rename " + from + ": Is a directory");
    if (!onto_directory && moved->is_directory) return fail(errc::not_found, "rename " + from + ": Not a directory");
    if (!replaced->second->names.empty()) return fail(errc::io_error, "rename " + from + ": Directory not empty");
  }
  const std::uint64_t operation = next_operation_++;
  change_name(target->directory, target->name, moved, operation);
  change_name(source->directory, source->name, nullptr, operation);
  return {};
}

result<void> file_system::unlink(const std::string& path) {
  const auto where = parent_of(path, "unlink");
  if (!where) return {};
  const auto found = where->directory->names.find(where->name);
  if (found == where->directory->names.end()) return {};
  if (found->second->is_directory) return fail(errc::io_error, "unlink " + path + ": Is a directory");
  change_name(where->directory, where->name, nullptr, next_operation_++);
  return {};
}

// From the leaves up, each name an operation of its own, so that a crash may leave any part of the tree.
void file_system::remove_below(const node_ref& directory) {
  const auto names = directory->names;
  for (const auto& [name, child] : names) {
    if (child->is_directory) remove_below(child);
    change_name(directory, name, nullptr, next_operation_++);
  }
}

result<void> file_system::remove_tree(const std::string& path) {
  const auto where = parent_of(path, "remove");
  if (!where) return {};
  const auto found = where->directory->names.find(where->name);
  if (found == where->directory->names.end()) return {};
  if (const node_ref top = found->second; top->is_directory) remove_below(top);
  change_name(where->directory, where->name, nullptr, next_operation_++);
  return {};
}

void file_system::commit_names(node& directory) {
  directory.durable_names = directory.names;
  directory.unsynced_names.clear();
}

void file_system::commit_all_names() {
  for (const node_ref& directory : changed_directories_) commit_names(*directory);
  changed_directories_.clear();
}

result<void> file_system::sync_directory(const std::string& path) {
  const node_ref directory = find(path);
  if (!directory || !directory->is_directory) return missing("sync directory", path);
  if (rules_ == naming_rules::ext4) {
    commit_all_names();  // one journal
    return {};
  }
  commit_names(*directory);
  std::erase(changed_directories_, directory);
  return {};
}

namespace {

// The size that the next sync makes durable.
std::uint64_t size_to_come(const node& file) {
  std::uint64_t size = file.durable.size();
  for (const file_change& change : file.unsynced) {
    if (change.what == file_change::kind::size) size = change.at;
  }
  return size;
}

}  // namespace

void file_system::write(node& file, std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  const bool grows = end > file.current.size();
  if (grows) file.current.resize(end);
  file.current.replace(offset, bytes.size(), bytes);
  file.unsynced.push_back({file_change::kind::bytes, offset, std::string(bytes)});
  if (grows || (file.size_in_doubt && end > size_to_come(file))) {
    file.unsynced.push_back({file_change::kind::size, end, {}});
  }
}

void file_system::resize(node& file, std::uint64_t size) {
  if (size == file.current.size()) return;
  file.current.resize(size);
  file.unsynced.push_back({file_change::kind::size, size, {}});
}

void file_system::sync(node& file) {
  replay state(std::move(file.durable));
  for (const file_change& change : file.unsynced) state.apply(change);
  file.durable = std::move(state).finish();
  file.unsynced.clear();
  if (rules_ == naming_rules::ext4) commit_all_names();
}

void file_system::drop_unsynced(node& file, bool still_readable) {
  // Bytes that stay readable although they never reached the disk: the page cache of Linux after a failed fsync. The
  // invariant between current and durable state is suspended for them until something is written over them.
  file.unsynced.clear();
  if (!still_readable) file.current = file.durable;
  file.size_in_doubt = still_readable;
}

void file_system::crash(crash_loss loss, random& choices) {
  crash_names(loss, choices);
  crash_files(*root_, loss, choices);
}

void file_system::crash_names(crash_loss loss, random& choices) {
  std::set<std::uint64_t> operations;
  for (const node_ref& directory : changed_directories_) {
    for (const name_change& change : directory->unsynced_names) operations.insert(change.operation);
  }
  std::set<std::uint64_t> kept;
  if (loss == crash_loss::nothing) {
    kept = operations;
  } else if (loss != crash_loss::all_unsynced && rules_ == naming_rules::ext4) {
    auto count = choices.next() % (operations.size() + 1);
    for (auto next = operations.begin(); count > 0; ++next, --count) kept.insert(*next);
  } else if (loss != crash_loss::all_unsynced) {
    std::ranges::copy_if(operations, std::inserter(kept, kept.end()), [&](auto) { return choices.next() % 2 == 0; });
  }
  for (const node_ref& directory : changed_directories_) {
    for (const name_change& change : directory->unsynced_names) {
      if (!kept.contains(change.operation)) continue;
      if (change.target) {
        directory->durable_names[change.name] = change.target;
      } else {
        directory->durable_names.erase(change.name);
      }
    }
    directory->names = directory->durable_names;
    directory->unsynced_names.clear();
  }
  changed_directories_.clear();
}

void file_system::crash_files(node& directory, crash_loss loss, random& choices) {
  for (const auto& [name, child] : directory.names) {
    if (child->is_directory) {
      crash_files(*child, loss, choices);
      continue;
    }
    std::vector<const file_change*> kept;
    const file_change* last_write = nullptr;
    for (const file_change& change : child->unsynced) {
      if (loss == crash_loss::all_unsynced) break;
      if (loss != crash_loss::nothing && choices.next() % 2 == 0) continue;
      kept.push_back(&change);
      if (change.what == file_change::kind::bytes) last_write = &change;
    }
    replay state(std::move(child->durable));
    for (const file_change* change : kept) {
      const bool torn = loss == crash_loss::torn_write && change == last_write;
      state.apply(*change, torn ? choices.next() % change->bytes.size() : change->bytes.size());
    }
    child->durable = std::move(state).finish();
    child->current = child->durable;
    child->unsynced.clear();
  }
}

bool file_system::flip_bit(const std::string& path, std::uint64_t offset, int bit) {
  const node_ref file = find(path);
  if (!file || file->is_directory || offset >= file->current.size()) return false;
  const auto flip = [mask = 1 << (bit & 7)](char& byte) { byte = static_cast<char>(byte ^ mask); };
  flip(file->current[offset]);
  if (offset < file->durable.size()) flip(file->durable[offset]);
  for (file_change& change : file->unsynced) {
    if (change.what != file_change::kind::bytes || offset < change.at) continue;
    if (offset - change.at < change.bytes.size()) flip(change.bytes[offset - change.at]);
  }
  return true;
}

bool file_system::cut(const std::string& path, std::uint64_t size) {
  const node_ref file = find(path);
  if (!file || file->is_directory || size > file->current.size()) return false;
  file->current.resize(size);
  if (size < file->durable.size()) file->durable.resize(size);
  for (file_change& change : file->unsynced) {
    if (change.what == file_change::kind::size) {
      change.at = std::min(change.at, size);
    } else if (change.at + change.bytes.size() > size) {
      change.bytes.resize(size > change.at ? size - change.at : 0);
    }
  }
  std::erase_if(file->unsynced, [](const file_change& change) {
    return change.what == file_change::kind::bytes && change.bytes.empty();
  });
  return true;
}

bool file_system::erase(const std::string& path) {
  const auto where = parent_of(path, "erase");
  if (!where) return false;
  node& directory = *where->directory;
  const auto found = directory.names.find(where->name);
  if (found == directory.names.end() || found->second->is_directory) return false;
  directory.names.erase(found);
  directory.durable_names.erase(where->name);
  std::erase_if(directory.unsynced_names, [&](const name_change& change) { return change.name == where->name; });
  if (directory.unsynced_names.empty()) std::erase(changed_directories_, where->directory);
  return true;
}

void file_system::for_each_file(const std::function<void(const std::string&, const node&)>& visit) const {
  const auto walk = [&visit](const auto& self, const std::string& prefix, const node& directory) -> void {
    for (const auto& [name, child] : directory.names) {
      const std::string path = prefix + "/" + name;
      if (child->is_directory) {
        self(self, path, *child);
      } else {
        visit(path, *child);
      }
    }
  };
  walk(walk, "", *root_);
}

std::uint64_t file_system::used_bytes() const {
  std::uint64_t total = 0;
  for_each_file([&total](const std::string&, const node& file) { total += file.current.size(); });
  return total;
}

}  // namespace tern::runtime::simulated
