// The leaf node port: says INFO as a hub does, hears CONNECT, tells mistakes in the peer's words, and refuses the link
// with a clear error, for leaf nodes are not built (core 10.1).
//
// Owned by the server; one shard. Bounded: so many sessions, each with a deadline and short lines.
#pragma once

#include "base/timer_queue.hpp"
#include "protocol/info.hpp"
#include "runtime/host/log.hpp"
#include "runtime/tls/tls_stream.hpp"
#include "runtime/transport.hpp"
#include "server/config/options.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tern::server {

class json_builder;

class leaf_door {
 public:
  static constexpr std::size_t sessions_max = 256;
  // What every INFO of this server says; and a number for the new connection.
  using describe = std::function<protocol::server_info()>;
  using next_id = std::function<std::uint64_t()>;

  leaf_door(runtime::shard& loop, const options& settings, runtime::handshake_gate& gate, runtime::host::logger& log,
            describe server, next_id ids);
  ~leaf_door();

  result<void> open(runtime::transport& network);
  const runtime::endpoint& local() const { return listener_->local(); }
  bool listening() const { return listener_ != nullptr; }
  void close() { listener_.reset(); }

 private:
  class session;
  void sweep();

  runtime::shard& loop_;
  const options& settings_;
  runtime::handshake_gate& gate_;
  runtime::host::logger& log_;
  describe describe_;
  next_id next_id_;
  std::unique_ptr<runtime::listener> listener_;
  std::vector<std::unique_ptr<session>> sessions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void add_leafnodes_of_varz(json_builder& to, const options& settings, const runtime::endpoint* local);

}  // namespace tern::server
