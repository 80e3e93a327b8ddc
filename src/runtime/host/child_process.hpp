// Another program, run as a child: for demonstrations and for tests against real servers.
//
// Its standard output and error come to us line by line, so that one can wait for a line ("Server is ready") instead of
// for time. It has a process group of its own, so that a Ctrl-C at the terminal reaches us alone and we end it in our
// order; should we die first, the system ends it. One thread per child reads what it writes.
// Thread safety: any thread, except that start() and the destructor belong to one owner.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime::host {

class child_process {
 public:
  // `program` is a path or a name on the PATH. errc::not_found, errc::io_error.
  static result<child_process> start(const std::string& program, const std::vector<std::string>& arguments);
  child_process(child_process&&) noexcept;
  child_process& operator=(child_process&&) noexcept;
  ~child_process();  // ends it: SIGTERM, after some seconds SIGKILL

  int process_id() const;
  bool running() const;

  // The first line with `part` in it, whether it came before or comes now. errc::timeout, and errc::closed when the
  // program ended without it; both carry the end of what it wrote.
  result<std::string> wait_for_line(std::string_view part, nanoseconds patience) const;
  // The end of what it wrote so far.
  std::string output() const;

  void terminate();  // SIGTERM; wait() tells how it ended
  void kill();       // SIGKILL
  // How it ended: its exit code, 128 and the signal's number when it was a signal. errc::timeout.
  result<int> wait(nanoseconds patience);

 private:
  struct implementation;
  explicit child_process(std::unique_ptr<implementation> made);
  std::unique_ptr<implementation> implementation_;
};

// The full path of a program: itself when it has a slash, else the first on the PATH.
std::optional<std::string> find_program(const std::string& name);

}  // namespace tern::runtime::host
