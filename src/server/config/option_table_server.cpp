// The options at the top of the file that are no blocks of their own.
#include "server/config/option_table.hpp"

namespace tern::server {
namespace {

using enum option_status;
using enum option_reload;

// clang-format off
constexpr option_info rows[] = {
    // --- the client port ---
    {"", "listen", "address or number", "0.0.0.0:4222", honoured, fixed, "`host:port`, or a port: both of the next two; ternd also takes a list of them and `unix:/path`"},
    {"", "host net", "text", "0.0.0.0", honoured, fixed, "the address to listen on"},
    {"", "port", "number", "4222", honoured, fixed, "the port of clients; -1 takes a free one"},
    {"", "server_name", "text", "the server id", honoured, fixed, "without blanks"},
    {"", "client_advertise", "address", "", honoured, applied, "what INFO tells clients as host and port"},
    {"", "tls", "map", "none", honoured, applied, "TLS on the client port: block `tls`"},
    {"", "allow_non_tls", "boolean", "false", honoured, fixed, "clients without TLS are served beside those with"},
    {"", "proxy_protocol", "boolean", "false", honoured, fixed, "connections begin with the PROXY protocol, version 1 or 2"},
    {"", "proxies", "map", "none", refused, none, "connections signed by proxies are not built: demand proxies with `proxy_required`"},
    // --- limits ---
    {"", "max_connections max_conn", "number", "65536", honoured, applied, "0 or less admits nobody; a reload closes those beyond it"},
    {"", "max_subscriptions max_subs", "number", "0: no limit", honoured, fixed, "of one connection"},
    {"", "max_sub_tokens max_subscription_tokens", "number", "0: no limit", honoured, fixed, "0 to 255: tokens of a subscription's subject"},
    {"", "max_control_line", "bytes", "4096", honoured, applied, "longest protocol line"},
    {"", "max_payload", "bytes", "1 MB", honoured, applied, "at most `max_pending`; a file stream also refuses a message above 32 MB"},
    {"", "max_pending", "bytes", "64 MB", honoured, fixed, "unsent bytes of a connection; beyond, it is a slow consumer and is closed"},
    {"", "max_closed_clients", "number", "10000", honoured, fixed, "closed connections that `/connz` remembers"},
    // --- timers ---
    {"", "ping_interval", "duration", "2m", honoured, applied, ""},
    {"", "ping_max", "number", "2", honoured, applied, "unanswered pings before a connection is closed as stale"},
    {"", "write_deadline", "duration", "10s", honoured, applied, "how long a write may make no progress"},
    {"", "write_timeout", "text", "default", honoured, fixed, "`default`, `close` or `retry`: `retry` keeps a client that took something"},
    {"", "lame_duck_duration", "duration", "2m", honoured, fixed, "at least 30s: over which lame duck mode closes the clients"},
    {"", "lame_duck_grace_period", "duration", "10s", honoured, fixed, "before the first one is closed; less than the duration"},
    // --- behaviour ---
    {"", "no_fast_producer_stall", "boolean", "false", honoured, applied, "never makes a publisher wait for a slow receiver"},
    {"", "no_header_support", "boolean", "false", honoured, fixed, ""},
    {"", "disable_sublist_cache no_sublist_cache", "boolean", "false", honoured, fixed, "looks every subject up anew"},
    {"", "mappings maps", "map", "none", honoured, applied, "subject mappings of the global account: block `mappings`"},
    // --- log ---
    {"", "debug", "boolean", "false", honoured, applied, "debug lines"},
    {"", "trace", "boolean", "false", honoured, applied, "traces the protocol of clients"},
    {"", "trace_verbose", "boolean", "false", honoured, applied, "traces also what the server's own clients do; switches `trace` on"},
    {"", "trace_headers", "boolean", "false", honoured, applied, "traces headers instead of payloads; switches `trace` on"},
    {"", "max_traced_msg_len", "number", "0: whole", honoured, applied, "longest payload in a trace"},
    {"", "logtime", "boolean", "true", honoured, applied, "timestamps"},
    {"", "logtime_utc", "boolean", "false", honoured, applied, "timestamps in UTC"},
    {"", "log_file logfile", "path", "standard error", honoured, applied, ""},
    {"", "log_size_limit logfile_size_limit", "bytes", "0: never", honoured, fixed, "rotates the file beyond that size"},
    {"", "log_max_num logfile_max_num", "number", "0: all", honoured, fixed, "rotated files that are kept"},
    {"", "syslog", "boolean", "false", honoured, applied, "logs to the system's log"},
    {"", "remote_syslog", "text", "none", honoured, applied, "logs to that syslog server: `udp://host:port`, `tcp://host:port` or `unix://path`"},
    {"", "connect_error_reports", "number", "3600", without_effect, none, "it is about links between servers"},
    {"", "reconnect_error_reports", "number", "1", without_effect, none, "it is about links between servers"},
    // --- files ---
    {"", "pid_file pidfile", "path", "none", honoured, applied, "holds the process id; stays after the end"},
    {"", "ports_file_dir", "path", "none", honoured, applied, "writes `<program>_<pid>.ports` with the addresses as JSON there; it goes with the process"},
    // --- monitoring ---
    {"", "http", "address or number", "none", honoured, fixed, "the monitoring port"},
    {"", "http_port monitor_port", "number", "none", honoured, fixed, "the same on the clients' host"},
    {"", "https", "address or number", "none", honoured, fixed, "the monitoring port over TLS, with the certificate of the `tls` block"},
    {"", "https_port", "number", "none", honoured, fixed, "the same on the clients' host"},
    {"", "http_base_path", "text", "none", honoured, fixed, "before every path"},
    {"", "server_tags", "text or array", "none", honoured, applied, "shown in `/varz` and in `$SYS`; lower case"},
    {"", "server_metadata", "map of texts", "none", honoured, applied, "shown in `/varz` and in `$SYS`"},
    {"", "feature_flags", "map of booleans", "none", honoured, fixed, "the peer's flags that switch a behaviour: shown in `/varz`; none changes anything here, which is warned about"},
    {"", "prof_port", "number", "none", refused, none, "it serves profiles of Go's runtime; profile with `perf`"},
    {"", "prof_block_rate", "number", "", without_effect, none, "it is about Go's runtime"},
    // --- JetStream ---
    {"", "jetstream", "boolean, text or map", "disabled", honoured, applied, "`enabled`, `disabled`, or block `jetstream`, which enables it"},
    {"", "store_dir storedir", "path", "", honoured, fixed, "that of the block `jetstream` where it has none"},
    {"", "default_js_domain", "map of texts", "none", honoured, fixed, "account to domain: which domain its clients mean without naming one"},
    // --- security ---
    {"", "authorization", "map", "none", honoured, applied, "block `authorization`: who may connect"},
    {"", "accounts", "map", "none", honoured, applied, "block `accounts.*`: subject spaces with their users"},
    {"", "no_auth_user", "text", "none", honoured, fixed, "the user of clients that give no credentials"},
    {"", "system_account system", "text", "$SYS", honoured, fixed, "the account of events and requests about the server"},
    {"", "no_system_account no_system no_sys_acc", "boolean", "false", honoured, fixed, "there is no system account"},
    {"", "operator operators root roots root_operator root_operators", "path, text or array", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "trusted trusted_keys", "text or array", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "resolver account_resolver", "text or map", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "resolver_preload", "map of texts", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "resolver_pinned_accounts", "text or array", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "resolver_tls", "map", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "default_sentinel", "text", "none", refused, none, "operator mode is not built: configure accounts and users"},
    {"", "ocsp", "boolean or map", "false", refused, none, "OCSP stapling is not built; rotate certificates with a reload"},
    {"", "ocsp_cache", "boolean or map", "", refused, none, "OCSP is not built"},
    // --- listeners and links ---
    {"", "websocket ws", "map", "none", honoured, fixed, "block `websocket`: clients over WebSocket"},
    {"", "leafnodes leaf", "map", "none", honoured, fixed, "block `leafnodes`: the port answers and refuses links, for leaf nodes are not built; `remotes` is refused"},
    {"", "cluster", "map", "none", refused, none, "ternd is one server. For several run an official NATS cluster: clients and services of Tern work with it unchanged"},
    {"", "gateway", "map", "none", refused, none, "ternd is one server. For several regions run official NATS clusters: clients and services of Tern work with them unchanged"},
    {"", "mqtt", "map", "none", refused, none, "MQTT is not built. Use a NATS client, or WebSocket (`websocket {}`)"},
};
// clang-format on

}  // namespace

std::span<const option_info> server_options() { return rows; }

}  // namespace tern::server
