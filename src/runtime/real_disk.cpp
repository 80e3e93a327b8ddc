// The disk of the operating system: one committer thread runs the batches, the caller's thread opens, looks and reads.
#include "runtime/disk.hpp"
#include "runtime/shard.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tern::runtime {
namespace {

// Adjacent writes that go out in one system call.
constexpr std::size_t gathered_writes_max = 256;
constexpr mode_t file_mode = 0640;
constexpr mode_t directory_mode = 0750;

std::unexpected<error> failed(std::string_view what, const std::string& path, int error_number) {
  errc code = errc::io_error;
  if (error_number == ENOSPC || error_number == EDQUOT) code = errc::disk_full;
  if (error_number == ENOENT || error_number == ENOTDIR) code = errc::not_found;
  return fail(code, std::string(what) + " " + path + ": " + std::generic_category().message(error_number));
}

class real_file final : public file {
 public:
  real_file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~real_file() override { ::close(descriptor_); }
  const std::string& path() const override { return path_; }
  int descriptor() const { return descriptor_; }

 private:
  const std::string path_;
  const int descriptor_;
};

int descriptor_of(const file_ref& which) { return static_cast<const real_file&>(*which).descriptor(); }

template <class Call>
auto again_when_interrupted(Call call) {
  for (;;) {
    const auto outcome = call();
    if (outcome >= 0 || errno != EINTR) return outcome;
  }
}

// Writes all of `pieces` from `offset` on, whatever the system takes at a time. Changes `pieces`.
result<void> write_all(const file_ref& to, std::uint64_t offset, std::span<iovec> pieces) {
  while (!pieces.empty()) {
    const ssize_t written = again_when_interrupted([&] {
      return ::pwritev(descriptor_of(to), pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(offset));
    });
    if (written < 0) return failed("write", to->path(), errno);
    if (written == 0) return failed("write", to->path(), ENOSPC);
    offset += static_cast<std::uint64_t>(written);
    auto rest = static_cast<std::size_t>(written);
    while (!pieces.empty() && rest >= pieces.front().iov_len) {
      rest -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (rest > 0) {
      pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + rest;
      pieces.front().iov_len -= rest;
    }
  }
  return {};
}

struct runner {
  result<void> operator()(const disk_op::write& op) const {
    iovec piece{const_cast<char*>(op.bytes.data()), op.bytes.size()};
    return op.bytes.empty() ? result<void>() : write_all(op.to, op.offset, {&piece, 1});
  }
  result<void> operator()(const disk_op::sync& op) const {
    if (again_when_interrupted([&] { return ::fdatasync(descriptor_of(op.what)); }) < 0) {
      return failed("sync", op.what->path(), errno);
    }
    return {};
  }
  result<void> operator()(const disk_op::truncate& op) const {
    const auto size = static_cast<off_t>(op.size);
    if (again_when_interrupted([&] { return ::ftruncate(descriptor_of(op.what), size); }) < 0) {
      return failed("truncate", op.what->path(), errno);
    }
    return {};
  }
  result<void> operator()(const disk_op::allocate& op) const {
    struct stat status{};
    if (::fstat(descriptor_of(op.what), &status) < 0) return failed("allocate", op.what->path(), errno);
    if (static_cast<std::uint64_t>(status.st_size) >= op.size) return {};
    const auto size = static_cast<off_t>(op.size);
    if (again_when_interrupted([&] { return ::fallocate(descriptor_of(op.what), 0, 0, size); }) == 0) return {};
    if (errno != EOPNOTSUPP) return failed("allocate", op.what->path(), errno);
    return (*this)(disk_op::truncate{op.what, op.size});  // a file system that cannot reserve
  }
  result<void> operator()(const disk_op::rename& op) const {
    if (::rename(op.from.c_str(), op.to.c_str()) < 0) return failed("rename", op.from, errno);
    return {};
  }
  result<void> operator()(const disk_op::unlink& op) const {
    if (::unlink(op.path.c_str()) < 0 && errno != ENOENT) return failed("unlink", op.path, errno);
    return {};
  }
  result<void> operator()(const disk_op::make_directory& op) const {
    if (::mkdir(op.path.c_str(), directory_mode) == 0) return {};
    if (errno == ENOENT) {
      const std::string parent = std::filesystem::path(op.path).parent_path().string();
      if (parent.empty() || parent == op.path) return failed("make directory", op.path, ENOENT);
      if (auto made = (*this)(disk_op::make_directory{parent}); !made) return made;
      if (::mkdir(op.path.c_str(), directory_mode) == 0) return {};
    }
    if (errno != EEXIST) return failed("make directory", op.path, errno);
    struct stat status{};
    if (::stat(op.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
    return failed("make directory", op.path, EEXIST);
  }
  result<void> operator()(const disk_op::remove_tree& op) const {
    std::error_code status;
    std::filesystem::remove_all(op.path, status);
    if (status) return failed("remove", op.path, status.value());
    return {};
  }
  result<void> operator()(const disk_op::sync_directory& op) const {
    const int descriptor = ::open(op.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return failed("sync directory", op.path, errno);
    const int outcome = again_when_interrupted([&] { return ::fsync(descriptor); });
    const int error_number = errno;
    ::close(descriptor);
    if (outcome < 0) return failed("sync directory", op.path, error_number);
    return {};
  }
};

// Writes that stand one behind the other, in the batch and in the file, become one system call.
result<void> run_batch(const disk_batch& batch) {
  std::array<iovec, gathered_writes_max> pieces;
  const auto& operations = batch.operations;
  for (std::size_t i = 0; i < operations.size();) {
    const auto* first = std::get_if<disk_op::write>(&operations[i]);
    if (first == nullptr) {
      if (auto done = std::visit(runner(), operations[i]); !done) return done;
      ++i;
      continue;
    }
    std::size_t count = 0;
    std::uint64_t end = first->offset;
    for (; i < operations.size() && count < pieces.size(); ++i) {
      const auto* next = std::get_if<disk_op::write>(&operations[i]);
      if (next == nullptr || next->to != first->to || next->offset != end) break;
      end += next->bytes.size();
      if (!next->bytes.empty()) pieces[count++] = {const_cast<char*>(next->bytes.data()), next->bytes.size()};
    }
    if (auto done = write_all(first->to, first->offset, {pieces.data(), count}); !done) return done;
  }
  return {};
}

class real_disk final : public disk {
 public:
  explicit real_disk(shard& owner) : owner_(owner) {}

  ~real_disk() override {
    *alive_ = false;
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    if (committer_.joinable()) committer_.join();
    for (const auto& [directory, descriptor] : claims_) ::close(descriptor);
  }

  result<file_ref> open(const std::string& path, open_mode mode) override {
    int flags = O_CLOEXEC;
    if (mode == open_mode::read_only) flags |= O_RDONLY;
    if (mode == open_mode::read_write) flags |= O_RDWR;
    if (mode == open_mode::create) flags |= O_RDWR | O_CREAT;
    const int descriptor = again_when_interrupted([&] { return ::open(path.c_str(), flags, file_mode); });
    if (descriptor < 0) return failed("open", path, errno);
    return std::make_shared<real_file>(path, descriptor);
  }

  result<std::uint64_t> size(const file_ref& what) override {
    struct stat status{};
    if (::fstat(descriptor_of(what), &status) < 0) return failed("size of", what->path(), errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  result<std::size_t> read(const file_ref& from, std::uint64_t offset, std::span<char> into) override {
    std::size_t total = 0;
    while (total < into.size()) {
      const ssize_t got = again_when_interrupted([&] {
        const auto rest = into.subspan(total);
        return ::pread(descriptor_of(from), rest.data(), rest.size(), static_cast<off_t>(offset + total));
      });
      if (got < 0) return failed("read", from->path(), errno);
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

  result<std::vector<directory_entry>> list(const std::string& directory) override {
    DIR* const stream = ::opendir(directory.c_str());
    if (stream == nullptr) return failed("list", directory, errno);
    std::vector<directory_entry> entries;
    while (const dirent* const entry = ::readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status{};
      if (::fstatat(::dirfd(stream), entry->d_name, &status, 0) < 0) continue;  // unlinked since
      const bool is_directory = S_ISDIR(status.st_mode);
      const auto size = is_directory ? 0 : static_cast<std::uint64_t>(status.st_size);
      entries.push_back({std::string(name), is_directory, size});
    }
    ::closedir(stream);
    std::ranges::sort(entries, {}, &directory_entry::name);
    return entries;
  }

  bool exists(const std::string& path) override {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0;
  }

  result<void> claim(const std::string& directory) override {
    if (claims_.contains(directory)) return {};
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return failed("open", directory, errno);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      ::close(descriptor);
      if (why == EWOULDBLOCK) {
        return fail(errc::already_exists, directory + " is in use by another server",
                    "stop that one, or choose another store directory");
      }
      // A file system without locks: nothing is said about who else is there.
      return why == ENOLCK || why == EOPNOTSUPP || why == ENOSYS ? result<void>()
                                                                 : result<void>(failed("lock", directory, why));
    }
    claims_.emplace(directory, descriptor);
    return {};
  }

  void submit(disk_batch batch, completion done) override {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.emplace_back(std::move(batch), std::move(done));
    }
    if (!committer_.joinable()) committer_ = std::thread([this] { commit(); });
    changed_.notify_all();
  }

  result<void> execute(disk_batch batch) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    lock.unlock();  // nobody else submits: there is one thread that owns the disk, and it is here
    return run_batch(batch);
  }

 private:
  struct submission {
    disk_batch batch;
    completion done;
  };

  void commit() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      {
        submission current = std::move(waiting_.front());
        waiting_.pop_front();
        busy_ = true;
        lock.unlock();
        auto outcome = run_batch(current.batch);
        owner_.post([done = std::move(current.done), outcome = std::move(outcome), alive = alive_]() mutable {
          if (*alive) done(std::move(outcome));
        });
      }  // files whose last owner was the batch are closed here, off the loop
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  shard& owner_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // read and written on the loop's thread
  std::thread committer_;
  std::map<std::string, int> claims_;  // directory -> descriptor that holds its lock

  // --- guarded by mutex_ ---
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<submission> waiting_;
  bool busy_ = false;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<disk> make_real_disk(shard& owner) { return std::make_unique<real_disk>(owner); }

}  // namespace tern::runtime
