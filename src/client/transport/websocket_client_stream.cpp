#include "client/transport/websocket_client_stream.hpp"

#include "protocol/websocket/decoder.hpp"
#include "runtime/shard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tern::client::detail {

using protocol::websocket_close;
using protocol::websocket_decoder;
using protocol::websocket_opcode;
using runtime::io_result;
using runtime::io_state;

namespace {

constexpr std::size_t message_max = 64 << 10;  // payload of one frame
constexpr std::size_t compress_from = 65;      // as the server does it
constexpr std::size_t replies_max = 4 << 10;
constexpr int reads_per_call = 16;

}  // namespace

// Shared by the stream and the callbacks that the stream below holds, so that the stream may go inside one of them.
struct websocket_client_stream::core final : runtime::stream_layer {
  core(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> stream, bool compress, std::string already_read)
      : stream_layer(loop, std::move(stream)),
        compress(compress),
        decoder({.masked = false, .may_compress = compress}),
        held(std::move(already_read)) {}

  std::uint32_t new_mask() { return static_cast<std::uint32_t>(loop.randomness().next()); }

  // --- reading ---
  io_result read(std::span<char> into) override {
    more_inside = false;
    if (closed) return {.state = io_state::failed, .error_number = EBADF};
    if (ended) return ending();
    std::size_t total = 0;
    for (int reads = 0; reads < reads_per_call && total == 0; ++reads) {
      std::array<char, 8 << 10> block;
      std::span<char> input(held);
      if (held.empty() && !inside) {
        const std::span<char> place = compress ? std::span<char>(block) : into;
        const io_result got = below->read(place);
        if (got.state != io_state::done) return got;
        input = place.first(got.bytes);
      }
      if (const io_state state = decode(input, into, total); state != io_state::done) return finish_read(state, total);
      std::string rest(input.data(), input.size());
      held = std::move(rest);
    }
    more_inside = !held.empty() || inside;
    send_kept_or_wait();
    return total > 0 ? io_result{.bytes = total} : io_result{.state = io_state::would_block};
  }

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
          if (kept.size() < message_max + replies_max) control(websocket_opcode::pong, decoder.control());
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
    send_kept_or_wait();
    below->pause_reading();
    if (total == 0) return ending();
    more_inside = true;  // to be called once more, for the end
    return {.bytes = total};
  }

  void control(websocket_opcode what, std::string_view payload) {
    const std::uint32_t mask = new_mask();
    protocol::append_websocket_control(kept, what, payload, &mask);
  }
  void say_close(std::string_view payload) {
    if (!std::exchange(farewell_said, true)) control(websocket_opcode::close, payload);
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
        return true;
      }
      kept.erase(0, sent.bytes);
    }
    kept = {};
    return true;
  }
  void send_kept_or_wait() {
    if (!send_kept()) wait_to_write();
  }

  io_result write(std::span<const std::string_view> pieces) override {
    if (!closed && !failed && !farewell_said && !send_kept()) return {.state = io_state::would_block};
    if (closed || failed || farewell_said) return {.state = io_state::failed, .error_number = EPIPE};
    std::string payload;
    for (const std::string_view piece : pieces) {
      payload.append(piece.substr(0, message_max - payload.size()));
      if (payload.size() == message_max) break;
    }
    if (payload.empty()) return {};
    const std::size_t taken = payload.size();
    const bool packed = compress && taken >= compress_from;
    if (packed) {
      std::string smaller;
      const std::string_view whole = payload;
      protocol::append_deflated(smaller, {&whole, 1});
      payload = std::move(smaller);
    }
    const std::uint32_t mask = new_mask();
    char header[protocol::websocket_header_max];
    const char* const end = protocol::put_websocket_header(
        header, {.compressed = packed, .masked = true, .mask = mask, .length = payload.size()});
    protocol::apply_websocket_mask(payload, mask);
    kept.append(header, static_cast<std::size_t>(end - header)).append(payload);
    send_kept_or_wait();
    if (failed) return {.state = io_state::failed, .error_number = EPIPE};
    return {.bytes = taken};
  }

  bool holds_input() const override { return !held.empty(); }

  void shutdown_write() override {
    if (closed || std::exchange(finishing, true)) return;
    say_close(protocol::websocket_close_payload(websocket_close::normal, {}));
    if (send_kept()) return below->shutdown_write();
    wait_to_write();
  }
  const bool compress;
  websocket_decoder decoder;
  std::string kept;  // whole frames that the stream below has not taken
  std::string held;  // read and not decoded yet
  io_state end_state = io_state::end_of_stream;
  bool inside = false;  // the decoder has more without input
  bool farewell_said = false;
};

websocket_client_stream::websocket_client_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below,
                                                 bool compress, std::string already_read)
    : layered_stream(std::make_shared<core>(loop, std::move(below), compress, std::move(already_read))) {}

}  // namespace tern::client::detail
