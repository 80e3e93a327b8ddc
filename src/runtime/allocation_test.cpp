// The steady path of loop and transports allocates nothing: counted, not hoped for.
#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tern::runtime {
namespace {

// Two ends of one shard throw a ball; returns the allocations of `rounds` throws after a warm-up.
std::size_t allocations_of_rally(shard& loop, transport& wire, const endpoint& at, int rounds) {
  std::unique_ptr<byte_stream> near, far;
  auto listening = wire.listen(at, [&](auto stream) { far = std::move(stream); });
  if (!listening) return ~std::size_t{0};
  wire.connect((*listening)->local(), std::chrono::seconds(10), [&](auto outcome) { near = std::move(*outcome); });
  if (!run_until(loop, [&] { return near && far; })) return ~std::size_t{0};
  int caught = 0;
  std::array<char, 64> buffer;
  const auto throw_back = [&](byte_stream& side) {
    const io_result got = side.read(buffer);
    if (got.state != io_state::done) return;
    ++caught;
    const std::string_view ball(buffer.data(), got.bytes);
    side.write({&ball, 1});
  };
  near->on_readable([&] { throw_back(*near); });
  far->on_readable([&] { throw_back(*far); });
  std::size_t before = 0, after = 0;
  const auto hook = loop.at_turn_end([&] {
    if (caught >= 100 && before == 0) before = allocations;
    if (caught < 100 + rounds) return;
    after = allocations;
    loop.stop();
  });
  const std::string_view serve = "ball";
  near->write({&serve, 1});
  loop.run();
  return after - before;
}

TEST(steady_state, reading_and_writing_tcp_allocates_nothing) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  timer_queue::timer far_away(loop.timers(), [] {});
  far_away.arm(time.now() + std::chrono::hours(1));
  const auto wire = make_tcp_transport(loop);
  EXPECT_EQ(allocations_of_rally(loop, *wire, {.host = "127.0.0.1"}, 1000), 0u);
}

TEST(steady_state, reading_and_writing_a_pipe_allocates_nothing) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  pipe_network pipes;
  const auto wire = pipes.make_transport(loop);
  EXPECT_EQ(allocations_of_rally(loop, *wire, {.host = "court", .in_process = true}, 1000), 0u);
}

TEST(steady_state, arming_and_firing_timers_allocates_nothing) {
  paused_clock time(from_unix_nanoseconds(1));
  seeded_random randomness(1);
  shard loop(time, randomness);
  int fired = 0;
  timer_queue::timer timer(loop.timers(), [&] { ++fired; });
  timer.arm(time.now());
  loop.run_ready();
  const std::size_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    time.advance_to(time.now() + nanoseconds(1));
    timer.arm(time.now());
    loop.run_ready();
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(fired, 101);
}

}  // namespace
}  // namespace tern::runtime
