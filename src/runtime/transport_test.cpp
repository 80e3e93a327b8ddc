// What every transport promises, held against TCP (both families) and against in-process pipes.
#include "runtime/transport.hpp"

#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tern::runtime {
namespace {

using namespace std::chrono_literals;

enum class network { tcp_v4, tcp_v6, pipe };

class transport_contract : public ::testing::TestWithParam<network> {
 protected:
  transport_contract() {
    if (GetParam() == network::pipe) {
      wire = pipes.make_transport(loop);
    } else {
      wire = make_tcp_transport(loop);
    }
  }

  endpoint somewhere() const {
    if (GetParam() == network::pipe) return {.host = "somewhere", .in_process = true};
    return {.host = GetParam() == network::tcp_v4 ? "127.0.0.1" : "::1"};
  }

  // A connected pair: `near` called, `far` was accepted.
  void connect_pair() {
    auto listening = wire->listen(somewhere(), [this](auto stream) { far = std::move(stream); });
    ASSERT_TRUE(listening.has_value()) << listening.error().message();
    wire->connect((*listening)->local(), 10s, [this](result<std::unique_ptr<byte_stream>> outcome) {
      ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
      near = std::move(*outcome);
    });
    EXPECT_EQ(near, nullptr);  // no callback runs inside the call
    ASSERT_TRUE(run_until(loop, [this] { return near && far; }));
  }

  static std::size_t write(byte_stream& to, std::string_view text) {
    const io_result outcome = to.write({&text, 1});
    return outcome.state == io_state::done ? outcome.bytes : 0;
  }

  // Reads all that is there.
  static io_state drain(byte_stream& from, std::string& into) {
    std::array<char, 4096> buffer;
    for (;;) {
      const io_result outcome = from.read(buffer);
      if (outcome.state != io_state::done) return outcome.state;
      into.append(buffer.data(), outcome.bytes);
    }
  }

