// /subsz, /accountz and /accstatz: interest and accounts (core 5).
#include "server/connection/connection.hpp"
#include "server/jetstream_host.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"
#include "server/system/accounts_view.hpp"

#include "protocol/subject.hpp"

#include <algorithm>
#include <vector>

namespace tern::server {
namespace {

void add_statistics(json_builder& out, const routing::interest_statistics& seen) {
  out.field("num_subscriptions", seen.subscriptions).field("num_cache", seen.cache_entries);
  out.field("num_inserts", seen.inserts).field("num_removes", seen.removes).field("num_matches", seen.matches);
  const double hits = seen.matches == 0 ? 0 : static_cast<double>(seen.cache_hits) / static_cast<double>(seen.matches);
  out.field("cache_hit_rate", hits).field("max_fanout", seen.maximum_fanout).field("avg_fanout", seen.average_fanout);
}

routing::interest_statistics sum_of(const std::vector<account_view>& accounts) {
  routing::interest_statistics sum;
  double cached = 0;
  for (const account_view& one : accounts) {
    const routing::interest_statistics seen = one.interest->statistics();
    sum.subscriptions += seen.subscriptions, sum.cache_entries += seen.cache_entries;
    sum.inserts += seen.inserts, sum.removes += seen.removes;
    sum.matches += seen.matches, sum.cache_hits += seen.cache_hits;
    sum.maximum_fanout = std::max(sum.maximum_fanout, seen.maximum_fanout);
    cached += seen.average_fanout * static_cast<double>(seen.cache_entries);
  }
  if (sum.cache_entries != 0) sum.average_fanout = cached / static_cast<double>(sum.cache_entries);
  return sum;
}

std::uint64_t client_id_of(const routing::subscription& one) {
  const auto* client = dynamic_cast<const connection*>(one.to);
  return client != nullptr ? client->id() : 0;
}

void add_traffic(json_builder& out, std::string_view key, std::uint64_t messages, std::uint64_t bytes) {
  out.begin_object(key).field("msgs", messages).field("bytes", bytes);
  for (const char* link : {"gateways", "routes", "leafs"})
    out.begin_object(link).field("msgs", 0).field("bytes", 0).end_object();
  out.end_object();
}

// What every account may ask the system account about itself (core 3.4).
void add_system_imports(json_builder& out, const account_view& of, const std::string& system) {
  const auto add = [&](const std::string& subject, const std::string& local, bool share) {
    out.begin_object().field("subject", subject).field("account", system).field("to", local);
    out.field("local_subject", local).field("type", "service").field("invalid", false).field("share", share);
    out.field("tracking", false).end_object();
  };
  out.begin_array("imports");
  if (!of.is_system) {
    add("$SYS.REQ.ACCOUNT." + of.name + ".CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", false);
    add("$SYS.REQ.ACCOUNT." + of.name + ".CONNZ", "$SYS.REQ.SERVER.PING.CONNZ", false);
    add("$SYS.REQ.ACCOUNT." + of.name + ".STATZ", "$SYS.REQ.ACCOUNT.PING.STATZ", false);
  }
  add("$SYS.REQ.USER." + of.name + ".INFO", "$SYS.REQ.USER.INFO", true);
  out.end_array();
}

struct listed_subscription {
  const account_view* of;
  const routing::subscription* what;
};

void add_subscription(json_builder& out, const listed_subscription& listed) {
  const routing::subscription& one = *listed.what;
  out.begin_object().field("account", listed.of->name).field("account_tag", listed.of->name);
  out.field("subject", one.subject).field_unless_empty("qgroup", one.queue).field("sid", one.sid);
  out.field("msgs", one.delivered).field_unless_empty("max", one.maximum).field("cid", client_id_of(one)).end_object();
}

}  // namespace

endpoint_answer subsz(server& from, const subsz_options& asked) {
  constexpr std::int64_t default_limit = 1024;
  const std::int64_t offset = std::max<std::int64_t>(0, asked.offset);
  const std::int64_t limit = asked.limit > 0 ? asked.limit : default_limit;
  if (!asked.test.empty() && !protocol::is_valid_literal(asked.test))
    return endpoint_answer::refusal("invalid test subject, must be valid publish subject: " + asked.test);

  std::vector<account_view> accounts = account_views(from);
  if (!asked.account.empty())
    std::erase_if(accounts, [&asked](const account_view& one) { return one.name != asked.account; });
  std::vector<listed_subscription> found;
  if (asked.subscriptions) {
    for (const account_view& account : accounts)
      account.interest->for_each_subscription([&](const routing::subscription& one) {
        if (asked.test.empty() || protocol::subject_matches(one.subject, asked.test)) found.push_back({&account, &one});
      });
  }
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  add_statistics(out, sum_of(accounts));
  out.field("total", found.size()).field("offset", offset).field("limit", limit);
  const std::size_t begin = std::min(found.size(), static_cast<std::size_t>(offset));
  const std::size_t end = begin + std::min(found.size() - begin, static_cast<std::size_t>(limit));
  if (begin != end) {
    out.begin_array("subscriptions_list");
    for (std::size_t at = begin; at < end; ++at) add_subscription(out, found[at]);
    out.end_array();
  }
  out.end_object();
  return {.body = out.text()};
}

endpoint_answer accountz(server& from, const accountz_options& asked) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  out.field_unless_empty("system_account", system_account_name(from));
  if (asked.account.empty()) {
    out.begin_array("accounts");
    for (const account_view& one : account_views(from)) out.element(one.name);
    out.end_array();
  } else {
    const endpoint_answer detail = account_detail(from, asked.account);
    if (!detail.good()) return detail;
    out.raw("account_detail", detail.body);
  }
  out.end_object();
  return {.body = out.text()};
}

