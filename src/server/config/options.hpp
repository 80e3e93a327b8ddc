// Everything that a server can be told (core 4.2, 4.5): filled by the configuration reader, the command line, or an
// embedding program. Plain values; checked by check_options().
#pragma once

#include "runtime/transport.hpp"
#include "server/config/leafnode_options.hpp"
#include "server/config/security_options.hpp"
#include "server/config/tls_options.hpp"
#include "server/config/websocket_options.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tern::server {

inline constexpr int ephemeral_port = -1;
inline constexpr int no_tcp_port = -2;  // clients come by Unix sockets alone

enum class write_timeout_policy { default_policy, close, retry };

struct jetstream_options {
  bool enabled = false;
  std::string store_directory;   // its streams live in "<store_directory>/jetstream"
  std::int64_t max_memory = -1;  // -1: worked out from the machine
  std::int64_t max_storage = -1;
  std::string domain;
  bool strict = true;
  std::optional<nanoseconds> sync_interval;  // absent or "always": every batch is synced before it is acknowledged
  std::int64_t max_ack_pending = -1;
  std::int64_t max_request_batch = -1;
  nanoseconds duplicate_window{0};
  // Batch publishes; 0: the engine's own bound.
  std::int64_t batch_inflight_per_stream = 0, batch_inflight_total = 0, batch_messages = 0;
  nanoseconds batch_timeout{0};
  // Publishes of one stream that wait for the disk; 0: the engine's own bound.
  std::int64_t max_buffered_messages = 0, max_buffered_bytes = 0;
};

struct options {
  // --- the listener ---
  std::string host = "0.0.0.0";
  int port = 4222;
  // Where else clients may come: further addresses, and paths of Unix sockets. Ternd's own, from a list in `listen`.
  std::vector<runtime::endpoint> also_listen;
  std::string server_name;        // empty: the server id
  std::string client_advertise;   // host:port
  std::string in_process_name;    // a name on the in-process network to listen on; empty: none
  bool listen_on_network = true;  // false: in-process connections only

  security_options security;           // who may connect, and accounts

  // --- how bytes come (core 1.5 to 1.7, 8) ---
  std::optional<tls_options> tls;  // of the client port, and of https monitoring
  bool allow_non_tls = false;
  bool proxy_protocol = false;
  websocket_options websocket;
  leafnode_options leafnodes;
  tls_flags tls_from_flags;

  // --- limits ---
  std::int64_t max_connections = 65536;  // 0 or less, when asked for, admits nobody
  std::int64_t max_subscriptions = 0;    // per connection; 0: unlimited
  int max_subscription_tokens = 0;
  std::int64_t max_control_line = 4096;
  std::int64_t max_payload = 1 << 20;  // -1: unlimited
  std::int64_t max_pending = 64 << 20;
  std::int64_t max_closed_clients = 10'000;

  // --- timers ---
  nanoseconds ping_interval = std::chrono::minutes(2);
  int ping_max = 2;
  nanoseconds write_deadline = std::chrono::seconds(10);
  write_timeout_policy write_timeout = write_timeout_policy::default_policy;
  nanoseconds lame_duck_duration = std::chrono::minutes(2);
  nanoseconds lame_duck_grace_period = std::chrono::seconds(10);

  // --- behaviour ---
  bool no_fast_producer_stall = false;
  bool disable_interest_cache = false;
  bool no_header_support = false;

  // --- monitoring ---
  std::string http_host;  // empty: as host
  int http_port = 0;      // 0: none
  int https_port = 0;     // 0: none; not both
  std::string http_base_path;

  // --- logging ---
  bool debug = false, trace = false, trace_verbose = false, trace_headers = false;
  bool log_time = true, log_time_utc = false;
  std::string log_file;
  std::int64_t log_size_limit = 0;
  std::int64_t log_max_files = 0;
  std::int64_t max_traced_message = 0;  // 0: whole messages
  bool syslog = false;
  std::string remote_syslog;  // udp://host:port, tcp://host:port or unix://path; empty: none

  // --- files ---
  std::string pid_file;
  std::string ports_file_directory;
  std::string config_file;
  std::string config_digest;  // "sha256:<hex>" of the parsed file

  // --- for monitoring ---
  std::vector<std::string> tags;
  std::map<std::string, std::string> metadata;
  std::map<std::string, bool> feature_flags;

  jetstream_options jetstream;
  std::string store_directory;  // where jetstream's is not given
};

// The checks that involve several options, with the peer's texts.
result<void> check_options(const options& what);

// The peer's feature flags, as far as they are about one server, with what the options say of them.
std::map<std::string, bool> feature_flags_of(const options& what);

// How many of a connection's unsent bytes make its publishers wait.
constexpr std::int64_t stall_threshold(const options& what) { return what.max_pending / 4 * 3; }

}  // namespace tern::server
