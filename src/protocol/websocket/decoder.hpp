// The receiving half of a WebSocket: any split of the bytes of frames into the bytes of messages, which here are one
// stream. A state machine without input of its own; it keeps nothing but what a header or a control frame has begun.
//
// One connection, one thread. Invariants: a control frame is told of whole; after `failed` nothing more is decoded.
#pragma once

#include "protocol/websocket/frame.hpp"
#include "protocol/websocket/message_compression.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tern::protocol {

struct websocket_decoder_options {
  bool masked = true;  // frames are to be masked: those of a client, unless it was allowed not to
  bool may_compress = false;
  std::uint64_t inflated_max = 64 << 20;  // bytes of one compressed message: a small frame may hold a large one
};

class websocket_decoder {
 public:
  enum class event : std::uint8_t { need_input, output_full, ping, pong, close, failed };
  struct progress {
    event what;
    std::size_t consumed, produced;
  };

  explicit websocket_decoder(websocket_decoder_options with = {}) : with_(with) {}

  // Decodes until something is to be told. `output` may begin where `input` does (not with compression): the result is
  // never longer than what it comes from. `input` is unmasked where it lies.
  progress decode(std::span<char> input, std::span<char> output);

  // Of the control frame that was told of.
  std::string_view control() const { return {control_.data(), control_size_}; }
  websocket_close close_code() const;
  std::string_view close_reason() const;
  // Why it failed, for the close frame.
  websocket_close failure_code() const { return failure_code_; }
  std::string_view failure() const { return failure_; }

  // Nothing of a frame or message has begun: the memory is that of this object.
  bool idle() const { return header_size_ == 0 && !in_frame_ && !in_message_; }

 private:
  void fail(websocket_close code, std::string_view why);
  bool take_header(std::span<char>& input);
  void begin_frame();
  void begin_data(bool continuation);
  bool take_control(std::span<char>& input);
  void take_data(std::span<char>& input, std::span<char>& output);
  void take_compressed(std::span<char>& input, std::span<char>& output);
  void end_frame();

  websocket_decoder_options with_;
  std::array<unsigned char, websocket_header_max> header_bytes_{};
  std::uint8_t header_size_ = 0;
  bool in_frame_ = false;
  bool in_message_ = false;
  bool message_compressed_ = false;
  bool finishing_ = false;  // the tail of a compressed message is still to be inflated
  bool failed_ = false;
  websocket_close failure_code_ = websocket_close::normal;
  websocket_header frame_;
  std::uint64_t taken_ = 0;     // of the frame's payload
  std::uint64_t inflated_ = 0;  // of the message
  std::unique_ptr<message_inflater> inflater_;
  std::array<char, websocket_control_max> control_;
  std::size_t control_size_ = 0;
  std::string_view failure_;
};

}  // namespace tern::protocol
