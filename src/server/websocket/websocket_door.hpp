// The WebSocket listener: TLS where it is asked for, the HTTP request, its checks and its answer. What passes goes to
// the server as a connection whose stream speaks frames already (core 8).
//
// Owned by the server; one shard. Bounded: so many requests at a time, each with a deadline and a length.
#pragma once

#include "base/timer_queue.hpp"
#include "protocol/websocket/upgrade.hpp"
#include "runtime/host/log.hpp"
#include "runtime/tls/tls_stream.hpp"
#include "runtime/transport.hpp"
#include "server/config/options.hpp"
#include "server/transport/connection_front.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tern::server {

class json_builder;

// Why a page may not connect, from its Origin (core 8); none: it may.
std::optional<std::string> origin_refusal(const websocket_options& settings, const protocol::upgrade_request& request,
                                          bool over_tls);

class websocket_door {
 public:
  static constexpr std::size_t pending_max = 1024;  // requests that are not answered yet
  using admit = std::function<void(std::unique_ptr<runtime::byte_stream>, std::unique_ptr<connection_front>)>;

  // `settings` are looked at for each request, so that a reload holds for the next one.
  websocket_door(runtime::shard& loop, const options& settings, runtime::handshake_gate& gate,
                 runtime::host::logger& log, admit to);
  ~websocket_door();

  result<void> open(runtime::transport& network);
  bool listening() const { return listener_ != nullptr; }
  const runtime::endpoint& local() const { return listener_->local(); }
  void close() { listener_.reset(); }  // accepts no more; what was accepted goes on

 private:
  class request;
  void sweep();

  runtime::shard& loop_;
  const options& settings_;
  runtime::handshake_gate& gate_;
  runtime::host::logger& log_;
  admit admit_;
  std::unique_ptr<runtime::listener> listener_;
  std::vector<std::unique_ptr<request>> pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void add_websocket_of_varz(json_builder& to, const options& settings, const runtime::endpoint* local);

}  // namespace tern::server
