#include "runtime/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace tern::runtime {
namespace {

TEST(real_clock, never_goes_back_and_tells_the_time_of_day) {
  real_clock time;
  const auto wall = std::chrono::system_clock::now();
  time_point last = time.now();
  EXPECT_LT(std::chrono::abs(last - wall), std::chrono::seconds(5));
  for (int i = 0; i < 100'000; ++i) {
    const time_point next = time.now();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(real_clock, all_clocks_of_a_process_agree) {
  real_clock a, b;
  const time_point first = a.now(), second = b.now(), third = a.now();
  EXPECT_LE(first, second);
  EXPECT_LE(second, third);
}

TEST(real_clock, serves_threads_at_once) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([] {
      real_clock time;
      time_point last = time.now();
      for (int k = 0; k < 20'000; ++k) {
        const time_point next = time.now();
        EXPECT_GE(next, last);
        last = next;
      }
    });
  }
  for (auto& reader : readers) reader.join();
}

TEST(paused_clock, moves_forward_only_and_only_when_told) {
  paused_clock time(from_unix_nanoseconds(100));
  EXPECT_EQ(time.now(), from_unix_nanoseconds(100));
  time.advance_to(from_unix_nanoseconds(150));
  time.advance_to(from_unix_nanoseconds(120));
  EXPECT_EQ(time.now(), from_unix_nanoseconds(150));
}

}  // namespace
}  // namespace tern::runtime
