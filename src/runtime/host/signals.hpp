// Signals of the process, delivered as events on the shard.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace tern::runtime {
class shard;
}

namespace tern::runtime::host {

enum class process_signal { interrupt, terminate, hangup, user1, user2 };

// While it lives, the signals (SIGINT SIGTERM SIGHUP SIGUSR1 SIGUSR2) do not end the process but call back on the loop.
// Also ignores SIGPIPE. One per process at a time; made and destroyed on the shard's thread.
class signal_watch {
 public:
  virtual ~signal_watch() = default;
};
std::unique_ptr<signal_watch> watch_signals(shard& owner, std::vector<process_signal> which,
                                            std::move_only_function<void(process_signal)> callback);

}  // namespace tern::runtime::host