endpoint_answer account_detail(server& from, std::string_view account) {
  const auto seen = account_view_of(from, account);
  if (!seen) return endpoint_answer::refusal("Account " + std::string(account) + " does not exist");
  const jetstream_host* host = from.jetstream_services();
  const routing::interest_statistics interest = seen->interest->statistics();
  json_builder out;
  out.begin_object().field("account_name", account).field("update_time", from.config_loaded());
  if (seen->is_system) out.field("is_system", true);
  out.field("expired", false).field("complete", true);
  out.field("jetstream_enabled", host != nullptr && host->engine().attached(account));
  out.field("leafnode_connections", 0).field("client_connections", seen->connections);
  out.field("subscriptions", interest.subscriptions);
  if (const std::string system = system_account_name(from); !system.empty()) add_system_imports(out, *seen, system);
  out.field("name_tag", account);
  out.begin_object("sublist_stats");
  add_statistics(out, interest);
  out.end_object().end_object();
  return {.body = out.text()};
}

void append_account_statistics(json_builder& out, const account_view& of) {
  out.field("acc", of.name).field("name", of.name).field("conns", of.connections).field("leafnodes", 0);
  out.field("total_conns", of.connections).field("num_subscriptions", of.interest->statistics().subscriptions);
  add_traffic(out, "sent", of.counts.out_messages, of.counts.out_bytes);
  add_traffic(out, "received", of.counts.in_messages, of.counts.in_bytes);
  out.field("slow_consumers", of.slow_consumers);
}

endpoint_answer accstatz(server& from, const accstatz_options& asked) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now()).begin_array("account_statz");
  for (const account_view& one : account_views(from)) {
    if (!asked.accounts.empty() && std::ranges::find(asked.accounts, one.name) == asked.accounts.end()) continue;
    if (one.connections == 0 && !asked.include_unused) continue;
    out.begin_object();
    append_account_statistics(out, one);
    out.end_object();
  }
  out.end_array().end_object();
  return {.body = out.text()};
}

}  // namespace tern::server
