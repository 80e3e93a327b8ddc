// /connz: connections, open and closed (core 5, 5.2).
#include "server/monitoring/connection_report.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"
#include "server/transport/listening.hpp"

#include "base/go_duration.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

namespace tern::server {
namespace {

constexpr std::string_view global_name = "$G";

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

result<order> order_of(const connz_options& asked, time_point now) {
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
    if (connection_state(asked.state) != connection_state::closed)
      return fail(errc::invalid_argument, "sort by " + by + " only valid on closed connections");
    if (by == "stop") return descending(ended);
    return ascending([](const connection_report& one) { return to_word(*one.reason); });
  }
  return fail(errc::invalid_argument, "invalid sorting option: " + by);
}

bool has_subject(const connection_report& one, std::string_view filter) {
  return std::ranges::any_of(
      one.subscriptions, [filter](const subscription_report& sub) { return protocol::is_subset(sub.subject, filter); });
}

void add_subscriptions(json_builder& out, const connection_report& one, const connz_options& asked) {
  if (one.subscriptions.empty()) return;
  if (asked.subscriptions_detail) {
    out.begin_array("subscriptions_list_detail");
    for (const subscription_report& sub : one.subscriptions) {
      out.begin_object();
      if (one.stop) out.field("account", one.account).field("account_tag", one.account);
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

void add_connection(json_builder& out, const connection_report& one, const connz_options& asked, time_point now) {
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
  add_tls_of_connection(out, one, asked.auth);
  if (asked.auth) {
    out.field_unless_empty("authorized_user", one.user);
    if (one.account != global_name) out.field("account", one.account);
    if (!one.stop) out.field("name_tag", one.account);
  }
  add_subscriptions(out, one, asked);
  out.end_object();
}

}  // namespace

endpoint_answer connz(server& from, const connz_options& asked) {
  constexpr std::int64_t default_limit = 1024;
  const time_point now = from.loop().now();
  const auto sorted = order_of(asked, now);
  if (!sorted) return endpoint_answer::refusal(sorted.error().context());
  const auto state = static_cast<connection_state>(asked.state);
  const std::int64_t offset = std::max<std::int64_t>(0, asked.offset);
  const std::int64_t limit = asked.cid != 0 ? 1 : asked.limit > 0 ? asked.limit : default_limit;

  const bool known_account = asked.acc.empty() || from.context().accounts.find(asked.acc) != nullptr;
  const auto in_account = [&asked](const connection_report& one) {
    return asked.acc.empty() || one.account == asked.acc;
  };
  const bool with_subscriptions = asked.subscriptions || asked.subscriptions_detail || !asked.filter_subject.empty();
  const std::size_t listed = with_subscriptions ? std::numeric_limits<std::size_t>::max() : 0;
  std::vector<connection_report> all;
  if (known_account && state != connection_state::closed)
    for (const auto& [id, one] : from.connections())
      if (asked.acc.empty() || one->account().name() == asked.acc) all.push_back(report_on(*one, listed));
  // The ring stores no account name for $G, so that a filter on it finds nothing (core 5).
  if (asked.acc != global_name && state != connection_state::open)
    std::ranges::copy_if(from.closed().all(), std::back_inserter(all), in_account);
  const std::size_t total = all.size();
  if (!asked.user.empty())
    std::erase_if(all, [&asked](const connection_report& one) { return one.user != asked.user; });
  if (!asked.filter_subject.empty())
    std::erase_if(all, [&asked](const connection_report& one) { return !has_subject(one, asked.filter_subject); });
  if (asked.cid != 0) std::erase_if(all, [&asked](const connection_report& one) { return one.id != asked.cid; });
  std::ranges::stable_sort(all, *sorted);

  const std::size_t begin = std::min(all.size(), static_cast<std::size_t>(offset));
  const std::size_t end = begin + std::min(all.size() - begin, static_cast<std::size_t>(limit));
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", now).field("num_connections", end - begin);
  out.field("total", total).field("offset", offset).field("limit", limit);
  if (known_account) {
    out.begin_array("connections");
    for (std::size_t at = begin; at < end; ++at) add_connection(out, all[at], asked, now);
    out.end_array();
  } else {
    out.raw("connections", "null");
  }
  out.end_object();
  return {.body = out.text()};
}

}  // namespace tern::server
