// /connz: connections, open and closed (core 5, 5.2).
#include "server/monitoring/connection_report.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/monitoring/monitor.hpp"
#include "server/server.hpp"
#include "server/transport/listening.hpp"

#include "base/go_duration.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace tern::server {
namespace {

enum class wanted_state { open, closed, all };

struct connz_request {
  std::string sort;
  wanted_state state = wanted_state::open;
  bool subscriptions = false, details = false, authorization = false;
  std::int64_t offset = 0, limit = 1024;
  std::uint64_t id = 0;
  std::string account, user;
};

using order = std::function<bool(const connection_report&, const connection_report&)>;

template <class Key>
order descending(Key key) {
  return [key](const connection_report& a, const connection_report& b) {
    return std::invoke(key, a) > std::invoke(key, b);
  };
}
template <class Key>
order ascending(Key key) {
  return [key](const connection_report& a, const connection_report& b) {
    return std::invoke(key, a) < std::invoke(key, b);
  };
}

order order_of(const connz_request& asked, http_query& query, time_point now) {
  const std::string& by = asked.sort;
  const auto ended = [now](const connection_report& one) { return one.stop.value_or(now); };
  if (by.empty() || by == "cid") return ascending(&connection_report::id);
  if (by == "start") return ascending(&connection_report::start);
  if (by == "subs") return descending(&connection_report::subscription_count);
  if (by == "pending") return descending(&connection_report::pending_bytes);
  if (by == "msgs_to") return descending([](const connection_report& one) { return one.counts.out_messages; });
  if (by == "msgs_from") return descending([](const connection_report& one) { return one.counts.in_messages; });
  if (by == "bytes_to") return descending([](const connection_report& one) { return one.counts.out_bytes; });
  if (by == "bytes_from") return descending([](const connection_report& one) { return one.counts.in_bytes; });
  if (by == "last") return descending(&connection_report::last_activity);
  if (by == "idle") return ascending(&connection_report::last_activity);
  if (by == "uptime") return ascending([ended](const connection_report& one) { return ended(one) - one.start; });
  if (by == "rtt") return descending(&connection_report::round_trip);
  if (by == "stop" || by == "reason") {
    if (asked.state != wanted_state::closed) {
      query.refuse("sort by " + by + " only valid on closed connections");
      return {};
    }
    if (by == "stop") return descending(ended);
    return ascending([](const connection_report& one) { return to_word(*one.reason); });
  }
  query.refuse("invalid sorting option: " + by);
  return {};
}

connz_request read_request(http_query& query) {
  connz_request out;
  out.sort = query.text("sort");
  const std::string subscriptions = query.text("subs");
  out.details = subscriptions.size() == 6 && std::ranges::equal(subscriptions, std::string_view("detail"),
                                                                [](char a, char b) { return (a | 0x20) == b; });
  if (!out.details) out.subscriptions = query.boolean("subs");
  out.authorization = query.boolean("auth");
  out.user = query.text("user");
  out.offset = std::max<std::int64_t>(0, query.integer("offset"));
  if (const std::int64_t limit = query.integer("limit"); limit > 0) out.limit = limit;
  out.id = query.unsigned_integer("cid");
  if (out.id != 0) out.limit = 1;
  out.account = query.text("acc");
  const std::string state = query.text("state");
  if (state.empty() || state == "open")
    out.state = wanted_state::open;
  else if (state == "closed")
    out.state = wanted_state::closed;
  else if (state == "any" || state == "all")
    out.state = wanted_state::all;
  else
    query.refuse("Error decoding state for " + state);
  return out;
}

void add_subscriptions(json_builder& out, const connection_report& one, const connz_request& asked) {
  if (one.subscriptions.empty()) return;
  if (asked.details) {
    out.begin_array("subscriptions_list_detail");
    for (const subscription_report& sub : one.subscriptions) {
      out.begin_object();
      if (one.stop) out.field("account", "$G").field("account_tag", "$G");
      out.field("subject", sub.subject).field_unless_empty("qgroup", sub.queue).field("sid", sub.sid);
      out.field("msgs", sub.delivered).field_unless_empty("max", sub.maximum).field("cid", sub.connection).end_object();
    }
    out.end_array();
  } else if (asked.subscriptions) {
    out.begin_array("subscriptions_list");
    for (const subscription_report& sub : one.subscriptions) out.element(sub.subject);
    out.end_array();
  }
}

void add_connection(json_builder& out, const connection_report& one, const connz_request& asked, time_point now) {
  const time_point until = one.stop.value_or(now);
  out.begin_object().field("cid", one.id).field("kind", "Client").field("type", one.websocket ? "websocket" : "nats");
  out.field("ip", one.ip).field("port", one.port);
  out.field("start", one.start).field("last_activity", one.last_activity);
  if (one.stop) out.field("stop", *one.stop);
  if (one.reason) out.field("reason", to_word(*one.reason));
  if (one.round_trip > nanoseconds(0)) out.field("rtt", to_go_duration(one.round_trip));
  out.field("uptime", friendly_uptime(until - one.start)).field("idle", friendly_uptime(until - one.last_activity));
  out.field("pending_bytes", one.pending_bytes);
  out.field("in_msgs", one.counts.in_messages).field("out_msgs", one.counts.out_messages);
  out.field("in_bytes", one.counts.in_bytes).field("out_bytes", one.counts.out_bytes);
  out.field_unless_empty("stalls", one.stalls);
  out.field("subscriptions", one.subscription_count);
  out.field_unless_empty("name", one.name).field_unless_empty("lang", one.language);
  out.field_unless_empty("version", one.version);
  add_tls_of_connection(out, one, asked.authorization);
  if (asked.authorization && !one.stop) out.field("name_tag", "$G");
  add_subscriptions(out, one, asked);
  out.end_object();
}

}  // namespace

http_answer connz(server& from, http_query& query) {
  const connz_request asked = read_request(query);
  const time_point now = from.loop().now();
  const order sorted = order_of(asked, query, now);
  if (query.problem()) return http_answer::text(400, *query.problem());

  const bool known_account = asked.account.empty() || asked.account == from.global_account().name();
  const std::size_t listed = asked.subscriptions || asked.details ? std::numeric_limits<std::size_t>::max() : 0;
  std::vector<connection_report> all;
  if (known_account && asked.state != wanted_state::closed)
    for (const auto& [id, one] : from.connections()) all.push_back(report_on(*one, listed));
  // The ring stores no account name for $G, so that a filter on it finds nothing (core 5).
  if (asked.account.empty() && asked.state != wanted_state::open)
    all.insert(all.end(), from.closed().all().begin(), from.closed().all().end());
  const std::size_t total = all.size();
  if (!asked.user.empty()) all.clear();  // nobody has a user name
  if (asked.id != 0) std::erase_if(all, [&asked](const connection_report& one) { return one.id != asked.id; });
  std::ranges::stable_sort(all, sorted);

  const std::size_t begin = std::min(all.size(), static_cast<std::size_t>(asked.offset));
  const std::size_t end = begin + std::min(all.size() - begin, static_cast<std::size_t>(asked.limit));
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", now).field("num_connections", end - begin);
  out.field("total", total).field("offset", asked.offset).field("limit", asked.limit);
  if (known_account) {
    out.begin_array("connections");
    for (std::size_t at = begin; at < end; ++at) add_connection(out, all[at], asked, now);
    out.end_array();
  } else {
    out.raw("connections", "null");
  }
  out.end_object();
  return http_answer::json(out.text());
}

}  // namespace tern::server
