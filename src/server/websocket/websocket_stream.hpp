// The server's end of a WebSocket as a byte stream: frames around what is written, none around what is read.
// Uncompressed output is framed where it lies; only compressed frames and those that the stream below has not taken are
// kept.
//
// Owned by one connection on one shard.
#pragma once

#include "protocol/websocket/decoder.hpp"
#include "runtime/stream_layer.hpp"

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

class websocket_stream final : public runtime::layered_stream {
 public:
  // `answer` goes out before the first frame, `already_read` came before.
  websocket_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below, websocket_settings settings,
                   std::string answer, std::string already_read);

  // What the close frame of shutdown_write() will say.
  void set_farewell(protocol::websocket_close code, std::string_view reason);

 private:
  struct core;
  core& own() const;
};

}  // namespace tern::server
