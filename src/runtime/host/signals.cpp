#include "runtime/host/signals.hpp"

#include "runtime/readiness.hpp"
#include "runtime/shard.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

namespace tern::runtime::host {
namespace {

int number_of(process_signal which) {
  switch (which) {
    case process_signal::interrupt:
      return SIGINT;
    case process_signal::terminate:
      return SIGTERM;
    case process_signal::hangup:
      return SIGHUP;
    case process_signal::user1:
      return SIGUSR1;
    case process_signal::user2:
      return SIGUSR2;
  }
  return 0;
}

// Where the handler writes the number of each signal: a handler may do little else.
std::atomic<int> write_end = -1;
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe holds thousands of signals that the loop has yet to see.
  [[maybe_unused]] const ssize_t written = ::write(write_end.load(), &byte, 1);
  errno = before;
}

// Not by signalfd: that wants the signals blocked in every thread, also in those of an embedding process and in
// children. Shared with the running callback, which may destroy the watch.
class watched final : public readiness::watcher, public std::enable_shared_from_this<watched> {
 public:
  watched(shard& owner, std::vector<process_signal> which, std::move_only_function<void(process_signal)> callback)
      : owner_(owner), which_(std::move(which)), callback_(std::move(callback)) {}

  void start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    read_end_ = ends[0];
    write_end.store(ends[1]);
    if (!owner_.reactor().watch(read_end_, *this, {.read = true})) return close_pipe();
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    for (const process_signal each : which_) ::sigaction(number_of(each), &action, nullptr);
  }

  void stop() {
    if (read_end_ < 0) return;
    for (const process_signal each : which_) std::signal(number_of(each), SIG_DFL);
    owner_.reactor().forget(read_end_, *this);
    close_pipe();
  }

  void on_ready(readiness::events) override {
    const auto self = shared_from_this();
    unsigned char number = 0;
    while (read_end_ >= 0 && ::read(read_end_, &number, 1) == 1) {
      for (const process_signal each : which_) {
        if (number_of(each) == number) callback_(each);
      }
    }
  }

 private:
  void close_pipe() {
    ::close(write_end.exchange(-1));
    ::close(std::exchange(read_end_, -1));
  }

  shard& owner_;
  const std::vector<process_signal> which_;
  std::move_only_function<void(process_signal)> callback_;
  int read_end_ = -1;
};

class watch final : public signal_watch {
 public:
  explicit watch(std::shared_ptr<watched> state) : state_(std::move(state)) { state_->start(); }
  ~watch() override { state_->stop(); }

 private:
  const std::shared_ptr<watched> state_;
};

}  // namespace

std::unique_ptr<signal_watch> watch_signals(shard& owner, std::vector<process_signal> which,
                                            std::move_only_function<void(process_signal)> callback) {
  std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<watch>(std::make_shared<watched>(owner, std::move(which), std::move(callback)));
}

}  // namespace tern::runtime::host
