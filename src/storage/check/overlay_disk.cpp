#include "storage/check/overlay_disk.hpp"

#include "storage/state_file.hpp"

#include <algorithm>

namespace tern::storage {

using runtime::disk_batch;
using runtime::file_ref;
using runtime::open_mode;
using runtime::disk_op::allocate;
using runtime::disk_op::make_directory;
using runtime::disk_op::remove_tree;
using runtime::disk_op::rename;
using runtime::disk_op::truncate;
using runtime::disk_op::unlink;
using runtime::disk_op::write;

namespace {

constexpr std::size_t copied_at_a_time = std::size_t{1} << 20;

bool is_below(std::string_view path, std::string_view tree) {
  return path.size() >= tree.size() && path.starts_with(tree) &&
         (path.size() == tree.size() || path[tree.size()] == '/');
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

class overlay_disk::handle final : public runtime::file {
 public:
  handle(std::string path, node_ref of) : of(std::move(of)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  const node_ref of;

 private:
  std::string path_;
};

bool overlay_disk::is_gone(const std::string& path) const {
  return gone_.contains(path) ||
         std::ranges::any_of(gone_trees_, [&](const std::string& tree) { return is_below(path, tree); });
}

overlay_disk::node_ref overlay_disk::find(const std::string& path) {
  if (const auto found = nodes_.find(path); found != nodes_.end()) return found->second;
  if (is_gone(path) || !base_.exists(path)) return nullptr;
  auto made = std::make_shared<node>(node{.place = path, .own = false, .handle = nullptr});
  nodes_.emplace(path, made);
  return made;
}

result<file_ref> overlay_disk::handle_of(node& what, open_mode mode) {
  if (what.handle == nullptr) {
    auto opened = base_.open(what.place, what.own ? mode : open_mode::read_only);
    if (!opened) return opened;
    what.handle = std::move(*opened);
  }
  return what.handle;
}

result<file_ref> overlay_disk::open(const std::string& path, open_mode mode) {
  node_ref found = find(path);
  if (found == nullptr) {
    if (mode != open_mode::create) return fail(errc::not_found, "open " + path + ": there is no such file");
    found =
        std::make_shared<node>(node{.place = scratch_ + "/" + std::to_string(next_++), .own = true, .handle = nullptr});
    nodes_[path] = found;
  }
  if (auto opened = handle_of(*found, open_mode::create); !opened) {
    nodes_.erase(path);
    return opened;
  }
  return std::make_shared<handle>(path, std::move(found));
}

result<std::uint64_t> overlay_disk::size(const file_ref& what) {
  return base_.size(static_cast<const handle&>(*what).of->handle);
}

result<std::size_t> overlay_disk::read(const file_ref& from, std::uint64_t offset, std::span<char> into) {
  return base_.read(static_cast<const handle&>(*from).of->handle, offset, into);
}

bool overlay_disk::exists(const std::string& path) { return directories_.contains(path) || find(path) != nullptr; }

result<std::vector<runtime::directory_entry>> overlay_disk::list(const std::string& directory) {
  std::map<std::string, runtime::directory_entry> shown;
  const bool in_base = !is_gone(directory) && base_.exists(directory);
  if (in_base) {
    auto entries = base_.list(directory);
    if (!entries) return entries;
    for (auto& each : *entries) {
      if (!is_gone(directory + "/" + each.name)) shown[each.name] = each;
    }
  } else if (!directories_.contains(directory)) {
    return fail(errc::not_found, "list " + directory + ": there is no such directory");
  }
  for (const auto& [path, each] : nodes_) {
    if (!each->own || directory_of(path) != directory) continue;
    const auto bytes = each->handle == nullptr ? result<std::uint64_t>(0) : base_.size(each->handle);
    shown[name_of(path)] = {name_of(path), false, bytes.value_or(0)};
  }
  for (const std::string& path : directories_) {
    if (directory_of(path) == directory) shown[name_of(path)] = {name_of(path), true, 0};
  }
  std::vector<runtime::directory_entry> entries;
  for (auto& [name, each] : shown) entries.push_back(std::move(each));
  return entries;
}

result<void> overlay_disk::make_own(node& what) {
  if (what.own) return {};
  auto from = handle_of(what, open_mode::read_only);
  if (!from) return std::unexpected(from.error());
  const std::string place = scratch_ + "/" + std::to_string(next_++);
  auto to = base_.open(place, open_mode::create);
  if (!to) return std::unexpected(to.error());
  for (std::uint64_t at = 0;;) {
    std::string bytes(copied_at_a_time, '\0');
    const auto got = base_.read(*from, at, bytes);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) break;
    bytes.resize(*got);
    disk_batch batch;
    batch.operations.push_back(write{*to, at, std::move(bytes)});
    if (auto outcome = base_.execute(std::move(batch)); !outcome) return outcome;
    at += *got;
  }
  written_.insert(what.place);
  what.place = place;
  what.own = true;
  what.handle = std::move(*to);
  return {};
}

void overlay_disk::forget(const std::string& path) {
  if (base_.exists(path)) gone_.insert(path);
  nodes_.erase(path);
}

void overlay_disk::forget_tree(const std::string& path) {
  gone_trees_.insert(path);
  std::erase_if(nodes_, [&](const auto& each) { return is_below(each.first, path); });
  std::erase_if(directories_, [&](const auto& each) { return is_below(each, path); });
}

result<void> overlay_disk::run(const runtime::disk_operation& what) {
  const auto on_file = [this](const file_ref& to, auto operation) -> result<void> {
    node& of = *static_cast<const handle&>(*to).of;
    if (auto outcome = make_own(of); !outcome) return outcome;
    disk_batch batch;
    batch.operations.push_back(operation(of.handle));
    return base_.execute(std::move(batch));
  };
  if (const auto* op = std::get_if<write>(&what)) {
    return on_file(op->to, [op](const file_ref& to) { return write{to, op->offset, op->bytes}; });
  }
  if (const auto* op = std::get_if<truncate>(&what)) {
    return on_file(op->what, [op](const file_ref& to) { return truncate{to, op->size}; });
  }
  if (const auto* op = std::get_if<allocate>(&what)) {
    return on_file(op->what, [op](const file_ref& to) { return allocate{to, op->size}; });
  }
  if (const auto* op = std::get_if<rename>(&what)) {
    node_ref moved = find(op->from);
    const bool is_directory = directories_.contains(op->from) || (moved != nullptr && base_.list(op->from).has_value());
    if (is_directory) {  // on its way out
      forget_tree(op->from);
      return {};
    }
    if (moved == nullptr) return fail(errc::not_found, "rename " + op->from + ": there is no such file");
    if (auto outcome = make_own(*moved); !outcome) return outcome;
    if (base_.exists(op->to)) written_.insert(op->to);
    forget(op->from);
    nodes_[op->to] = std::move(moved);
    return {};
  }
  if (const auto* op = std::get_if<unlink>(&what)) forget(op->path);
  if (const auto* op = std::get_if<remove_tree>(&what)) forget_tree(op->path);
  if (const auto* op = std::get_if<make_directory>(&what)) {
    for (std::string path = op->path; !path.empty() && (is_gone(path) || !base_.exists(path));
         path = directory_of(path))
      directories_.insert(path);
  }
  return {};  // nothing here is to survive: syncs are not needed
}

result<void> overlay_disk::execute(disk_batch batch) {
  for (const auto& each : batch.operations) {
    if (auto outcome = run(each); !outcome) return outcome;
  }
  return {};
}

void overlay_disk::submit(disk_batch batch, completion done) {
  auto outcome = execute(std::move(batch));
  base_.submit({}, [done = std::move(done), outcome = std::move(outcome)](result<void>) mutable { done(outcome); });
}

std::vector<std::string> overlay_disk::changed() const {
  std::set<std::string> all = written_;
  all.insert(gone_.begin(), gone_.end());
  std::vector<std::string> out(all.begin(), all.end());
  std::erase_if(out,
                [this](const std::string& path) { return path.starts_with(scratch_ + "/") || !base_.exists(path); });
  return out;
}

}  // namespace tern::storage
