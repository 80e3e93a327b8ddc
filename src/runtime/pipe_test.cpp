// What is the in-process network's alone: names, and ends whose shard goes away.
#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

TEST(pipe_network, an_unknown_name_is_refused) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  pipe_network pipes;
  const auto wire = pipes.make_transport(loop);
  std::optional<errc> failure;
  wire->connect({.host = "nobody", .in_process = true}, 1s, [&](auto outcome) { failure = outcome.error().code(); });
  EXPECT_FALSE(failure.has_value());
  loop.run_ready();
  EXPECT_EQ(failure, errc::connect_failed);
}

TEST(pipe_network, an_end_whose_peer_shard_is_gone_reads_the_end) {
  real_clock time;
  seeded_random randomness(1);
  shard loop(time, randomness);
  pipe_network pipes;
  const auto wire = pipes.make_transport(loop);
  std::unique_ptr<byte_stream> accepted;
  const auto listening =
      wire->listen({.host = "here", .in_process = true}, [&](auto stream) { accepted = std::move(stream); });
  {
    shard other(time, randomness);
    std::unique_ptr<byte_stream> called;
    const auto caller = pipes.make_transport(other);
    caller->connect({.host = "here", .in_process = true}, 1s, [&](auto outcome) { called = std::move(*outcome); });
    other.run_ready();
    loop.run_ready();
    ASSERT_TRUE(called && accepted);
    called->on_readable([] {});
  }
  const std::string_view piece = "x";
  EXPECT_EQ(accepted->write({&piece, 1}).state, io_state::failed);
  std::array<char, 8> buffer;
  EXPECT_EQ(accepted->read(buffer).state, io_state::end_of_stream);
}

TEST(endpoint, is_written_as_urls_write_it) {
  EXPECT_EQ((endpoint{.host = "127.0.0.1", .port = 4222}).text(), "127.0.0.1:4222");
  EXPECT_EQ((endpoint{.host = "::1", .port = 4222}).text(), "[::1]:4222");
  EXPECT_EQ((endpoint{.host = "broker", .in_process = true}).text(), "broker");
}

}  // namespace
}  // namespace tern::runtime
