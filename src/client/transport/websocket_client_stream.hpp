// The client's end of a WebSocket as a byte stream: masked frames around what is written, none around what is read.
// Frames that the stream below has not taken are kept, bounded by one write.
//
// Owned by one connection on one loop.
#pragma once

#include "runtime/transport.hpp"

#include <memory>
#include <string>

namespace tern::client::detail {

class websocket_client_stream final : public runtime::byte_stream {
 public:
  // `compress` as agreed upon with the server; `already_read` came behind its answer.
  websocket_client_stream(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> below, bool compress,
                          std::string already_read);
  ~websocket_client_stream() override;

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

}  // namespace tern::client::detail
