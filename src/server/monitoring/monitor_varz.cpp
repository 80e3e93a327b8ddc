// /varz: the server as a whole (core 5.1).
#include "server/jetstream_host.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/monitoring/monitor.hpp"
#include "server/server.hpp"
#include "server/system/accounts_view.hpp"
#include "server/transport/leaf_door.hpp"
#include "server/transport/listening.hpp"
#include "server/websocket/websocket_door.hpp"

#include "protocol/info.hpp"
#include "runtime/host/process.hpp"

#include <algorithm>

namespace tern::server {
namespace {

void add_kinds(json_builder& out, std::string_view key, std::uint64_t clients) {
  out.begin_object(key)
      .field("clients", clients)
      .field("routes", 0)
      .field("gateways", 0)
      .field("leafs", 0)
      .end_object();
}

void add_identity(json_builder& out, server& from) {
  const options& settings = from.settings();
  const runtime::endpoint* local = from.client_endpoint();
  out.field("server_id", from.id()).field("server_name", from.name());
  out.field("version", protocol::compatible_version).field("proto", 1).field("git_commit", "tern");
  out.field("go", "go1.27.2").field("tern_version", TERN_VERSION);
  out.field("host", settings.host).field("port", local != nullptr ? static_cast<int>(local->port) : 0);
}

void add_limits(json_builder& out, server& from) {
  const options& settings = from.settings();
  out.field("max_connections", settings.max_connections);
  out.field_unless_empty("max_subscriptions", settings.max_subscriptions);
  out.field("ping_interval", settings.ping_interval.count()).field("ping_max", settings.ping_max);
  out.field("http_host", settings.http_host.empty() ? settings.host : settings.http_host);
  const runtime::endpoint* monitor = from.monitor_endpoint();
  const bool secure = settings.https_port != 0;
  const int port = monitor != nullptr ? static_cast<int>(monitor->port) : settings.http_port;
  out.field("http_port", secure ? 0 : port);
  out.field("http_base_path", settings.http_base_path)
      .field("https_port", secure ? port : 0)
      .field("auth_timeout", std::chrono::duration<double>(from.logins().timeout()).count());
  if (from.logins().login_required()) out.field("auth_required", true);
  out.field("max_control_line", settings.max_control_line).field("max_payload", settings.max_payload);
  out.field("max_pending", settings.max_pending);
  for (const char* other : {"cluster", "gateway", "mqtt"}) out.begin_object(other).end_object();
  add_leafnodes_of_varz(out, settings, from.leafnode_endpoint());
  add_websocket_of_varz(out, settings, from.websocket_endpoint());
  out.begin_object("jetstream");
  if (from.jetstream_services() != nullptr) out.raw({}, jetstream_summary(from));
  out.end_object();
  add_tls_of_varz(out, settings);
  out.field("write_deadline", settings.write_deadline.count());
}

void add_figures(json_builder& out, server& from) {
  const server_context& state = from.context();
  const traffic& totals = state.totals;
  const time_point now = from.loop().now();
  out.field("start", from.started()).field("now", now).field("uptime", friendly_uptime(now - from.started()));
  out.field("mem", runtime::host::resident_bytes()).field("cores", runtime::host::core_count());
  out.field("gomaxprocs", 1);
  out.field("cpu", from.processor_percent());
  out.field("connections", from.connections().size()).field("total_connections", from.total_connections());
  out.field("routes", 0).field("remotes", 0).field("leafnodes", 0);
  out.field("in_msgs", totals.in_messages).field("in_bytes", totals.in_bytes);
  out.field("in_client_msgs", totals.in_messages).field("in_client_bytes", totals.in_bytes);
  out.field("out_msgs", totals.out_messages).field("out_bytes", totals.out_bytes);
  out.field("out_client_msgs", totals.out_messages).field("out_client_bytes", totals.out_bytes);
  out.field("slow_consumers", state.slow_consumers).field("stale_connections", state.stale_connections);
  out.field("stalled_clients", state.stalled_clients);
  out.field("subscriptions", total_subscriptions(from));
}

}  // namespace

endpoint_answer varz(server& from, const std::map<std::string, std::uint64_t>& request_counts) {
  const options& settings = from.settings();
  json_builder out;
  out.begin_object();
  add_identity(out, from);
  add_limits(out, from);
  add_figures(out, from);
  out.begin_object("http_req_stats");
  for (const auto& [path, count] : request_counts) out.field(path, count);
  out.end_object();
  out.field("config_load_time", from.config_loaded()).field("config_digest", settings.config_digest);
  if (!settings.tags.empty()) {
    out.begin_array("tags");
    for (const std::string& tag : settings.tags) out.element(tag);
    out.end_array();
  }
  if (!settings.metadata.empty()) {
    out.begin_object("metadata");
    for (const auto& [key, value] : settings.metadata) out.field(key, value);
    out.end_object();
  }
  out.begin_object("feature_flags");
  for (const auto& [flag, on] : feature_flags_of(settings)) out.field(flag, on);
  out.end_object();
  out.field_unless_empty("system_account", system_account_name(from));
  add_kinds(out, "slow_consumer_stats", from.context().slow_consumers);
  add_kinds(out, "stale_connection_stats", from.context().stale_connections);
  const runtime::disk_waits waits = from.disk_waits();
  out.begin_object("disk_io_wait_stats").field("waiters", waits.waiting).field("waits", waits.done);
  out.field("wait_time", waits.total.count()).field("max_wait_time", waits.longest.count()).end_object();
  out.end_object();
  return {.body = out.text()};
}

}  // namespace tern::server
