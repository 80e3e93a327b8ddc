// From a fresh socket to a stream that speaks the protocol: TLS, or the upgrade to a WebSocket, or one in the other.
//
// Owned by the connection that dials; one loop. Its callback runs at most once, not inside the call that asked for it,
// and may destroy it. Who owns it limits the time.
#pragma once

#include "base/timer_queue.hpp"
#include "client/server_list.hpp"
#include "runtime/tls/tls_stream.hpp"

#include <tern/client/options.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tern::client::detail {

// The context for what the options say of TLS; reads the files that they name.
result<std::shared_ptr<const runtime::tls_context>> make_client_context(const options::values& with);

class stream_opening {
 public:
  using done_callback = std::move_only_function<void(result<std::unique_ptr<runtime::byte_stream>>)>;

  stream_opening(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> stream, const server_address& server,
                 const options::values& with, done_callback done);

  // TLS over what there is.
  void begin_tls(std::shared_ptr<const runtime::tls_context> context);
  // A WebSocket, within TLS when there is a context.
  void begin_websocket(std::shared_ptr<const runtime::tls_context> context);

 private:
  void secure(std::shared_ptr<const runtime::tls_context> context, std::move_only_function<void()> then);
  void ask();
  void on_readable();
  void look();
  void finish(result<std::unique_ptr<runtime::byte_stream>> outcome);

  runtime::shard& loop_;
  std::unique_ptr<runtime::byte_stream> stream_;
  const server_address server_;
  const options::values& with_;
  done_callback done_;
  timer_queue::timer next_;  // goes on outside the stream's callback
  std::string key_, bytes_, request_;
};

}  // namespace tern::client::detail
