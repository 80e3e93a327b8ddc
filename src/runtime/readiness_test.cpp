#include "runtime/readiness.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

// One end of a socket pair under the reactor's eyes; the other one is the test's.
class pair final : public readiness::watcher {
 public:
  explicit pair(readiness& reactor, readiness::events wanted = {.read = true}) : reactor(reactor) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_TRUE(reactor.watch(ends[0], *this, wanted).has_value());
  }
  ~pair() {
    forget();
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void forget() {
    if (std::exchange(forgotten, true)) return;
    reactor.forget(ends[0], *this);
  }
  void bring(std::string_view bytes = "x") {
    EXPECT_EQ(::send(ends[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() { ::close(std::exchange(ends[1], -1)); }
  void take() {
    char buffer[64];
    while (::recv(ends[0], buffer, sizeof buffer, 0) > 0) {
    }
  }
  void on_ready(readiness::events what) override {
    seen.push_back(what);
    if (action) action();
  }

  readiness& reactor;
  int ends[2] = {-1, -1};
  bool forgotten = false;
  std::vector<readiness::events> seen;
  std::move_only_function<void()> action;
};

constexpr readiness::events reading{.read = true};
constexpr readiness::events writing{.write = true};

std::size_t look(readiness& reactor) {
  reactor.gather(false);
  return reactor.tell();
}

std::size_t descriptors_of_process() {
  DIR* const directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

TEST(readiness, costs_no_descriptor_before_it_is_used_and_gives_all_back) {
  const std::size_t before = descriptors_of_process();
  {
    readiness reactor;
    EXPECT_EQ(look(reactor), 0u);
    EXPECT_EQ(descriptors_of_process(), before);
    ASSERT_TRUE(reactor.open().has_value());
    EXPECT_GT(descriptors_of_process(), before);
  }
  EXPECT_EQ(descriptors_of_process(), before);
}

TEST(readiness, tells_again_as_long_as_unread_bytes_wait) {
  readiness reactor;
  pair one(reactor);
  EXPECT_EQ(look(reactor), 0u);
  one.bring();
  EXPECT_EQ(look(reactor), 1u);
  EXPECT_EQ(look(reactor), 1u);
  one.take();
  EXPECT_EQ(look(reactor), 0u);
  EXPECT_EQ(one.seen, (std::vector{reading, reading}));
}

TEST(readiness, tells_what_is_wanted_only) {
  readiness reactor;
  pair one(reactor, {});
  one.bring();
  EXPECT_EQ(look(reactor), 0u);
  reactor.change(one.ends[0], one, writing);
  EXPECT_EQ(look(reactor), 1u);
  reactor.change(one.ends[0], one, {.read = true, .write = true});
  EXPECT_EQ(look(reactor), 1u);
  reactor.change(one.ends[0], one, {});
  EXPECT_EQ(look(reactor), 0u);
  EXPECT_EQ(one.seen, (std::vector{writing, readiness::events{.read = true, .write = true}}));
}

TEST(readiness, a_failure_is_told_once_to_who_wants_nothing) {
  readiness reactor;
  pair one(reactor, {});
  one.hang_up();
  EXPECT_EQ(look(reactor), 1u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(look(reactor), 0u);
  reactor.change(one.ends[0], one, reading);  // by the level for who does
  EXPECT_EQ(look(reactor), 1u);
  EXPECT_EQ(look(reactor), 1u);
}

TEST(readiness, a_watcher_that_is_forgotten_by_another_of_its_batch_is_not_told) {
  readiness reactor;
  pair first(reactor), second(reactor), third(reactor);
  for (pair* each : {&first, &second, &third}) {
    each->bring();
    each->action = [&, each] {
      for (pair* other : {&first, &second, &third}) {
        if (other != each) other->forget();
      }
    };
  }
  EXPECT_EQ(look(reactor), 1u);
  EXPECT_EQ(first.seen.size() + second.seen.size() + third.seen.size(), 1u);
}

TEST(readiness, a_watcher_may_forget_itself) {
  readiness reactor;
  pair one(reactor);
  one.bring();
  one.action = [&] { one.forget(); };
  EXPECT_EQ(look(reactor), 1u);
  EXPECT_EQ(look(reactor), 0u);
}

TEST(readiness, a_watcher_that_looks_itself_ends_the_batch_and_nothing_is_lost) {
  readiness reactor;
  pair first(reactor), second(reactor);
  bool nested = false;
  for (pair* each : {&first, &second}) {
    each->bring();
    each->action = [&, each] {
      each->take();
      if (!std::exchange(nested, true)) look(reactor);
    };
  }
  look(reactor);
  EXPECT_EQ(first.seen.size(), 1u);
  EXPECT_EQ(second.seen.size(), 1u);
}

TEST(readiness, more_descriptors_than_a_batch_holds_are_told_in_turn) {
  readiness reactor;
  std::vector<std::unique_ptr<pair>> many;
  for (std::size_t i = 0; i < readiness::events_max + 50; ++i) {
    many.push_back(std::make_unique<pair>(reactor));
    many.back()->bring();
  }
  EXPECT_EQ(look(reactor), readiness::events_max);
  EXPECT_EQ(look(reactor), readiness::events_max);
  for (const auto& each : many) EXPECT_GE(each->seen.size(), 1u);
}

TEST(readiness, a_wait_ends_with_an_event_a_wake_or_an_alarm) {
  readiness reactor;
  ASSERT_TRUE(reactor.open().has_value());
  reactor.wake();  // before the wait counts too
  reactor.gather(true);
  EXPECT_EQ(reactor.tell(), 0u);
  std::thread waker([&] { reactor.wake(); });
  reactor.gather(true);
  waker.join();
  reactor.set_alarm(from_unix_nanoseconds(100), 100us);
  reactor.gather(true);
  reactor.set_alarm(from_unix_nanoseconds(50), -1s);  // due already
  reactor.gather(true);
  pair one(reactor);
  one.bring();
  reactor.gather(true);
  EXPECT_EQ(reactor.tell(), 1u);
}

TEST(readiness, an_alarm_for_later_leaves_the_earlier_one) {
  readiness reactor;
  ASSERT_TRUE(reactor.open().has_value());
  reactor.set_alarm(from_unix_nanoseconds(10), 1ms);
  reactor.set_alarm(from_unix_nanoseconds(20), 24h);
  reactor.gather(true);  // returns
  reactor.set_alarm(from_unix_nanoseconds(40), 24h);
  reactor.set_alarm(from_unix_nanoseconds(30), 1ms);
  reactor.gather(true);  // returns
}

}  // namespace
}  // namespace tern::runtime
