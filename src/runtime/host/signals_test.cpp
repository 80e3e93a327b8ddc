#include "runtime/host/signals.hpp"

#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace tern::runtime::host {
namespace {

TEST(signals, arrive_on_the_loop_and_do_not_end_the_process) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  std::vector<process_signal> seen;
  const auto watch = watch_signals(loop, {process_signal::hangup, process_signal::user1, process_signal::terminate},
                                   [&](process_signal which) {
                                     EXPECT_TRUE(loop.on_loop_thread());
                                     seen.push_back(which);
                                   });
  for (const int number : {SIGHUP, SIGUSR1, SIGHUP, SIGTERM}) {
    const std::size_t before = seen.size();
    std::raise(number);
    ASSERT_TRUE(run_until(loop, [&] { return seen.size() > before; }));
  }
  EXPECT_EQ(seen, (std::vector<process_signal>{process_signal::hangup, process_signal::user1, process_signal::hangup,
                                               process_signal::terminate}));
  std::raise(SIGPIPE);  // ignored
}

TEST(signals, a_watch_may_be_destroyed_by_its_own_callback) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  std::unique_ptr<signal_watch> watch;
  int calls = 0;
  watch = watch_signals(loop, {process_signal::user2}, [&](process_signal) {
    ++calls;
    watch.reset();
  });
  std::raise(SIGUSR2);
  ASSERT_TRUE(run_until(loop, [&] { return calls == 1; }));
  loop.run_ready();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tern::runtime::host
