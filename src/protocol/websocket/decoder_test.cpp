#include "protocol/websocket/decoder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tern::protocol {
namespace {

using event = websocket_decoder::event;

std::string frame(websocket_opcode opcode, std::string payload, bool final = true, bool masked = true,
                  bool compressed = false) {
  const std::uint32_t mask = 0x04030201;
  char header[websocket_header_max];
  char* const end = put_websocket_header(header, {.opcode = opcode,
                                                  .final = final,
                                                  .compressed = compressed,
                                                  .masked = masked,
                                                  .mask = mask,
                                                  .length = payload.size()});
  if (masked) apply_websocket_mask(payload, mask);
  return std::string(header, end) + payload;
}

struct heard {
  std::string data;
  std::vector<std::string> controls;
  bool failed = false;
  std::string why;
  websocket_close code{};
};

heard decode(websocket_decoder& decoder, std::string bytes, std::size_t split = 1 << 20, std::size_t room = 4096) {
  heard out;
  std::vector<char> block(room);
  for (std::size_t at = 0; at < bytes.size(); at += split) {
    std::string piece = bytes.substr(at, split);
    std::span<char> input(piece);
    for (;;) {
      const auto done = decoder.decode(input, block);
      out.data.append(block.data(), done.produced);
      input = input.subspan(done.consumed);
      if (done.what == event::failed) {
        out.failed = true, out.why = decoder.failure(), out.code = decoder.failure_code();
        return out;
      }
      if (done.what == event::ping) out.controls.push_back("ping " + std::string(decoder.control()));
      if (done.what == event::pong) out.controls.push_back("pong " + std::string(decoder.control()));
      if (done.what == event::close)
        out.controls.push_back("close " + std::to_string(static_cast<int>(decoder.close_code())) + " " +
                               std::string(decoder.close_reason()));
      if (done.what == event::need_input) break;
    }
  }
  return out;
}

TEST(websocket_decoder, frames_are_one_stream_of_bytes_in_any_split_core_8) {
  const std::string bytes = frame(websocket_opcode::binary, "PI", false) + frame(websocket_opcode::ping, "mid") +
                            frame(websocket_opcode::continuation, "NG\r\n") +
                            frame(websocket_opcode::text, std::string(300, 'x')) +
                            frame(websocket_opcode::binary, std::string(70'000, 'y')) +
                            frame(websocket_opcode::close, websocket_close_payload(websocket_close::normal, "bye"));
  for (const std::size_t split : {std::size_t{1}, std::size_t{3}, std::size_t{127}, bytes.size()}) {
    websocket_decoder decoder;
    const heard out = decode(decoder, bytes, split);
    EXPECT_FALSE(out.failed);
    EXPECT_EQ(out.data, "PING\r\n" + std::string(300, 'x') + std::string(70'000, 'y')) << split;
    EXPECT_EQ(out.controls, (std::vector<std::string>{"ping mid", "close 1000 bye"}));
    EXPECT_TRUE(decoder.idle());
  }
}

TEST(websocket_decoder, decodes_in_place) {
  std::string bytes = frame(websocket_opcode::binary, "hello ") + frame(websocket_opcode::binary, "world");
  websocket_decoder decoder;
  const auto done = decoder.decode(bytes, bytes);
  EXPECT_EQ(done.what, event::need_input);
  EXPECT_EQ(done.consumed, bytes.size());
  EXPECT_EQ(bytes.substr(0, done.produced), "hello world");
}

TEST(websocket_decoder, refuses_what_rfc_6455_forbids_core_8) {
  const auto why = [](const std::string& bytes) {
    websocket_decoder decoder;
    const heard out = decode(decoder, bytes);
    EXPECT_TRUE(out.failed);
    EXPECT_EQ(out.code, websocket_close::protocol_error);
    return out.why;
  };
  EXPECT_EQ(why(frame(websocket_opcode::binary, "x", true, false)), "mask bit missing");
  EXPECT_EQ(why(frame(static_cast<websocket_opcode>(3), "x")), "unknown opcode");
  EXPECT_EQ(why(frame(websocket_opcode::ping, "x", false)), "control frame does not have final bit set");
  EXPECT_EQ(why(frame(websocket_opcode::ping, std::string(126, 'x'))),
            "control frame length bigger than maximum allowed of 125 bytes");
  EXPECT_EQ(why(frame(websocket_opcode::continuation, "x")), "invalid continuation frame");
  EXPECT_EQ(why(frame(websocket_opcode::binary, "x", false) + frame(websocket_opcode::binary, "x")),
            "new message started before final frame for previous message was received");
  EXPECT_EQ(why(frame(websocket_opcode::binary, "x", true, true, true)), "invalid compression bit");
  EXPECT_EQ(why(frame(websocket_opcode::close, "x")), "close frame with a body of one byte");
  std::string reserved = frame(websocket_opcode::binary, "x");
  reserved[0] = static_cast<char>(reserved[0] | 0x20);
  EXPECT_EQ(why(reserved), "reserved bits are set");
}

TEST(websocket_decoder, a_peer_that_may_sends_unmasked) {
  websocket_decoder decoder({.masked = false});
  EXPECT_EQ(decode(decoder, frame(websocket_opcode::binary, "x", true, false)).data, "x");
}

TEST(websocket_decoder, compressed_messages_come_out_in_any_split) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "MSG some.subject." + std::to_string(i) + " 1 0\r\n\r\n";
  std::string packed;
  const std::array<std::string_view, 2> pieces{std::string_view(text).substr(0, 100),
                                               std::string_view(text).substr(100)};
  append_deflated(packed, pieces);
  EXPECT_LT(packed.size(), text.size() / 4);
  const std::string one = frame(websocket_opcode::binary, packed, true, true, true);
  const std::string parts = frame(websocket_opcode::binary, packed.substr(0, 50), false, true, true) +
                            frame(websocket_opcode::ping, "") +
                            frame(websocket_opcode::continuation, packed.substr(50));
  for (const std::string& bytes : {one, parts, one + parts}) {
    for (const std::size_t split : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
      for (const std::size_t room : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
        websocket_decoder decoder({.may_compress = true});
        const heard out = decode(decoder, bytes, split, room);
        EXPECT_FALSE(out.failed) << out.why;
        EXPECT_TRUE(out.data == (bytes.size() > parts.size() + 10 ? text + text : text)) << split << " " << room;
        EXPECT_TRUE(decoder.idle());
      }
    }
  }
}

TEST(websocket_decoder, an_empty_compressed_message_is_empty) {
  std::string packed;
  append_deflated(packed, {});
  websocket_decoder decoder({.may_compress = true});
  const heard out = decode(decoder, frame(websocket_opcode::binary, packed, true, true, true));
  EXPECT_FALSE(out.failed) << out.why;
  EXPECT_EQ(out.data, "");
}

TEST(websocket_decoder, a_bomb_ends_at_the_limit) {
  const std::string zeros(10 << 20, '\0');
  std::string packed;
  const std::string_view whole = zeros;
  append_deflated(packed, {&whole, 1});
  websocket_decoder decoder({.may_compress = true, .inflated_max = 1 << 20});
  const heard out = decode(decoder, frame(websocket_opcode::binary, packed, true, true, true));
  EXPECT_TRUE(out.failed);
  EXPECT_EQ(out.code, websocket_close::too_big);
  EXPECT_LE(out.data.size(), (1u << 20) + 4096);
}

TEST(websocket_decoder, what_is_no_deflate_stream_is_refused) {
  websocket_decoder decoder({.may_compress = true});
  EXPECT_TRUE(decode(decoder, frame(websocket_opcode::binary, "\xff\xff\xff\xff", true, true, true)).failed);
}

TEST(websocket_mask, begins_anywhere) {
  for (std::uint64_t offset = 0; offset < 9; ++offset) {
    std::string bytes = "0123456789abcdefghij";
    const std::string before = bytes;
    const unsigned char mask[] = {1, 2, 3, 4};
    std::uint32_t word;
    std::memcpy(&word, mask, 4);
    apply_websocket_mask(bytes, word, offset);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(bytes[i], static_cast<char>(before[i] ^ static_cast<char>(mask[(offset + i) % 4])));
  }
}

}  // namespace
}  // namespace tern::protocol
