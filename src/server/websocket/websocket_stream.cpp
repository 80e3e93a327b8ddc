#include "server/websocket/websocket_stream.hpp"

#include "runtime/shard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tern::server {

using protocol::websocket_close;
using protocol::websocket_decoder;
using protocol::websocket_opcode;
using runtime::io_result;
using runtime::io_state;

namespace {

constexpr std::size_t pieces_max = 63;  // of 64, one is the header
// Smaller pieces gain nothing from compression (core 8).
constexpr std::size_t compress_from = 65;
constexpr std::size_t message_max = 64 << 10;
// Answers to pings of a client that does not read: the newest of them are enough.
constexpr std::size_t replies_max = 4 << 10;
constexpr int reads_per_call = 16;

}  // namespace

// Shared by the stream and the callbacks that the stream below holds, so that the stream may go inside one of them.
struct websocket_stream::core final : runtime::stream_layer {
  core(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> stream, websocket_settings with, std::string answer,
       std::string already_read)
      : stream_layer(loop, std::move(stream)),
        settings(with),
        decoder({.masked = with.masked, .may_compress = with.compress, .inflated_max = with.inflated_max}),
        kept(std::move(answer)),
        held(std::move(already_read)) {}

  // --- reading ---
  io_result read(std::span<char> into) override {
    more_inside = false;
    if (closed) return {.state = io_state::failed, .error_number = EBADF};
    if (ended) return ending();
    std::size_t total = 0;
    for (int reads = 0; reads < reads_per_call && total == 0; ++reads) {
      std::array<char, 8 << 10> block;
      std::span<char> input(held);
      const bool from_held = !held.empty();
      if (!from_held && !inside) {
        const std::span<char> place = settings.compress ? std::span<char>(block) : into;
        const io_result got = below->read(place);
        if (got.state != io_state::done) return got;
        input = place.first(got.bytes);
      }
      const io_state state = decode(input, into, total);
      if (state != io_state::done) return finish_read(state, total);
      std::string rest(input.data(), input.size());
      held = std::move(rest);
    }
    more_inside = !held.empty() || inside;
    send_replies();
    return total > 0 ? io_result{.bytes = total} : io_result{.state = io_state::would_block};
  }

  // Decodes until the input is used up or the output is full, and answers on the way.
  io_state decode(std::span<char>& input, std::span<char> into, std::size_t& total) {
    for (;;) {
      const auto done = decoder.decode(input, into.subspan(total));
      input = input.subspan(done.consumed);
      total += done.produced;
      inside = done.what == websocket_decoder::event::output_full;
      switch (done.what) {
        case websocket_decoder::event::need_input:
        case websocket_decoder::event::output_full:
          return io_state::done;
        case websocket_decoder::event::ping:
          if (replies.size() < replies_max)
            protocol::append_websocket_control(replies, websocket_opcode::pong, decoder.control());
          break;
        case websocket_decoder::event::pong:
          break;
        case websocket_decoder::event::close:
          say_close(decoder.control());
          return io_state::end_of_stream;
        case websocket_decoder::event::failed:
          say_close(protocol::websocket_close_payload(decoder.failure_code(), decoder.failure()));
          return io_state::failed;
      }
    }
  }

  io_result ending() const { return {.state = end_state, .error_number = end_state == io_state::failed ? EPROTO : 0}; }

  io_result finish_read(io_state state, std::size_t total) {
    ended = true;
    end_state = state;
    held = {};
    inside = false;
    send_replies();
    below->pause_reading();
    if (total == 0) return ending();
    more_inside = true;  // to be called once more, for the end
    return {.bytes = total};
  }

  void say_close(std::string_view payload) {
    if (std::exchange(farewell_said, true)) return;
    protocol::append_websocket_control(replies, websocket_opcode::close, payload);
  }

  // Between two frames only.
  void send_replies() {
    if (frame_left > 0 || replies.empty()) return;
    kept.append(replies);
    replies = {};
    if (!send_kept()) wait_to_write();
  }

  // --- writing ---
  // False when the stream below takes no more for now.
  bool send_kept() override {
    while (!kept.empty()) {
      const std::string_view piece = kept;
      const io_result sent = below->write({&piece, 1});
      if (sent.state == io_state::would_block) return false;
      if (sent.state != io_state::done) {
        failed = true;
        kept = {};
        return true;  // whoever writes next is told
      }
      kept.erase(0, sent.bytes);
    }
    kept = {};
    return true;
  }

