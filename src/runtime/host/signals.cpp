#include "runtime/host/signals.hpp"

#include "runtime/shard.hpp"

#include <boost/asio/signal_set.hpp>

#include <csignal>

namespace tern::runtime::host {
namespace {

int number_of(process_signal which) {
  switch (which) {
    case process_signal::interrupt: return SIGINT;
    case process_signal::terminate: return SIGTERM;
    case process_signal::hangup: return SIGHUP;
    case process_signal::user1: return SIGUSR1;
    case process_signal::user2: return SIGUSR2;
  }
  return 0;
}

// Shared with the pending wait, so that the watch may be destroyed inside its own callback.
struct watched : std::enable_shared_from_this<watched> {
  watched(shard& owner, std::vector<process_signal> which, std::move_only_function<void(process_signal)> callback)
      : set(owner.context()), which(std::move(which)), callback(std::move(callback)) {
    boost::system::error_code ignored;
    for (const process_signal each : this->which) set.add(number_of(each), ignored);
  }

  boost::asio::signal_set set;
  const std::vector<process_signal> which;
  std::move_only_function<void(process_signal)> callback;
  bool stopped = false;

  void wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& status, int number) {
      if (status || self->stopped) return;
      for (const process_signal each : self->which) {
        if (number_of(each) == number) self->callback(each);
      }
      if (!self->stopped) self->wait();
    });
  }
};

class watch final : public signal_watch {
 public:
  explicit watch(std::shared_ptr<watched> state) : state_(std::move(state)) { state_->wait(); }
  ~watch() override {
    state_->stopped = true;
    boost::system::error_code ignored;
    state_->set.clear(ignored);  // back to what the system does by default
    state_->set.cancel(ignored);
  }

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
