// What is TCP's alone: names, time limits, address families, and a process that has run out of descriptors.
#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

class tcp_transport : public ::testing::Test {
 protected:
  real_clock time;
  real_random randomness;
  shard loop{time, randomness};
  std::unique_ptr<transport> wire = make_tcp_transport(loop);
};

TEST_F(tcp_transport, names_are_resolved) {
  auto listening = wire->listen({.host = "localhost"}, [](auto) {});
  ASSERT_TRUE(listening.has_value()) << listening.error().message();
  std::optional<bool> connected;
  const endpoint at{.host = "localhost", .port = (*listening)->local().port};
  wire->connect(at, 10s, [&](auto outcome) { connected = outcome.has_value(); });
  ASSERT_TRUE(run_until(loop, [&] { return connected.has_value(); }));
  EXPECT_TRUE(*connected);
}

TEST_F(tcp_transport, names_are_resolved_for_a_loop_whose_context_sleeps) {
  loop.context_sleeps_when_idle();
  auto listening = wire->listen({.host = "localhost"}, [](auto) {});
  ASSERT_TRUE(listening.has_value());
  const endpoint at{.host = "localhost", .port = (*listening)->local().port};
  for (int connected = 0; connected < 3;) {
    const int before = connected;
    wire->connect(at, 10s, [&](auto outcome) { connected += outcome.has_value() ? 1 : 100; });
    ASSERT_TRUE(run_until(loop, [&] { return connected > before; }));
    EXPECT_EQ(connected, before + 1);
  }
}

TEST_F(tcp_transport, a_transport_that_goes_away_drops_its_pending_connects) {
  const auto token = std::make_shared<int>(0);
  wire->connect({.host = "127.0.0.1", .port = 1}, 10s, [token](auto) { FAIL(); });
  wire->connect({.host = "localhost", .port = 1}, 10s, [token](auto) { FAIL(); });
  wire.reset();
  loop.run_ready();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(loop.next_deadline(), std::nullopt);
}

TEST_F(tcp_transport, a_peer_that_resets_while_reading_is_paused_does_not_keep_the_loop_busy) {
  std::unique_ptr<byte_stream> near, far;
  auto listening = wire->listen({.host = "127.0.0.1"}, [&](auto stream) { far = std::move(stream); });
  ASSERT_TRUE(listening.has_value());
  wire->connect((*listening)->local(), 10s, [&](auto outcome) { near = std::move(*outcome); });
  ASSERT_TRUE(run_until(loop, [&] { return near && far; }));
  io_state state = io_state::would_block;
  far->on_readable([&] {
    std::array<char, 64> buffer;
    state = far->read(buffer).state;
  });
  far->pause_reading();
  // Closing with unread bytes resets the connection.
  const std::string_view piece = "x";
  far->write({&piece, 1});
  near->write({&piece, 1});
  near->close();
  EXPECT_LT(loop.run_ready(1000), 10u);
  EXPECT_EQ(state, io_state::would_block);
  far->resume_reading();
  EXPECT_TRUE(run_until(loop, [&] { return state != io_state::would_block; }));
}

TEST_F(tcp_transport, a_name_that_does_not_exist_fails) {
  std::optional<errc> failure;
  wire->connect({.host = "no-such-host.invalid", .port = 1}, 15s,
                [&](auto outcome) { failure = outcome ? std::optional<errc>() : outcome.error().code(); });
  ASSERT_TRUE(run_until(loop, [&] { return failure.has_value(); }));
  EXPECT_TRUE(failure == errc::connect_failed || failure == errc::timeout);
}

TEST_F(tcp_transport, a_peer_that_never_answers_ends_in_a_timeout) {
  // A listener whose backlog is full drops further SYNs: nobody answers.
  const int full = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(full, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(full, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ASSERT_EQ(::listen(full, 0), 0);
  std::vector<std::unique_ptr<byte_stream>> queued;
  std::optional<errc> failure;
  for (int i = 0; i < 4; ++i) {
    wire->connect({.host = "127.0.0.1", .port = ntohs(address.sin_port)}, 30ms, [&](auto outcome) {
      if (outcome) {
        queued.push_back(std::move(*outcome));
      } else {
        failure = outcome.error().code();
      }
    });
  }
  EXPECT_TRUE(run_until(loop, [&] { return failure.has_value(); }));
  EXPECT_EQ(failure, errc::timeout);
  ::close(full);
}

TEST_F(tcp_transport, the_wildcard_takes_both_families_and_shows_plain_addresses) {
  std::vector<std::string> peers;
  auto listening = wire->listen({.host = "0.0.0.0"}, [&](auto stream) { peers.push_back(stream->peer().host); });
  ASSERT_TRUE(listening.has_value());
  EXPECT_EQ((*listening)->local().host, "0.0.0.0");
  std::vector<std::unique_ptr<byte_stream>> kept;
  for (const char* host : {"127.0.0.1", "::1"}) {
    const std::size_t before = kept.size();
    wire->connect({.host = host, .port = (*listening)->local().port}, 10s, [&](auto outcome) {
      ASSERT_TRUE(outcome.has_value());
      kept.push_back(std::move(*outcome));
    });
    ASSERT_TRUE(run_until(loop, [&] { return kept.size() > before && peers.size() > before; }));
  }
  EXPECT_EQ(peers, (std::vector<std::string>{"127.0.0.1", "::1"}));
}

TEST_F(tcp_transport, a_process_without_free_descriptors_accepts_again_once_it_has_some) {
  std::vector<std::unique_ptr<byte_stream>> accepted;
  auto listening = wire->listen({.host = "127.0.0.1"}, [&](auto stream) { accepted.push_back(std::move(stream)); });
  ASSERT_TRUE(listening.has_value());
  // The caller's socket is made first, then the descriptors run out before the listener may accept.
  const int caller = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((*listening)->local().port);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  timer_queue::timer relief(loop.timers(), [&] { ::setrlimit(RLIMIT_NOFILE, &before); });
  loop.run_ready();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ASSERT_EQ(::connect(caller, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  loop.run_ready();
  EXPECT_TRUE(accepted.empty());
  relief.arm(time.now() + 1ms);
  EXPECT_TRUE(run_until(loop, [&] { return accepted.size() == 1; }));
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::close(caller);
}

}  // namespace
}  // namespace tern::runtime
