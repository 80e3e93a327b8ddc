#include "runtime/host/files.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tern::runtime::host {
namespace {

std::unexpected<error> failed(std::string_view what, const std::string& path, int error_number) {
  errc code = errc::io_error;
  if (error_number == ENOENT || error_number == ENOTDIR) code = errc::not_found;
  if (error_number == ENOSPC || error_number == EDQUOT) code = errc::disk_full;
  return fail(code, std::string(what) + " " + path + ": " + go_error_text(error_number));
}

// Closes on every way out of a function.
class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

result<void> write_all(int to, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string go_error_text(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty()) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

result<std::string> read_text_file(const std::string& path) {
  const descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (from.number() < 0) return failed("open", path, errno);
  std::string text;
  char block[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(from.number(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path, errno);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > text_file_bytes_max) return fail(errc::limit_exceeded, "read " + path + ": larger than 64 MiB");
  }
}

result<void> write_text_file(const std::string& path, std::string_view text, unsigned mode) {
  const std::string beside = path + ".tmp" + std::to_string(::getpid());
  {
    const descriptor to(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, static_cast<mode_t>(mode)));
    if (to.number() < 0) return failed("open", path, errno);
    if (auto written = write_all(to.number(), path, text); !written) {
      ::unlink(beside.c_str());
      return written;
    }
  }
  if (::rename(beside.c_str(), path.c_str()) < 0) {
    const int error_number = errno;
    ::unlink(beside.c_str());
    return failed("open", path, error_number);
  }
  return {};
}

result<void> check_appendable(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (file < 0) return fail(errc::io_error, "open " + path + ": " + go_error_text(errno));
  ::close(file);
  return {};
}

result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return failed("remove", path, errno);
  return {};
}

result<void> write_pid_file(const std::string& path) { return write_text_file(path, std::to_string(::getpid()), 0660); }

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

result<void> make_directories(const std::string& path, unsigned mode) {
  if (is_directory(path)) return {};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty() && parent != path) {
    if (auto made = make_directories(parent, mode); !made) return made;
  }
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) < 0 && !(errno == EEXIST && is_directory(path))) {
    return failed("mkdir", path, errno);
  }
  return {};
}

result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code status;
  std::filesystem::directory_iterator entries(path, status);
  std::vector<std::string> names;
  for (; !status && entries != std::filesystem::directory_iterator(); entries.increment(status)) {
    names.push_back(entries->path().filename().string());
  }
  if (status) return failed("open", path, status.value());
  std::ranges::sort(names);
  return names;
}

std::string absolute_path(const std::string& path) {
  std::error_code status;
  const auto resolved = std::filesystem::weakly_canonical(path, status);
  return status ? path : resolved.string();
}

std::string temporary_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

scratch_directory::scratch_directory() : path_(temporary_directory() + "/tern-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tern::runtime::host
