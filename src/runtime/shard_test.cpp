#include "runtime/shard.hpp"

#include "runtime/run_until.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

class paused_shard : public ::testing::Test {
 protected:
  paused_clock time{from_unix_nanoseconds(1'000)};
  seeded_random randomness{1};
  shard loop{time, randomness};
  std::vector<int> order;
};

TEST_F(paused_shard, a_turn_is_work_then_timers_then_hooks) {
  const auto hook = loop.at_turn_end([&] { order.push_back(3); });
  timer_queue::timer due(loop.timers(), [&] { order.push_back(2); });
  due.arm(from_unix_nanoseconds(1'000));
  loop.post([&] { order.push_back(1); });
  EXPECT_EQ(loop.run_ready(1), 1u);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(paused_shard, posted_work_runs_in_order_and_never_inside_post) {
  for (int i = 0; i < 5; ++i) loop.post([&, i] { order.push_back(i); });
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(loop.run_ready(), 1u);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(paused_shard, run_ready_goes_on_until_nothing_is_posted_any_more) {
  int left = 10;
  std::move_only_function<void()> again = [&] {
    if (--left > 0) loop.post([&] { again(); });
  };
  loop.post([&] { again(); });
  EXPECT_EQ(loop.run_ready(), 10u);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(loop.run_ready(), 0u);
}

TEST_F(paused_shard, run_ready_neither_waits_nor_moves_the_clock) {
  timer_queue::timer later(loop.timers(), [&] { order.push_back(1); });
  later.arm(from_unix_nanoseconds(5'000));
  EXPECT_EQ(loop.run_ready(), 0u);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(loop.next_deadline(), from_unix_nanoseconds(5'000));
  time.advance_to(from_unix_nanoseconds(5'000));
  EXPECT_EQ(loop.run_ready(), 1u);
  EXPECT_EQ(order, (std::vector<int>{1}));
  EXPECT_EQ(loop.next_deadline(), std::nullopt);
}

TEST_F(paused_shard, run_ready_stops_at_its_turn_limit) {
  std::move_only_function<void()> forever = [&] { loop.post([&] { forever(); }); };
  forever();
  EXPECT_EQ(loop.run_ready(50), 50u);
}

TEST_F(paused_shard, hooks_run_even_when_nothing_else_did) {
  int dirty = 1;
  const auto hook = loop.at_turn_end([&] {
    if (dirty == 0) return;
    --dirty;
    loop.post([&] { order.push_back(1); });
  });
  EXPECT_EQ(loop.run_ready(), 1u);
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_F(paused_shard, a_hook_may_remove_itself_and_others_and_register_new_ones) {
  std::unique_ptr<shard::hook_handle> first, second, third;
  first = loop.at_turn_end([&] {
    order.push_back(1);
    third = loop.at_turn_end([&] { order.push_back(3); });
    second.reset();
    first.reset();
  });
  second = loop.at_turn_end([&] { order.push_back(2); });
  loop.post([] {});
  loop.run_ready(1);
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  order.clear();
  third.reset();
  loop.run_ready();
  EXPECT_TRUE(order.empty());
}

TEST_F(paused_shard, all_events_of_a_turn_share_one_time) {
  loop.post([&] {
    const time_point first = loop.now();
    time.advance_to(from_unix_nanoseconds(9'000));
    EXPECT_EQ(loop.now(), first);
    EXPECT_EQ(loop.refresh_now(), from_unix_nanoseconds(9'000));
    EXPECT_EQ(loop.now(), from_unix_nanoseconds(9'000));
  });
  EXPECT_EQ(loop.run_ready(), 1u);
  time.advance_to(from_unix_nanoseconds(10'000));
  EXPECT_EQ(loop.now(), from_unix_nanoseconds(10'000));  // between turns nothing is kept
}

TEST_F(paused_shard, handlers_posted_to_the_context_run_in_turns_too) {
  boost::asio::post(loop.context(), [&] { order.push_back(1); });
  EXPECT_EQ(loop.run_ready(), 1u);
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_F(paused_shard, a_flood_of_handlers_is_cut_so_that_hooks_get_their_turn) {
  int handlers = 0, handlers_at_first_hook = 0;
  const auto hook = loop.at_turn_end([&] {
    if (handlers_at_first_hook == 0) handlers_at_first_hook = handlers;
  });
  for (int i = 0; i < 1000; ++i) boost::asio::post(loop.context(), [&] { ++handlers; });
  loop.run_ready();
  EXPECT_EQ(handlers, 1000);
  EXPECT_LT(handlers_at_first_hook, 1000);
}

TEST_F(paused_shard, work_that_never_ran_is_destroyed_with_the_shard) {
  const auto token = std::make_shared<int>(1);
  {
    shard other(time, randomness);
    other.post([token, &other] { other.post([token] {}); });
    boost::asio::post(other.context(), [token] {});
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

class real_shard : public ::testing::Test {
 protected:
  real_clock time;
  real_random randomness;
  shard loop{time, randomness};
};

TEST_F(real_shard, run_fires_timers_not_before_their_deadline) {
  time_point fired{};
  timer_queue::timer timer(loop.timers(), [&] {
    fired = loop.refresh_now();
    loop.stop();
  });
  const time_point due = time.now() + 3ms;
  timer.arm(due);
  loop.run();
  EXPECT_GE(fired, due);
  EXPECT_LT(fired, due + 5s);
}

TEST_F(real_shard, a_timer_armed_earlier_while_another_is_waited_for_is_not_late) {
  std::vector<int> order;
  timer_queue::timer late(loop.timers(), [&] { order.push_back(2); });
  timer_queue::timer early(loop.timers(), [&] {
    order.push_back(1);
    loop.stop();
  });
  late.arm(time.now() + 1h);
  std::thread poster([&] { loop.post([&] { early.arm(loop.now() + 1ms); }); });
  loop.run();
  poster.join();
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_F(real_shard, posts_of_many_threads_all_arrive_in_each_ones_order) {
  constexpr int threads = 4, posts = 5'000;
  std::vector<int> seen(threads, 0);
  int total = 0;
  std::vector<std::thread> posters;
  for (int t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < posts; ++i) {
        loop.post([&, t, i] {
          EXPECT_EQ(seen[t], i);
          ++seen[t];
          ++total;
        });
      }
    });
  }
  EXPECT_TRUE(run_until(loop, [&] { return total == threads * posts; }));
  for (auto& poster : posters) poster.join();
}

TEST_F(real_shard, a_post_wakes_a_loop_that_waits) {
  std::atomic<int> answered = 0;
  std::thread runner([&] { loop.run(); });
  for (int i = 1; i <= 200; ++i) {
    loop.post([&] {
      EXPECT_TRUE(loop.on_loop_thread());
      ++answered;
      answered.notify_one();
    });
    answered.wait(i - 1);  // returns once this post has run
  }
  EXPECT_FALSE(loop.on_loop_thread());
  loop.stop();
  runner.join();
  EXPECT_EQ(answered, 200);
}

TEST_F(real_shard, stop_before_run_ends_it_at_once_and_it_may_run_again) {
  loop.stop();
  loop.run();
  int ran = 0;
  loop.post([&] {
    ++ran;
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(ran, 1);
}

TEST_F(real_shard, run_until_gives_up_when_patience_ends) {
  EXPECT_FALSE(run_until(loop, [] { return false; }, 2ms));
  EXPECT_TRUE(run_until(loop, [] { return true; }, 2ms));
}

TEST_F(real_shard, timers_of_less_than_a_millisecond_are_kept) {
  int fired = 0;
  timer_queue::timer timer(loop.timers(), [&] {
    if (++fired < 20)
      timer.arm(loop.refresh_now() + 50us);
    else
      loop.stop();
  });
  timer.arm(time.now() + 50us);
  loop.run();
  EXPECT_EQ(fired, 20);
}

TEST_F(real_shard, asio_objects_of_users_work_on_its_context) {
  boost::asio::steady_timer timer(loop.context());
  bool fired = false;
  timer.expires_after(1ms);
  timer.async_wait([&](const auto&) { fired = true; });
  EXPECT_TRUE(run_until(loop, [&] { return fired; }));
}

// Both ways to wait: in Asio for the reactor too, and in the reactor alone.
TEST_F(real_shard, other_threads_may_post_to_a_context_that_was_not_told_to_sleep) {
  for (int i = 0; i < 50; ++i) {
    bool ran = false;
    std::thread poster([&] { boost::asio::post(loop.context(), [&] { ran = true; }); });
    EXPECT_TRUE(run_until(loop, [&] { return ran; }));
    poster.join();
  }
}

class sleeping_context : public real_shard {
 protected:
  sleeping_context() { loop.context_sleeps_when_idle(); }
};

TEST_F(sleeping_context, a_post_wakes_a_loop_that_waits) {
  std::atomic<int> answered = 0;
  std::thread runner([&] { loop.run(); });
  for (int i = 1; i <= 200; ++i) {
    loop.post([&] {
      ++answered;
      answered.notify_one();
    });
    answered.wait(i - 1);
  }
  loop.stop();
  runner.join();
  EXPECT_EQ(answered, 200);
}

TEST_F(sleeping_context, handlers_posted_on_the_loop_run_before_it_waits) {
  std::vector<int> order;
  loop.post([&] {
    boost::asio::post(loop.context(), [&] {
      order.push_back(1);
      boost::asio::post(loop.context(), [&] {
        order.push_back(2);
        loop.stop();
      });
    });
  });
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(sleeping_context, what_is_outstanding_there_is_waited_for_together_with_posts_and_timers) {
  for (int round = 0; round < 3; ++round) {
    boost::asio::steady_timer asio_timer(loop.context());
    int happened = 0;
    asio_timer.expires_after(1ms);
    asio_timer.async_wait([&](const auto&) { ++happened; });
    timer_queue::timer own_timer(loop.timers(), [&] { ++happened; });
    own_timer.arm(time.now() + 500us);
    std::thread poster([&] { loop.post([&] { ++happened; }); });
    EXPECT_TRUE(run_until(loop, [&] { return happened == 3; }));
    poster.join();
    // Idle again: the next wait is the reactor's alone.
    own_timer.arm(time.now() + 100us);
    EXPECT_TRUE(run_until(loop, [&] { return happened == 4; }));
  }
}

TEST_F(sleeping_context, a_flood_of_handlers_is_cut_so_that_hooks_get_their_turn) {
  int handlers = 0, handlers_at_first_hook = 0;
  const auto hook = loop.at_turn_end([&] {
    if (handlers_at_first_hook == 0) handlers_at_first_hook = handlers;
  });
  for (int i = 0; i < 1000; ++i) boost::asio::post(loop.context(), [&] { ++handlers; });
  loop.run_ready();
  EXPECT_EQ(handlers, 1000);
  EXPECT_LT(handlers_at_first_hook, 1000);
}

}  // namespace
}  // namespace tern::runtime
