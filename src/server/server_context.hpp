// What the connections of one server share. Owned by the server, outlives its connections; one shard.
#pragma once

#include "base/nuid.hpp"
#include "jetstream/environment.hpp"
#include "routing/account.hpp"
#include "runtime/host/log.hpp"
#include "runtime/shard.hpp"
#include "server/account_registry.hpp"
#include "server/config/options.hpp"
#include "server/connection/close_reason.hpp"
#include "server/connection/output_queue.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

class authenticator;
class connection;
class message_trace;

// The server, as its connections see it.
class connection_owner {
 public:
  virtual ~connection_owner() = default;
  // Appends the INFO line for this connection; `after_connect` asks for the second one (core 1, step 5).
  virtual void append_info(std::string& out, const connection& to, bool after_connect) = 0;
  // It has told who it is and was admitted.
  virtual void on_connected(connection& what) = 0;
  // Publishes what a trace has noted, in the account of the connection.
  virtual void publish_trace(const connection& of, const message_trace& what) = 0;
  // The connection is about to drop its subscriptions and to end. It stays alive until sweep time.
  virtual void on_closing(connection& what, close_reason why) = 0;
  // Nothing will happen to the connection any more: it may be destroyed at the end of the turn.
  virtual void on_finished(connection& what) = 0;
};

struct server_context {
  static constexpr std::size_t read_bytes = 64 << 10;
  // A connection writes before the turn ends when so much has gathered: more would only push what was gathered first
  // out of the processor's cache.
  static constexpr std::size_t early_flush_bytes = 64 << 10;
  // Payloads from this size on are shared by the receivers instead of copied to each.
  static constexpr std::size_t share_bytes = 8 << 10;

  server_context(runtime::shard& loop, const options& settings, runtime::host::logger& log, connection_owner& owner,
                 std::uint64_t seed)
      : loop(loop),
        settings(settings),
        log(log),
        owner(owner),
        accounts(seed),
        global_account(accounts.global().interest),
        ids(seed ^ 0x5bd1e995) {}

  runtime::shard& loop;
  const options& settings;
  runtime::host::logger& log;
  connection_owner& owner;

  account_registry accounts;
  authenticator* logins = nullptr;   // of the server; null until it starts
  routing::account& global_account;  // of `accounts`
  nuid_source ids;
  block_pool blocks;
  std::array<char, read_bytes> read_buffer;  // of whoever reads: parsing leaves nothing in it

  traffic totals;
  std::uint64_t slow_consumers = 0, stale_connections = 0, stalled_clients = 0;
  bool tracing = false;
  bool lame_duck = false;

  std::vector<connection*> dirty;    // have output that was not written yet
  std::vector<connection*> stalled;  // publishers that wait for a slow receiver

  // The publish at hand, so that its receivers share a large payload and a slow one can make the publisher wait.
  struct publish_in_progress {
    const connection* from = nullptr;
    message_trace* trace = nullptr;
    std::string_view body_and_crlf;
    std::string* buffer = nullptr;     // owns the body when it may be taken over
    shared_payload* shared = nullptr;  // holds one reference while it is set here
    connection* slow_receiver = nullptr;
  };
  publish_in_progress* publishing = nullptr;
  jetstream::publish_observer* observer = nullptr;  // the trace of that publish, for streams

  time_point now() const { return loop.now(); }
};

}  // namespace tern::server