  io_result write(std::span<const std::string_view> pieces) override {
    if (closed || failed || farewell_said) return {.state = io_state::failed, .error_number = EPIPE};
    if (frame_left == 0 && !replies.empty()) kept.append(std::exchange(replies, {}));
    if (!send_kept()) return {.state = io_state::would_block};
    if (failed) return {.state = io_state::failed, .error_number = EPIPE};
    std::size_t offered = 0;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), pieces_max))) offered += piece.size();
    if (offered == 0) return {};
    if (frame_left == 0) {
      if (settings.frame_max != 0) offered = std::min(offered, settings.frame_max);
      if (settings.compress && offered >= compress_from)
        return write_compressed(pieces, std::min(offered, message_max));
      begin_frame(offered, false);
      frame_left = offered;
    }
    return write_frame(pieces);
  }

  void begin_frame(std::size_t length, bool compressed) {
    char header[protocol::websocket_header_max];
    const char* const end = protocol::put_websocket_header(header, {.compressed = compressed, .length = length});
    kept.append(header, static_cast<std::size_t>(end - header));
  }

  // The rest of the frame at hand, or as much as the stream below takes. What is offered begins with it: output that
  // was not taken is offered again.
  io_result write_frame(std::span<const std::string_view> pieces) {
    std::array<std::string_view, pieces_max + 1> vector;
    std::size_t count = 0;
    if (!kept.empty()) vector[count++] = kept;
    const std::size_t header = kept.size();
    std::uint64_t left = frame_left;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), pieces_max))) {
      if (left == 0) break;
      const std::string_view part =
          piece.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
      if (part.empty()) continue;
      left -= part.size();
      vector[count++] = part;
    }
    const io_result sent = below->write(std::span(vector).first(count));
    if (sent.state != io_state::done) return sent;
    const std::size_t of_header = std::min(header, sent.bytes);
    kept.erase(0, of_header);
    if (kept.empty()) kept = {};
    frame_left -= sent.bytes - of_header;
    if (frame_left == 0) send_replies();
    return {.bytes = sent.bytes - of_header};
  }

  io_result write_compressed(std::span<const std::string_view> pieces, std::size_t length) {
    std::array<std::string_view, pieces_max> parts;
    std::size_t count = 0, left = length;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), pieces_max))) {
      if (left == 0) break;
      parts[count] = piece.substr(0, left);
      left -= parts[count++].size();
    }
    std::string packed;
    protocol::append_deflated(packed, std::span(parts).first(count));
    begin_frame(packed.size(), true);
    kept.append(packed);
    if (!send_kept()) wait_to_write();  // nobody else may ask for it
    return {.bytes = length};
  }

  bool holds_input() const override { return !held.empty(); }

  void shutdown_write() override {
    if (closed || std::exchange(finishing, true)) return;
    // Behind a frame that was cut by the end no other can come.
    if (frame_left == 0) {
      say_close(farewell);
      kept.append(std::exchange(replies, {}));
    }
    if (send_kept()) return below->shutdown_write();
    wait_to_write();
  }

  const websocket_settings settings;
  websocket_decoder decoder;
  std::string kept;              // whole frames or the header of one, not taken by the stream below
  std::string replies;           // control frames that wait for the end of the frame at hand
  std::string held;              // read and not decoded yet
  std::string farewell;          // payload of the close frame
  std::uint64_t frame_left = 0;  // payload of the frame at hand that was announced and not sent
  io_state end_state = io_state::end_of_stream;
  bool inside = false;  // the decoder has more without input
  bool farewell_said = false;
};

websocket_stream::websocket_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below,
                                   websocket_settings settings, std::string answer, std::string already_read)
    : layered_stream(
          std::make_shared<core>(loop, std::move(below), settings, std::move(answer), std::move(already_read))) {
  set_farewell(websocket_close::going_away, {});
}

websocket_stream::core& websocket_stream::own() const { return static_cast<core&>(layer()); }

void websocket_stream::set_farewell(websocket_close code, std::string_view reason) {
  own().farewell = protocol::websocket_close_payload(code, reason);
}

}  // namespace tern::server
