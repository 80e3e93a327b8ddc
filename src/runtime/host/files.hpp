// Files beside the disk seam: configuration, credentials, certificates, pid and ports files. Small, read or written
// whole, at start-up, reload and shutdown. Any thread; blocking.
#pragma once

#include <tern/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime::host {

inline constexpr std::uint64_t text_file_bytes_max = 64 << 20;  // a larger "configuration" is a mistaken path

result<std::string> read_text_file(const std::string& path);
// The errno text alone, as Go prints it after "open PATH: " ("no such file or directory").
std::string go_error_text(int error_number);

// Replaces the file in one step (written beside it, renamed over it). `mode` are the permission bits.
result<void> write_text_file(const std::string& path, std::string_view text, unsigned mode = 0644);
// Makes the file when it is missing; the error's text is the peer's.
result<void> check_appendable(const std::string& path);
result<void> remove_file(const std::string& path);     // missing is not an error
result<void> write_pid_file(const std::string& path);  // the decimal pid without an end of line (core 4.6)

bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);
result<void> make_directories(const std::string& path, unsigned mode = 0750);
// Names of the entries (no "." and ".."), sorted.
result<std::vector<std::string>> list_directory(const std::string& path);
// Absolute, without symbolic links; the path itself when it cannot be resolved.
std::string absolute_path(const std::string& path);
std::string temporary_directory();  // TMPDIR or /tmp

// A new directory below temporary_directory() that is removed with all in it on destruction.
class scratch_directory {
 public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tern::runtime::host
