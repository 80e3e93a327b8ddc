// What the server knows of listening beside its sockets: how a connection on the client port is opened, how fast new
// ones may come, and what INFO and monitoring say about it. Owned by the server; one shard.
#pragma once

#include "protocol/info.hpp"
#include "runtime/tls/tls_stream.hpp"
#include "server/config/options.hpp"
#include "server/transport/client_opening.hpp"

namespace tern::server {

class connection;
class json_builder;
struct connection_report;

// So many in each second of the clock, from the first of them on.
class rate_limit {
 public:
  // True when one more fits.
  bool take(std::int64_t per_second, time_point now);

 private:
  time_point began_{};
  std::int64_t taken_ = 0;
};

opening_plan plan_for_clients(const options& settings);
// TLS and WebSocket in INFO: tls_required and its kin, and host and port where they are the listener's own.
void add_listener_facts(protocol::server_info& to, const options& settings, const connection& whom);

// --- monitoring ---
void add_tls_of_varz(json_builder& to, const options& settings);
void add_tls_of_connection(json_builder& to, const connection_report& from, bool with_certificates);

}  // namespace tern::server
