#include "base/timer_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tern {
namespace {

time_point at(int n) { return from_unix_nanoseconds(n); }

TEST(timer_queue, fires_in_deadline_then_arm_order) {
  timer_queue queue;
  std::vector<int> fired;
  timer_queue::timer a(queue, [&] { fired.push_back(1); });
  timer_queue::timer b(queue, [&] { fired.push_back(2); });
  timer_queue::timer c(queue, [&] { fired.push_back(3); });
  c.arm(at(5));
  a.arm(at(5));
  b.arm(at(3));
  EXPECT_EQ(queue.earliest(), at(3));
  EXPECT_EQ(queue.run_due(at(4)), 1u);
  EXPECT_EQ(queue.run_due(at(5)), 2u);
  EXPECT_EQ(fired, (std::vector<int>{2, 3, 1}));
  EXPECT_FALSE(queue.earliest().has_value());
}

TEST(timer_queue, rearming_replaces_the_deadline) {
  timer_queue queue;
  int fired = 0;
  timer_queue::timer a(queue, [&] { ++fired; });
  a.arm(at(10));
  a.arm(at(20));
  EXPECT_EQ(queue.run_due(at(15)), 0u);
  EXPECT_EQ(queue.run_due(at(20)), 1u);
  EXPECT_FALSE(a.armed());
}

TEST(timer_queue, a_timer_that_rearms_itself_for_the_past_starves_nobody) {
  timer_queue queue;
  int greedy_fired = 0, other_fired = 0;
  std::unique_ptr<timer_queue::timer> greedy;
  greedy = std::make_unique<timer_queue::timer>(queue, [&] {
    ++greedy_fired;
    greedy->arm(at(0));
  });
  timer_queue::timer other(queue, [&] { ++other_fired; });
  greedy->arm(at(1));
  other.arm(at(2));
  EXPECT_EQ(queue.run_due(at(5)), 2u);
  EXPECT_EQ(greedy_fired, 1);
  EXPECT_EQ(other_fired, 1);
  EXPECT_EQ(queue.run_due(at(6)), 1u);
}

TEST(timer_queue, an_action_may_destroy_its_own_timer_and_others) {
  timer_queue queue;
  std::unique_ptr<timer_queue::timer> a, b;
  a = std::make_unique<timer_queue::timer>(queue, [&] {
    b.reset();
    a.reset();
  });
  b = std::make_unique<timer_queue::timer>(queue, [] { FAIL(); });
  a->arm(at(1));
  b->arm(at(1));
  EXPECT_EQ(queue.run_due(at(1)), 1u);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(timer_queue, disarming_any_of_many_keeps_the_order) {
  timer_queue queue;
  std::vector<int> fired;
  std::vector<std::unique_ptr<timer_queue::timer>> timers;
  for (int i = 0; i < 200; ++i) {
    timers.push_back(std::make_unique<timer_queue::timer>(queue, [&fired, i] { fired.push_back(i); }));
    timers.back()->arm(at((i * 37) % 101));
  }
  for (int i = 0; i < 200; i += 3) timers[i]->disarm();
  queue.run_due(at(1000));
  EXPECT_EQ(fired.size(), 133u);
  for (std::size_t i = 1; i < fired.size(); ++i) {
    const int before = (fired[i - 1] * 37) % 101, after = (fired[i] * 37) % 101;
    EXPECT_TRUE(before < after || (before == after && fired[i - 1] < fired[i]));
  }
}

}  // namespace
}  // namespace tern
