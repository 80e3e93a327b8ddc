// The server's end of a WebSocket as a byte stream: frames around what is written, none around what is read.
// Uncompressed output is framed where it lies; only compressed frames and those that the stream below has not taken are
// kept.
//
// Owned by one connection on one shard.
#pragma once

#include "protocol/websocket/decoder.hpp"
#include "runtime/transport.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tern::server {

struct websocket_settings {
  bool compress = false;      // agreed upon with the client
  bool masked = true;         // frames of the client are to be
  std::size_t frame_max = 0;  // payload bytes of one frame; 0: any
  std::uint64_t inflated_max = 64 << 20;
};

class websocket_stream final : public runtime::byte_stream {
 public:
  // `answer` goes out before the first frame, `already_read` came before.
  websocket_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below, websocket_settings settings,
                   std::string answer, std::string already_read);
  ~websocket_stream() override;

  // What the close frame of shutdown_write() will say.
  void set_farewell(protocol::websocket_close code, std::string_view reason);

  runtime::io_result read(std::span<char> into) override;
  runtime::io_result write(std::span<const std::string_view> pieces) override;
  void on_readable(ready_callback callback) override;
  void pause_reading() override;
  void resume_reading() override;
  void on_writable_once(ready_callback callback) override;
  void shutdown_write() override;
  void close() override;
  const runtime::endpoint& local() const override;
  const runtime::endpoint& peer() const override;

 private:
  struct core;
  std::shared_ptr<core> core_;
};

}  // namespace tern::server
