#include "runtime/host/child_process.hpp"

#include "runtime/host/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace tern::runtime::host {
namespace {

constexpr std::size_t lines_kept = 1000;
constexpr std::chrono::seconds patience_at_the_end(5);

// Only what may be called between fork and exec: the parent may have had other threads.
[[noreturn]] void become(const char* program, char* const* arguments, int output, int problem, int parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execv(program, arguments);
  const int why = errno;
  (void)!::write(problem, &why, sizeof why);
  ::_exit(127);
}

struct pipe_ends {
  int read = -1, write = -1;
  bool open() {
    int both[2];
    if (::pipe2(both, O_CLOEXEC) != 0) return false;
    read = both[0], write = both[1];
    return true;
  }
  void close_read() {
    if (read >= 0) ::close(std::exchange(read, -1));
  }
  void close_write() {
    if (write >= 0) ::close(std::exchange(write, -1));
  }
  ~pipe_ends() {
    close_read();
    close_write();
  }
};

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  const std::string path = environment_variable("PATH").value_or("");
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return std::nullopt;
}

struct child_process::implementation {
  pid_t process = -1;
  pipe_ends output;
  std::thread reader;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<std::string> lines;  // the last lines_kept
  std::string partial;
  bool ended = false;
  int exit_code = 0;

  ~implementation() {
    if (process > 0 && !ended_by(std::chrono::nanoseconds(0))) {
      send(SIGTERM);
      if (!ended_by(patience_at_the_end)) send(SIGKILL);
    }
    if (reader.joinable()) reader.join();
  }

  void add(std::string_view bytes) {
    std::lock_guard lock(mutex);
    partial += bytes;
    for (std::size_t end; (end = partial.find('\n')) != std::string::npos;) {
      lines.push_back(partial.substr(0, end));
      partial.erase(0, end + 1);
      if (lines.size() > lines_kept) lines.pop_front();
    }
    changed.notify_all();
  }

  // Reads until the program has closed its output, then takes its end.
  void read_all() {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(output.read, buffer, sizeof buffer);
      if (got > 0) add({buffer, static_cast<std::size_t>(got)});
      if (got == 0 || (got < 0 && errno != EINTR)) break;
    }
    siginfo_t unused;
    while (::waitid(P_PID, static_cast<id_t>(process), &unused, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    std::lock_guard lock(mutex);
    int status = 0;
    ::waitpid(process, &status, 0);
    exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended = true;
    changed.notify_all();
  }

  // The process's id is given back under the mutex, so a signal never meets somebody else.
  void send(int signal) {
    std::lock_guard lock(mutex);
    if (!ended) ::kill(-process, signal);  // its group: what it started as well
  }

  bool ended_by(nanoseconds patience) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [this] { return ended; });
  }

  std::string text() const {  // with the mutex
    std::string all;
    for (const auto& line : lines) all += line + "\n";
    return all + partial;
  }
};

child_process::child_process(std::unique_ptr<implementation> made) : implementation_(std::move(made)) {}
child_process::child_process(child_process&&) noexcept = default;
child_process& child_process::operator=(child_process&&) noexcept = default;
child_process::~child_process() = default;

result<child_process> child_process::start(const std::string& program, const std::vector<std::string>& arguments) {
  const auto path = find_program(program);
  if (!path) return fail(errc::not_found, "no program " + program);
  auto made = std::make_unique<implementation>();
  pipe_ends problem;
  if (!made->output.open() || !problem.open()) return fail(errc::io_error, program + ": " + std::strerror(errno));
  std::vector<char*> words{const_cast<char*>(path->c_str())};
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const int parent = ::getpid();
  made->process = ::fork();
  if (made->process == 0) become(path->c_str(), words.data(), made->output.write, problem.write, parent);
  if (made->process < 0) return fail(errc::io_error, program + ": " + std::strerror(errno));
  made->output.close_write();
  problem.close_write();
  made->reader = std::thread([raw = made.get()] { raw->read_all(); });
  int why = 0;
  if (::read(problem.read, &why, sizeof why) == sizeof why)
    return fail(errc::io_error, program + ": " + std::strerror(why));
  return child_process(std::move(made));
}

int child_process::process_id() const { return implementation_->process; }

bool child_process::running() const {
  std::lock_guard lock(implementation_->mutex);
  return !implementation_->ended;
}

result<std::string> child_process::wait_for_line(std::string_view part, nanoseconds patience) const {
  const auto& inside = *implementation_;
  std::unique_lock lock(inside.mutex);
  std::optional<std::string> found;
  const auto look = [&] {
    for (const auto& line : inside.lines) {
      if (line.find(part) == std::string::npos) continue;
      found = line;
      break;
    }
    return found.has_value() || inside.ended;
  };
  inside.changed.wait_for(lock, patience, look);
  if (found) return *found;
  const std::string wrote = "; it wrote:\n" + inside.text();
  if (inside.ended) return fail(errc::closed, "the program ended without \"" + std::string(part) + "\"" + wrote);
  return fail(errc::timeout, "the program did not write \"" + std::string(part) + "\"" + wrote);
}

std::string child_process::output() const {
  std::lock_guard lock(implementation_->mutex);
  return implementation_->text();
}

void child_process::terminate() { implementation_->send(SIGTERM); }
void child_process::kill() { implementation_->send(SIGKILL); }

result<int> child_process::wait(nanoseconds patience) {
  if (!implementation_->ended_by(patience)) return fail(errc::timeout, "the program still runs");
  return implementation_->exit_code;
}

}  // namespace tern::runtime::host
