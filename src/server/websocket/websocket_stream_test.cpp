#include "server/websocket/websocket_stream.hpp"

#include "runtime/shard.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace tern::server {
namespace {

using protocol::websocket_opcode;
using runtime::io_state;

struct web_world {
  explicit web_world(websocket_settings settings = {}, std::size_t pipe_bytes = 1 << 20, std::string early = {})
      : network(pipe_bytes), dialler(network.make_transport(loop)) {
    listening = std::move(
        *dialler->listen({.host = "there", .in_process = true}, [&](std::unique_ptr<runtime::byte_stream> accepted) {
          server = std::make_unique<websocket_stream>(loop, std::move(accepted), settings, "HTTP\r\n\r\n", early);
        }));
    dialler->connect({.host = "there", .in_process = true}, std::chrono::seconds(1),
                     [this](auto made) { client = std::move(*made); });
    loop.run_ready();
    server->on_readable([this] {
      std::array<char, 64> block;
      const auto got = server->read(block);
      heard.append(block.data(), got.bytes);
      if (got.state != io_state::done && got.state != io_state::would_block) ended = got.state;
    });
    loop.run_ready();
  }

  void send(websocket_opcode opcode, std::string payload, bool masked = true) {
    const std::uint32_t mask = 0xa1b2c3d4;
    char header[protocol::websocket_header_max];
    char* const end = protocol::put_websocket_header(
        header, {.opcode = opcode, .masked = masked, .mask = mask, .length = payload.size()});
    if (masked) protocol::apply_websocket_mask(payload, mask);
    const std::string frame = std::string(header, end) + payload;
    std::string_view left = frame;
    while (!left.empty()) {
      left.remove_prefix(client->write({&left, 1}).bytes);
      loop.run_ready();
    }
  }
  std::string take() {
    std::string out;
    std::array<char, 4096> block;
    for (;;) {
      const auto got = client->read(block);
      if (got.state != io_state::done) return out;
      out.append(block.data(), got.bytes);
      loop.run_ready();
    }
  }

  runtime::paused_clock clock{from_unix_nanoseconds(1'800'000'000'000'000'000)};
  runtime::seeded_random randomness{5};
  runtime::shard loop{clock, randomness};
  runtime::pipe_network network;
  std::unique_ptr<runtime::transport> dialler;
  std::unique_ptr<runtime::listener> listening;
  std::unique_ptr<runtime::byte_stream> client;
  std::unique_ptr<websocket_stream> server;
  std::string heard;
  io_state ended = io_state::done;
};

TEST(websocket_stream, the_answer_goes_first_and_a_gathered_write_is_one_frame_core_8) {
  web_world world;
  const std::array<std::string_view, 3> pieces{"MSG a 1 2\r\n", "hi", "\r\n"};
  EXPECT_EQ(world.server->write(pieces).bytes, 15u);
  world.loop.run_ready();
  EXPECT_EQ(world.take(), "HTTP\r\n\r\n\x82\x0fMSG a 1 2\r\nhi\r\n");
}

TEST(websocket_stream, frames_of_the_client_are_a_stream_core_8) {
  web_world world;
  world.send(websocket_opcode::binary, "PI");
  world.send(websocket_opcode::text, "NG\r\n" + std::string(500, 'x'));
  EXPECT_EQ(world.heard, "PING\r\n" + std::string(500, 'x'));
}

TEST(websocket_stream, what_came_with_the_request_is_told_of) {
  std::string early;
  const std::uint32_t mask = 0;
  protocol::append_websocket_control(early, websocket_opcode::ping, "", &mask);
  char header[protocol::websocket_header_max];
  char* const end = protocol::put_websocket_header(header, {.masked = true, .mask = 0, .length = 6});
  early.append(header, static_cast<std::size_t>(end - header));
  early.append("PING\r\n");
  web_world world({}, 1 << 20, early);
  EXPECT_EQ(world.heard, "PING\r\n");
}

TEST(websocket_stream, a_frame_that_the_socket_takes_in_parts_stays_one_frame_and_a_pong_waits_for_its_end) {
  web_world world({}, 1000);
  const std::string body(5000, 'b');
  std::string_view left = body;
  std::function<void()> push = [&] {
    while (!left.empty()) {
      const auto put = world.server->write({&left, 1});
      if (put.state == io_state::would_block) return world.server->on_writable_once([&] { push(); });
      ASSERT_EQ(put.state, io_state::done);
      left.remove_prefix(put.bytes);
    }
  };
  push();
  world.send(websocket_opcode::ping, "p");
  const std::string got = world.take();
  const std::string expected = std::string("HTTP\r\n\r\n\x82\x7e\x13\x88", 12) + body + std::string("\x8a\x01p", 3);
  EXPECT_TRUE(got == expected) << got.size() << " " << expected.size();
}

TEST(websocket_stream, browsers_get_short_frames_core_8) {
  web_world world({.frame_max = 4096});
  const std::string body(5000, 'b');
  std::string_view left = body;
  while (!left.empty()) left.remove_prefix(world.server->write({&left, 1}).bytes);
  world.loop.run_ready();
  const std::string got = world.take();
  EXPECT_EQ(got.substr(8, 4), std::string("\x82\x7e\x10\x00", 4));
  EXPECT_EQ(got.substr(8 + 4 + 4096, 4), std::string("\x82\x7e\x03\x88", 4));
}

TEST(websocket_stream, compresses_what_is_worth_it_core_8) {
  web_world world({.compress = true});
  const std::string small(64, 's'), large(4000, 'l');
  std::string_view piece = small;
  world.server->write({&piece, 1});
  piece = large;
  EXPECT_EQ(world.server->write({&piece, 1}).bytes, large.size());
  world.loop.run_ready();
  const std::string got = world.take();
  EXPECT_EQ(got.substr(8, 66), "\x82\x40" + small);
  EXPECT_EQ(got[8 + 66], '\xc2');
  EXPECT_LT(got.size(), 200u);
}

TEST(websocket_stream, a_close_frame_is_answered_and_ends_the_stream_core_8) {
  web_world world;
  world.send(websocket_opcode::close, protocol::websocket_close_payload(protocol::websocket_close::normal, "bye"));
  EXPECT_EQ(world.ended, io_state::end_of_stream);
  EXPECT_EQ(world.take(),
            "HTTP\r\n\r\n\x88\x05\x03\xe8"
            "bye");
}

TEST(websocket_stream, an_unmasked_frame_is_told_why_it_is_refused_core_8) {
  web_world world;
  world.send(websocket_opcode::binary, "x", false);
  EXPECT_EQ(world.ended, io_state::failed);
  EXPECT_EQ(world.take(), "HTTP\r\n\r\n\x88\x12\x03\xeamask bit missing");
}

TEST(websocket_stream, shutdown_says_farewell_once_core_8) {
  web_world world;
  world.server->set_farewell(protocol::websocket_close::policy, "Slow Consumer");
  world.server->shutdown_write();
  world.loop.run_ready();
  EXPECT_EQ(world.take(), "HTTP\r\n\r\n\x88\x0f\x03\xf0Slow Consumer");
}

TEST(websocket_stream, pings_of_a_client_that_does_not_read_are_bounded) {
  web_world world({}, 4096);
  for (int i = 0; i < 2000; ++i) world.send(websocket_opcode::ping, std::string(100, 'p'));
  EXPECT_EQ(world.ended, io_state::done);
  EXPECT_LT(world.take().size(), 20'000u);
}

}  // namespace
}  // namespace tern::server
