#include "protocol/websocket/decoder.hpp"

#include <algorithm>
#include <cstring>

namespace tern::protocol {
namespace {

bool is_control(websocket_opcode what) { return static_cast<int>(what) >= 8; }

std::size_t header_length(const unsigned char* bytes) {
  const int length = bytes[1] & 0x7f;
  return 2u + (length == 126 ? 2u : length == 127 ? 8u : 0u) + ((bytes[1] & 0x80) != 0 ? 4u : 0u);
}

}  // namespace

void websocket_decoder::fail(websocket_close code, std::string_view why) {
  failed_ = true;
  failure_code_ = code;
  failure_ = why;
  inflater_.reset();
}

websocket_decoder::progress websocket_decoder::decode(std::span<char> input, std::span<char> output) {
  const std::size_t offered = input.size(), room = output.size();
  const auto told = [&](event what) { return progress{what, offered - input.size(), room - output.size()}; };
  for (;;) {
    if (failed_) return told(event::failed);
    if (finishing_) {
      take_compressed(input, output);
      if (finishing_ && !failed_) return told(event::output_full);
      continue;
    }
    if (!in_frame_) {
      if (!take_header(input)) return told(event::need_input);
      continue;
    }
    if (is_control(frame_.opcode)) {
      if (!take_control(input)) return told(event::need_input);
      in_frame_ = false;
      switch (frame_.opcode) {
        case websocket_opcode::ping:
          return told(event::ping);
        case websocket_opcode::pong:
          return told(event::pong);
        default:
          if (control_size_ == 1) {
            fail(websocket_close::protocol_error, "close frame with a body of one byte");
            continue;
          }
          return told(event::close);
      }
    }
    if (taken_ < frame_.length) {
      if (input.empty()) return told(event::need_input);
      if (output.empty()) return told(event::output_full);
      if (message_compressed_)
        take_compressed(input, output);
      else
        take_data(input, output);
    }
    if (!failed_ && taken_ == frame_.length) end_frame();
  }
}

// False when more bytes are needed.
bool websocket_decoder::take_header(std::span<char>& input) {
  while (!input.empty()) {
    header_bytes_[header_size_++] = static_cast<unsigned char>(input.front());
    input = input.subspan(1);
    if (header_size_ < 2 || header_size_ < header_length(header_bytes_.data())) continue;
    begin_frame();
    return true;
  }
  return false;
}

void websocket_decoder::begin_frame() {
  const unsigned char* at = header_bytes_.data();
  header_size_ = 0;
  const unsigned opcode = at[0] & 0x0f;
  frame_ = {.opcode = static_cast<websocket_opcode>(opcode),
            .final = (at[0] & 0x80) != 0,
            .compressed = (at[0] & 0x40) != 0,
            .masked = (at[1] & 0x80) != 0};
  const unsigned short_length = at[1] & 0x7f;
  int length_bytes = short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
  frame_.length = length_bytes == 0 ? short_length : 0;
  at += 2;
  while (length_bytes-- > 0) frame_.length = frame_.length << 8 | *at++;
  if (frame_.masked) std::memcpy(&frame_.mask, at, sizeof frame_.mask);
  taken_ = 0;
  in_frame_ = true;
  if ((header_bytes_[0] & 0x30) != 0) return fail(websocket_close::protocol_error, "reserved bits are set");
  if (frame_.length >> 63 != 0) return fail(websocket_close::protocol_error, "invalid frame length");
  if (with_.masked && !frame_.masked) return fail(websocket_close::protocol_error, "mask bit missing");
  switch (frame_.opcode) {
    case websocket_opcode::close:
    case websocket_opcode::ping:
    case websocket_opcode::pong:
      if (frame_.length > websocket_control_max)
        return fail(websocket_close::protocol_error, "control frame length bigger than maximum allowed of 125 bytes");
      if (!frame_.final) return fail(websocket_close::protocol_error, "control frame does not have final bit set");
      if (frame_.compressed) return fail(websocket_close::protocol_error, "control frame with a reserved bit");
      control_size_ = 0;
      return;
    case websocket_opcode::text:
    case websocket_opcode::binary:
      return begin_data(false);
    case websocket_opcode::continuation:
      return begin_data(true);
  }
  fail(websocket_close::protocol_error, "unknown opcode");
}

void websocket_decoder::begin_data(bool continuation) {
  if (continuation) {
    if (!in_message_) return fail(websocket_close::protocol_error, "invalid continuation frame");
    if (frame_.compressed) return fail(websocket_close::protocol_error, "continuation frame with a reserved bit");
    return;
  }
  if (in_message_)
    return fail(websocket_close::protocol_error,
                "new message started before final frame for previous message was received");
  if (frame_.compressed && !with_.may_compress) return fail(websocket_close::protocol_error, "invalid compression bit");
  in_message_ = true;
  message_compressed_ = frame_.compressed;
  inflated_ = 0;
  if (message_compressed_) inflater_ = std::make_unique<message_inflater>();
}

bool websocket_decoder::take_control(std::span<char>& input) {
  const std::size_t part = std::min<std::size_t>(input.size(), frame_.length - taken_);
  std::memcpy(control_.data() + control_size_, input.data(), part);
  if (frame_.masked) apply_websocket_mask({control_.data() + control_size_, part}, frame_.mask, taken_);
  control_size_ += part;
  taken_ += part;
  input = input.subspan(part);
  return taken_ == frame_.length;
}

void websocket_decoder::take_data(std::span<char>& input, std::span<char>& output) {
  const auto left = static_cast<std::size_t>(std::min<std::uint64_t>(frame_.length - taken_, input.size()));
  const std::size_t part = std::min(left, output.size());
  if (frame_.masked) apply_websocket_mask(input.first(part), frame_.mask, taken_);
  if (output.data() != input.data()) std::memmove(output.data(), input.data(), part);
  taken_ += part;
  input = input.subspan(part);
  output = output.subspan(part);
}

// Unmasks a piece, inflates what fits; masks the rest again, for it is offered once more.
void websocket_decoder::take_compressed(std::span<char>& input, std::span<char>& output) {
  message_inflater::progress done;
  if (finishing_) {
    done = inflater_->finish(output);
    if (!done.failed && done.produced < output.size()) {
      finishing_ = false;
      in_message_ = false;
    }
  } else {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(frame_.length - taken_, input.size()));
    const std::span<char> piece = input.first(part);
    if (frame_.masked) apply_websocket_mask(piece, frame_.mask, taken_);
    done = inflater_->inflate({piece.data(), piece.size()}, output);
    taken_ += done.consumed;
    if (frame_.masked) apply_websocket_mask(piece.subspan(done.consumed), frame_.mask, taken_);
    input = input.subspan(done.consumed);
    if (done.consumed == 0 && done.produced == 0) done.failed = true;  // no way on
  }
  output = output.subspan(done.produced);
  inflated_ += done.produced;
  if (done.failed) return fail(websocket_close::protocol_error, "invalid compressed data");
  if (inflated_ > with_.inflated_max) return fail(websocket_close::too_big, "decompressed message too large");
  if (!finishing_ && !in_message_) inflater_.reset();
}

void websocket_decoder::end_frame() {
  in_frame_ = false;
  if (!frame_.final) return;
  if (message_compressed_)
    finishing_ = true;
  else
    in_message_ = false;
}

websocket_close websocket_decoder::close_code() const {
  if (control_size_ < 2) return websocket_close::no_code;
  const auto high = static_cast<unsigned char>(control_[0]), low = static_cast<unsigned char>(control_[1]);
  return static_cast<websocket_close>(high << 8 | low);
}

std::string_view websocket_decoder::close_reason() const { return control_size_ > 2 ? control().substr(2) : ""; }

}  // namespace tern::protocol
