// The parameters of a request target as the options of an endpoint (core 5).
#include "server/monitoring/monitor.hpp"

#include <algorithm>

namespace tern::server {
namespace {

// `subs` is a boolean, or the word for more.
void read_subscriptions(http_query& query, bool& list, bool& details) {
  const std::string asked = query.text("subs");
  details = asked.size() == 6 &&
            std::ranges::equal(asked, std::string_view("detail"), [](char a, char b) { return (a | 0x20) == b; });
  if (!details) list = query.boolean("subs");
}

}  // namespace

connz_options connz_from(http_query& query) {
  connz_options out;
  out.sort = query.text("sort");
  out.auth = query.boolean("auth");
  read_subscriptions(query, out.subscriptions, out.subscriptions_detail);
  out.offset = query.integer("offset");
  out.limit = query.integer("limit");
  out.cid = query.unsigned_integer("cid");
  out.mqtt_client = query.text("mqtt_client");
  out.user = query.text("user");
  out.acc = query.text("acc");
  const std::string state = query.text("state");
  if (state == "closed")
    out.state = static_cast<std::int64_t>(connection_state::closed);
  else if (state == "any" || state == "all")
    out.state = static_cast<std::int64_t>(connection_state::all);
  else if (!state.empty() && state != "open")
    query.refuse("Error decoding state for " + state);
  return out;
}

subsz_options subsz_from(http_query& query) {
  subsz_options out;
  out.subscriptions = query.boolean("subs");
  out.offset = query.integer("offset");
  out.limit = query.integer("limit");
  out.test = query.text("test");
  out.account = query.text("acc");
  return out;
}

accstatz_options accstatz_from(http_query& query) {
  accstatz_options out;
  out.include_unused = query.boolean("unused");
  return out;
}

leafz_options leafz_from(http_query& query) {
  leafz_options out;
  out.subscriptions = query.boolean("subs");
  out.account = query.text("acc");
  return out;
}

jsz_options jsz_from(http_query& query) {
  jsz_options out;
  out.accounts = query.boolean("accounts");
  out.streams = query.boolean("streams");
  out.consumer = query.boolean("consumers");
  out.direct_consumer = query.boolean("direct-consumers");
  out.config = query.boolean("config");
  out.offset = query.integer("offset");
  out.limit = query.integer("limit");
  out.leader_only = query.boolean("leader-only");
  out.raft = query.boolean("raft");
  out.stream_leader_only = query.boolean("stream-leader-only");
  out.account = query.text("acc");
  return out;
}

healthz_options healthz_from(http_query& query) {
  healthz_options out;
  out.js_enabled = query.boolean("js-enabled");
  out.js_enabled_only = query.boolean("js-enabled-only");
  out.js_server_only = query.boolean("js-server-only");
  out.js_meta_only = query.boolean("js-meta-only");
  out.details = query.boolean("details");
  out.account = query.text("account");
  out.stream = query.text("stream");
  out.consumer = query.text("consumer");
  return out;
}

}  // namespace tern::server
