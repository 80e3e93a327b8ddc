// The client's end of a WebSocket as a byte stream: masked frames around what is written, none around what is read.
// Frames that the stream below has not taken are kept, bounded by one write.
//
// Owned by one connection on one loop.
#pragma once

#include "runtime/stream_layer.hpp"

#include <memory>
#include <string>

namespace tern::client::detail {

class websocket_client_stream final : public runtime::layered_stream {
 public:
  // `compress` as agreed upon with the server; `already_read` came behind its answer.
  websocket_client_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below, bool compress,
                          std::string already_read);

 private:
  struct core;
};

}  // namespace tern::client::detail
