// A server on an in-process network under a paused clock, and raw clients that speak bytes to it. For tests.
#pragma once

#include "runtime/shard.hpp"
#include "runtime/transport.hpp"
#include "server/server.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tern::server {

class test_world {
 public:
  static constexpr time_point start_time = from_unix_nanoseconds(1'800'000'000'000'000'000);

  explicit test_world(options settings = {}, std::size_t pipe_bytes = 1 << 20) : network_(pipe_bytes) {
    settings.listen_on_network = false;
    settings.in_process_name = "server";
    if (settings.server_name.empty()) settings.server_name = "test";
    transport_ = network_.make_transport(loop);
    auto made = server::create({.loop = loop, .in_process = transport_.get(), .log = log}, std::move(settings));
    EXPECT_TRUE(made.has_value());
    under_test = std::move(*made);
    EXPECT_TRUE(under_test->start().has_value());
  }
  ~test_world() { under_test.reset(); }

  void run() { loop.run_ready(); }

  // Moves time, stopping at each deadline on the way.
  void advance(nanoseconds by) {
    run();
    const time_point target = clock.now() + by;
    while (loop.next_deadline() && *loop.next_deadline() <= target) {
      clock.advance_to(*loop.next_deadline());
      run();
    }
    clock.advance_to(target);
    run();
  }

  std::unique_ptr<runtime::byte_stream> dial() {
    std::unique_ptr<runtime::byte_stream> out;
    transport_->connect({.host = "server", .in_process = true}, std::chrono::seconds(1),
                        [&out](result<std::unique_ptr<runtime::byte_stream>> made) {
                          ASSERT_TRUE(made.has_value());
                          out = std::move(*made);
                        });
    run();
    return out;
  }

  runtime::paused_clock clock{start_time};
  runtime::seeded_random randomness{11};
  runtime::shard loop{clock, randomness};
  runtime::host::captured_log log;
  std::unique_ptr<server> under_test;

 private:
  runtime::pipe_network network_;
  std::unique_ptr<runtime::transport> transport_;
};

class test_client {
 public:
  explicit test_client(test_world& world) : world_(world), stream_(world.dial()) {}

  // Sends CONNECT and PING and forgets the answers.
  test_client& connect(std::string_view extra = {}) {
    send("CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1" +
         std::string(extra) + "}\r\nPING\r\n");
    take();
    return *this;
  }
  void send(std::string_view bytes) {
    offer(bytes);
    world_.run();
  }
  // Without running the server.
  void offer(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = stream_->write({&bytes, 1});
      if (sent.state == runtime::io_state::would_block) {
        world_.run();
        continue;
      }
      ASSERT_EQ(sent.state, runtime::io_state::done);
      bytes.remove_prefix(sent.bytes);
    }
  }
  // Everything that came.
  std::string take() {
    std::string out;
    do {
      world_.run();
    } while (read_once(out));
    return out;
  }
  bool closed() {
    std::string rest;
    while (read_once(rest)) world_.run();
    return ended_;
  }
  bool read_once(std::string& into) {
    std::array<char, 8192> block;
    const auto got = stream_->read(block);
    if (got.state == runtime::io_state::done)
      into.append(block.data(), got.bytes);
    else if (got.state != runtime::io_state::would_block)
      ended_ = true;
    return got.state == runtime::io_state::done;
  }
  runtime::byte_stream& stream() { return *stream_; }
  void hang_up() { stream_->close(), world_.run(); }

 private:
  test_world& world_;
  std::unique_ptr<runtime::byte_stream> stream_;
  bool ended_ = false;
};

}  // namespace tern::server
