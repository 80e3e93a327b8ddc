// /subsz, /accountz and /accstatz: interest and accounts (core 5).
#include "server/connection/connection.hpp"
#include "server/jetstream_host.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"

#include "protocol/subject.hpp"

#include <algorithm>
#include <vector>

namespace tern::server {
namespace {

constexpr std::string_view system_account = "$SYS";

void add_statistics(json_builder& out, const routing::interest_statistics& seen) {
  out.field("num_subscriptions", seen.subscriptions).field("num_cache", seen.cache_entries);
  out.field("num_inserts", seen.inserts).field("num_removes", seen.removes).field("num_matches", seen.matches);
  const double hits = seen.matches == 0 ? 0 : static_cast<double>(seen.cache_hits) / static_cast<double>(seen.matches);
  out.field("cache_hit_rate", hits).field("max_fanout", seen.maximum_fanout).field("avg_fanout", seen.average_fanout);
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

}  // namespace

endpoint_answer subsz(server& from, const subsz_options& asked) {
  constexpr std::int64_t default_limit = 1024;
  const std::int64_t offset = std::max<std::int64_t>(0, asked.offset);
  const std::int64_t limit = asked.limit > 0 ? asked.limit : default_limit;
  const std::string& account = asked.account;
  const std::string& test = asked.test;
  if (!test.empty() && !protocol::is_valid_literal(test))
    return endpoint_answer::refusal("invalid test subject, must be valid publish subject: " + test);

  routing::account& global = from.global_account();
  const bool known = account.empty() || account == global.name();
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  add_statistics(out, known ? global.statistics() : routing::interest_statistics{});
  std::vector<const routing::subscription*> found;
  if (asked.subscriptions && known) {
    global.for_each_subscription([&](const routing::subscription& one) {
      if (test.empty() || protocol::subject_matches(one.subject, test)) found.push_back(&one);
    });
  }
  out.field("total", found.size()).field("offset", offset).field("limit", limit);
  const std::size_t begin = std::min(found.size(), static_cast<std::size_t>(offset));
  const std::size_t end = begin + std::min(found.size() - begin, static_cast<std::size_t>(limit));
  if (begin != end) {
    out.begin_array("subscriptions_list");
    for (std::size_t at = begin; at < end; ++at) {
      const routing::subscription& one = *found[at];
      out.begin_object().field("account", global.name()).field("account_tag", global.name());
      out.field("subject", one.subject).field_unless_empty("qgroup", one.queue).field("sid", one.sid);
      out.field("msgs", one.delivered)
          .field_unless_empty("max", one.maximum)
          .field("cid", client_id_of(one))
          .end_object();
    }
    out.end_array();
  }
  out.end_object();
  return {.body = out.text()};
}

endpoint_answer accountz(server& from, const accountz_options& asked) {
  const std::string& account = asked.account;
  routing::account& global = from.global_account();
  if (!account.empty() && account != global.name() && account != system_account)
    return endpoint_answer::refusal("Account " + account + " does not exist");
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  out.field("system_account", system_account);
  if (account.empty()) {
    out.begin_array("accounts").element(global.name()).element(system_account).end_array().end_object();
    return {.body = out.text()};
  }
  const bool is_global = account == global.name();
  out.begin_object("account_detail").field("account_name", account).field("update_time", from.started());
  if (!is_global) out.field("is_system", true);
  out.field("expired", false).field("complete", true);
  out.field("jetstream_enabled", is_global && from.jetstream_services() != nullptr);
  out.field("leafnode_connections", 0).field("client_connections", is_global ? from.connections().size() : 0);
  const auto seen = is_global ? global.statistics() : routing::interest_statistics{};
  out.field("subscriptions", seen.subscriptions).field("name_tag", account);
  out.begin_object("sublist_stats");
  add_statistics(out, seen);
  out.end_object().end_object().end_object();
  return {.body = out.text()};
}

endpoint_answer accstatz(server& from, const accstatz_options& asked) {
  const bool unused = asked.include_unused;
  const server_context& state = from.context();
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now()).begin_array("account_statz");
  const auto add = [&out](std::string_view name, std::size_t connections, std::size_t subscriptions,
                          const traffic& counts, std::uint64_t slow_consumers) {
    out.begin_object().field("acc", name).field("name", name).field("conns", connections).field("leafnodes", 0);
    out.field("total_conns", connections).field("num_subscriptions", subscriptions);
    add_traffic(out, "sent", counts.out_messages, counts.out_bytes);
    add_traffic(out, "received", counts.in_messages, counts.in_bytes);
    out.field("slow_consumers", slow_consumers).end_object();
  };
  if (unused || !from.connections().empty())
    add("$G", from.connections().size(), state.global_account.statistics().subscriptions, state.totals,
        state.slow_consumers);
  if (unused) add(system_account, 0, 0, {}, 0);
  out.end_array().end_object();
  return {.body = out.text()};
}

}  // namespace tern::server