  real_clock time;
  real_random randomness;
  pipe_network pipes{1 << 16};
  shard loop{time, randomness};
  std::unique_ptr<transport> wire;
  std::unique_ptr<byte_stream> near, far;
};

TEST_P(transport_contract, bytes_arrive_whole_and_in_order_through_partial_reads_and_writes) {
  connect_pair();
  // More than the kernel's buffers take, so that the writer must wait.
  std::string sent(16'000'000, '\0'), received;
  seeded_random content(5);
  content.fill({reinterpret_cast<unsigned char*>(sent.data()), sent.size()});
  std::size_t offset = 0;
  int blocked = 0;
  std::move_only_function<void()> pump = [&] {
    while (offset < sent.size()) {
      // Pieces of uneven sizes, empty ones among them.
      const std::string_view rest = std::string_view(sent).substr(offset, 10'000);
      const std::size_t third = rest.size() / 3;
      const std::array<std::string_view, 4> pieces{rest.substr(0, third), std::string_view(), rest.substr(third, 1),
                                                   rest.substr(std::min(rest.size(), third + 1))};
      const io_result outcome = near->write(pieces);
      if (outcome.state == io_state::would_block) {
        ++blocked;
        near->on_writable_once([&] { pump(); });
        return;
      }
      ASSERT_EQ(outcome.state, io_state::done);
      offset += outcome.bytes;
    }
    near->shutdown_write();
  };
  pump();
  EXPECT_GT(blocked, 0);
  bool ended = false;
  far->on_readable([&] {
    std::array<char, 7'777> buffer;  // one read per event: the level trigger must bring us back
    const io_result outcome = far->read(buffer);
    if (outcome.state == io_state::done) received.append(buffer.data(), outcome.bytes);
    if (outcome.state == io_state::end_of_stream) ended = true;
  });
  ASSERT_TRUE(run_until(loop, [&] { return ended; }));
  EXPECT_TRUE(received == sent);
}

TEST_P(transport_contract, reading_an_idle_stream_would_block) {
  connect_pair();
  std::array<char, 8> buffer;
  EXPECT_EQ(near->read(buffer).state, io_state::would_block);
  EXPECT_EQ(far->read(buffer).state, io_state::would_block);
}

TEST_P(transport_contract, callbacks_never_run_inside_the_call_that_asked) {
  connect_pair();
  ASSERT_EQ(write(*near, "x"), 1u);
  bool readable = false, writable = false;
  far->on_readable([&] {
    readable = true;
    std::string text;
    drain(*far, text);
  });
  near->on_writable_once([&] { writable = true; });
  EXPECT_FALSE(readable);
  EXPECT_FALSE(writable);
  EXPECT_TRUE(run_until(loop, [&] { return readable && writable; }));
}

TEST_P(transport_contract, both_ways_work_at_once) {
  connect_pair();
  std::string at_near, at_far;
  near->on_readable([&] { drain(*near, at_near); });
  far->on_readable([&] { drain(*far, at_far); });
  EXPECT_EQ(write(*near, "ping"), 4u);
  EXPECT_EQ(write(*far, "pong"), 4u);
  EXPECT_TRUE(run_until(loop, [&] { return at_near == "pong" && at_far == "ping"; }));
}

TEST_P(transport_contract, after_shutdown_the_peer_reads_the_rest_then_the_end_and_may_still_answer) {
  connect_pair();
  std::string at_near, at_far;
  io_state far_state = io_state::done;
  int calls_after_end = 0;
  far->on_readable([&] {
    if (far_state == io_state::end_of_stream) ++calls_after_end;
    far_state = drain(*far, at_far);
    if (far_state == io_state::end_of_stream) write(*far, "bye");
  });
  near->on_readable([&] { drain(*near, at_near); });
  EXPECT_EQ(write(*near, "last words"), 10u);
  near->shutdown_write();
  ASSERT_TRUE(run_until(loop, [&] { return at_near == "bye"; }));
  EXPECT_EQ(at_far, "last words");
  loop.run_ready(10);
  EXPECT_EQ(calls_after_end, 0);
}

TEST_P(transport_contract, closing_ends_the_peer_and_writing_to_it_fails_in_the_end) {
  connect_pair();
  near->close();
  std::string text;
  io_state state = io_state::done;
  far->on_readable([&] { state = drain(*far, text); });
  ASSERT_TRUE(run_until(loop, [&] { return state != io_state::done && state != io_state::would_block; }));
  EXPECT_EQ(state, io_state::end_of_stream);
  io_result outcome;
  for (int i = 0; i < 1000 && outcome.state != io_state::failed; ++i) {
    const std::string_view piece = "anybody there?";
    outcome = far->write({&piece, 1});
    loop.run_ready();
  }
  EXPECT_EQ(outcome.state, io_state::failed);
  EXPECT_NE(outcome.error_number, 0);
}

TEST_P(transport_contract, a_closed_stream_fails_politely) {
  connect_pair();
  near->close();
  near->close();
  std::array<char, 8> buffer;
  EXPECT_EQ(near->read(buffer).state, io_state::failed);
  const std::string_view piece = "x";
  EXPECT_EQ(near->write({&piece, 1}).state, io_state::failed);
  near->on_readable([] { FAIL(); });
  near->on_writable_once([] { FAIL(); });
  near->pause_reading();
  near->resume_reading();
  near->shutdown_write();
  loop.run_ready();
}

TEST_P(transport_contract, no_callback_runs_after_close) {
  connect_pair();
  far->on_readable([] { FAIL(); });
  far->on_writable_once([] { FAIL(); });
  write(*near, "x");
  far->close();
  for (int i = 0; i < 5; ++i) loop.run_ready();
}

TEST_P(transport_contract, a_callback_may_close_or_destroy_its_own_stream) {
  connect_pair();
  const auto token = std::make_shared<int>(0);
  far->on_readable([this, token] {
    far.reset();
    *token = 1;  // the running callback still owns what it captured
  });
  std::string text;
  io_state state = io_state::would_block;
  near->on_readable([&] { state = drain(*near, text); });
  near->on_writable_once([this] { near->close(); });
  write(*near, "x");
  ASSERT_TRUE(run_until(loop, [&] { return *token == 1; }));
  loop.run_ready();
  EXPECT_EQ(token.use_count(), 1);  // and was destroyed after it
}

TEST_P(transport_contract, a_cycle_through_the_callback_ends_with_close) {
  connect_pair();
  struct connection {
    std::unique_ptr<byte_stream> stream;
  };
  auto owner = std::make_shared<connection>(std::move(far));
  const std::weak_ptr<connection> observed = owner;
  owner->stream->on_readable([owner] {});
  owner->stream->close();
  owner.reset();
  loop.run_ready();
  EXPECT_TRUE(observed.expired());
}

TEST_P(transport_contract, paused_reading_holds_the_callback_back_until_resumed) {
  connect_pair();
  int calls = 0;
  std::string text;
  far->on_readable([&] {
    ++calls;
    drain(*far, text);
  });
  far->pause_reading();
  write(*near, "abc");
  bool answered = false;
  near->on_writable_once([&] { answered = true; });
  ASSERT_TRUE(run_until(loop, [&] { return answered; }));
  loop.run_ready();
  EXPECT_EQ(calls, 0);
  far->resume_reading();
  ASSERT_TRUE(run_until(loop, [&] { return text == "abc"; }));
}

TEST_P(transport_contract, pausing_inside_the_callback_leaves_the_rest_for_later) {
  connect_pair();
  std::string text;
  far->on_readable([&] {
    std::array<char, 2> buffer;
    const io_result outcome = far->read(buffer);
    if (outcome.state == io_state::done) text.append(buffer.data(), outcome.bytes);
    far->pause_reading();
  });
  write(*near, "abcd");
  ASSERT_TRUE(run_until(loop, [&] { return text == "ab"; }));
  loop.run_ready();
  EXPECT_EQ(text, "ab");
  far->resume_reading();
  EXPECT_TRUE(run_until(loop, [&] { return text == "abcd"; }));
}

TEST_P(transport_contract, a_listener_takes_many_and_stops_when_closed) {
  std::vector<std::unique_ptr<byte_stream>> accepted, called;
  auto listening = wire->listen(somewhere(), [&](auto stream) { accepted.push_back(std::move(stream)); });
  ASSERT_TRUE(listening.has_value());
  const endpoint at = (*listening)->local();
  for (int i = 0; i < 100; ++i) {
    wire->connect(at, 10s, [&](auto outcome) {
      ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
      called.push_back(std::move(*outcome));
    });
  }
  ASSERT_TRUE(run_until(loop, [&] { return accepted.size() == 100 && called.size() == 100; }));
  (*listening)->close();
  std::optional<errc> refused;
  wire->connect(at, 10s, [&](auto outcome) {
    ASSERT_FALSE(outcome.has_value());
    refused = outcome.error().code();
  });
  ASSERT_TRUE(run_until(loop, [&] { return refused.has_value(); }));
  EXPECT_EQ(refused, errc::connect_failed);
}

TEST_P(transport_contract, an_accept_callback_may_close_its_listener) {
  std::unique_ptr<listener> only_one;
  int accepted = 0;
  auto listening = wire->listen(somewhere(), [&](auto) {
    ++accepted;
    only_one.reset();
  });
  ASSERT_TRUE(listening.has_value());
  only_one = std::move(*listening);
  const endpoint at = only_one->local();
  wire->connect(at, 10s, [](auto) {});
  ASSERT_TRUE(run_until(loop, [&] { return accepted == 1; }));
  EXPECT_EQ(only_one, nullptr);
}

TEST_P(transport_contract, an_address_in_use_is_refused_and_free_again_after_close) {
  auto first = wire->listen(somewhere(), [](auto) {});
  ASSERT_TRUE(first.has_value());
  const endpoint at = (*first)->local();
  EXPECT_FALSE(wire->listen(at, [](auto) {}).has_value());
  first->reset();
  loop.run_ready();
  EXPECT_TRUE(wire->listen(at, [](auto) {}).has_value());
}

TEST_P(transport_contract, two_threads_talk_through_it) {
  connect_pair();
  shard other(time, randomness);
  auto wire_of_other = GetParam() == network::pipe ? pipes.make_transport(other) : make_tcp_transport(other);
  std::unique_ptr<byte_stream> accepted, called;
  endpoint meeting = somewhere();
  if (meeting.in_process) meeting.host = "meeting";
  auto listening = wire->listen(meeting, [&](auto stream) { accepted = std::move(stream); });
  ASSERT_TRUE(listening.has_value());
  const endpoint at = (*listening)->local();
  constexpr std::size_t total = 2'000'000;
  std::thread peer([&] {
    std::size_t sent = 0;
    const std::string block(5'000, 'b');
    std::move_only_function<void()> pump = [&] {
      while (sent < total) {
        const std::size_t taken = write(*called, std::string_view(block).substr(0, total - sent));
        if (taken == 0) {
          called->on_writable_once([&] { pump(); });
          return;
        }
        sent += taken;
      }
      called->close();
    };
    wire_of_other->connect(at, 10s, [&](auto outcome) {
      ASSERT_TRUE(outcome.has_value());
      called = std::move(*outcome);
      pump();
    });
    EXPECT_TRUE(run_until(other, [&] { return sent == total; }));
    called.reset();
  });
  std::string received;
  io_state state = io_state::would_block;
  ASSERT_TRUE(run_until(loop, [&] { return accepted != nullptr; }));
  accepted->on_readable([&] { state = drain(*accepted, received); });
  EXPECT_TRUE(run_until(loop, [&] { return state == io_state::end_of_stream; }));
  EXPECT_EQ(received.size(), total);
  EXPECT_EQ(received.find_first_not_of('b'), std::string::npos);
  peer.join();
}

INSTANTIATE_TEST_SUITE_P(networks, transport_contract,
                         ::testing::Values(network::tcp_v4, network::tcp_v6, network::pipe), [](const auto& info) {
                           switch (info.param) {
                             case network::tcp_v4:
                               return "tcp_v4";
                             case network::tcp_v6:
                               return "tcp_v6";
                             case network::pipe:
                               return "pipe";
                           }
                           return "";
                         });

}  // namespace
}  // namespace tern::runtime
