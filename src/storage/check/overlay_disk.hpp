// A disk that shows another one and changes nothing of it: what is written goes to files of its own, so that recovery
// can run on a store to see what it would do. A file is copied when it is first written to.
//
// The base disk outlives it. One thread, that of the base disk.
#pragma once

#include "runtime/disk.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tern::storage {

class overlay_disk final : public runtime::disk {
 public:
  // `scratch`: an empty directory that this one may fill.
  overlay_disk(runtime::disk& base, std::string scratch) : base_(base), scratch_(std::move(scratch)) {}

  result<runtime::file_ref> open(const std::string& path, runtime::open_mode mode) override;
  result<std::uint64_t> size(const runtime::file_ref& what) override;
  result<std::size_t> read(const runtime::file_ref& from, std::uint64_t offset, std::span<char> into) override;
  result<std::vector<runtime::directory_entry>> list(const std::string& directory) override;
  bool exists(const std::string& path) override;
  result<void> claim(const std::string& directory) override { return base_.claim(directory); }
  void submit(runtime::disk_batch batch, completion done) override;
  result<void> execute(runtime::disk_batch batch) override;

  // Files of the base that are not as they were: written to, replaced, removed.
  std::vector<std::string> changed() const;

 private:
  struct node {
    std::string place;  // on the base disk
    bool own = false;
    runtime::file_ref handle;
  };
  using node_ref = std::shared_ptr<node>;
  class handle;
  friend class handle;

  node_ref find(const std::string& path);
  bool is_gone(const std::string& path) const;
  result<runtime::file_ref> handle_of(node& what, runtime::open_mode mode);
  result<void> make_own(node& what);
  result<void> run(const runtime::disk_operation& what);
  void forget(const std::string& path);
  void forget_tree(const std::string& path);

  runtime::disk& base_;
  std::string scratch_;
  std::map<std::string, node_ref> nodes_;
  std::set<std::string> gone_, gone_trees_, directories_, written_;
  std::size_t next_ = 0;
};

}  // namespace tern::storage
