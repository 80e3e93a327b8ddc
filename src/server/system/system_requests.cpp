#include "server/system/system_requests.hpp"

#include "protocol/subject.hpp"
#include "runtime/host/process.hpp"
#include "server/connection/connection.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/monitoring/monitor.hpp"
#include "server/server.hpp"
#include "server/system/accounts_view.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <optional>

namespace tern::server {
namespace {

// Which servers a request is for; one that it is not for stays silent.
struct request_filter {
  std::string server_name, cluster, host, domain;
  bool exact_match = false;
  std::vector<std::string> tags;
};

bool fits(const std::string& wanted, std::string_view actual, bool exact) {
  if (wanted.empty()) return true;
  return exact ? actual == wanted : actual.find(wanted) != std::string_view::npos;
}

bool is_for(const request_filter& asked, const server& one) {
  const options& settings = one.settings();
  if (!fits(asked.server_name, one.name(), asked.exact_match) || !fits(asked.host, settings.host, asked.exact_match) ||
      !fits(asked.cluster, "", asked.exact_match))
    return false;
  if (!asked.domain.empty() && asked.domain != settings.jetstream.domain) return false;
  return std::ranges::all_of(asked.tags, [&settings](const std::string& tag) {
    return std::ranges::find(settings.tags, tag) != settings.tags.end();
  });
}

bool is_blank(std::string_view body) { return body.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// The filter and the options of a body; an answer instead when it does not read or is for others.
template <class Options>
std::optional<service_answer> read(server& from, std::string_view body, Options& into) {
  if (is_blank(body)) return std::nullopt;
  request_filter filter;
  for (const auto& outcome : {codec::read_json_into(body, filter, codec::peer_lenient),
                              codec::read_json_into(body, into, codec::peer_lenient)})
    if (!outcome) return service_answer::bad_request(outcome.error().context());
  if (!is_for(filter, from)) return service_answer::silent();
  return std::nullopt;
}

struct no_options {};

service_answer of(endpoint_answer answer) {
  if (!answer.good()) return service_answer::failure(std::move(answer.body));
  return service_answer::with_data(std::move(answer.body));
}

template <class Options, auto Endpoint>
service_answer endpoint(server& from, std::string_view body) {
  Options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  return of(Endpoint(from, asked));
}

template <auto Endpoint>
service_answer endpoint_without_options(server& from, std::string_view body) {
  no_options none;
  if (auto instead = read(from, body, none)) return std::move(*instead);
  return of(Endpoint(from));
}

service_answer answer_idz(server& from, std::string_view) {
  json_builder out;
  out.begin_object().field("name", from.name()).field("host", from.settings().host).field("id", from.id()).end_object();
  return {.what = service_answer::kind::bare, .text = out.text()};
}

service_answer answer_statsz(server& from, std::string_view body) {
  no_options none;
  if (auto instead = read(from, body, none)) return std::move(*instead);
  return service_answer::with_data(statsz_object(from));
}

service_answer answer_varz(server& from, std::string_view body) {
  no_options none;
  if (auto instead = read(from, body, none)) return std::move(*instead);
  static const std::map<std::string, std::uint64_t> no_counts;
  return of(varz(from, from.http_monitor() != nullptr ? from.http_monitor()->request_counts() : no_counts));
}

service_answer answer_connz(server& from, std::string_view body) {
  connz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  if (!asked.filter_subject.empty() && asked.acc.empty())
    return service_answer::failure("filter by subject only valid with account filtering");
  return of(connz(from, asked));
}

service_answer answer_jsz(server& from, std::string_view body) {
  jsz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  if (asked.leader_only && from.jetstream_services() == nullptr) return service_answer::silent();
  return of(jsz(from, asked));
}

service_answer answer_healthz(server& from, std::string_view body) {
  healthz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  return service_answer::with_data(healthz(from, asked, true).body);
}

// Profiles of Go's runtime; there is nothing of the kind here, which is told in the place where the peer tells errors.
service_answer answer_profilez(server& from, std::string_view body) {
  struct profile_options {
    std::string name;
  } asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  json_builder out;
  out.begin_object().raw("profile", "null");
  out.field("error", asked.name.empty() ? "Profile name not specified" : "Profile " + asked.name + " not found");
  out.end_object();
  return service_answer::with_data(out.text());
}

service_answer answer_raftz(server& from, std::string_view body) {
  no_options none;
  if (auto instead = read(from, body, none)) return std::move(*instead);
  return service_answer::with_data("{}");
}

// --- what changes something ---

struct connection_choice {
  std::uint64_t cid = 0;
};

connection* chosen(server& from, const connection_choice& which) {
  const auto found = from.connections().find(which.cid);
  return found == from.connections().end() ? nullptr : found->second.get();
}

template <class Act>
service_answer with_connection(server& from, std::string_view body, std::string missing, Act act) {
  connection_choice which;
  if (!codec::read_json_into(body, which, codec::peer_lenient)) return service_answer::silent();
  connection* const one = chosen(from, which);
  if (one == nullptr) return service_answer::refusal(std::move(missing));
  act(*one);
  return {.what = service_answer::kind::done};
}

service_answer kick(server& from, std::string_view body) {
  return with_connection(from, body, "no such client or leafnode id",
                         [](connection& one) { one.close(close_reason::kicked); });
}

service_answer send_lame_duck_info(server& from, std::string_view body) {
  return with_connection(from, body, "no such client id", [](connection& one) { one.send_lame_duck_info(); });
}

service_answer reload(server& from, std::string_view) {
  if (auto outcome = from.reload(); !outcome) return service_answer::refusal(outcome.error().context());
  return {.what = service_answer::kind::done};
}

// --- accounts ---

service_answer account_connz(server& from, std::string_view account, std::string_view body) {
  connz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  asked.acc = account;
  return of(connz(from, asked));
}

service_answer account_subsz(server& from, std::string_view account, std::string_view body) {
  subsz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  asked.subscriptions = true;
  asked.account = account;
  return of(subsz(from, asked));
}

service_answer account_leafz(server& from, std::string_view account, std::string_view body) {
  leafz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  asked.account = account;
  return of(leafz(from, asked));
}

service_answer account_jsz(server& from, std::string_view account, std::string_view body) {
  jsz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  asked.account = account;
  return of(jetstream_account(from, asked));
}

service_answer account_info(server& from, std::string_view account, std::string_view body) {
  no_options none;
  if (auto instead = read(from, body, none)) return std::move(*instead);
  return of(account_detail(from, account));
}

service_answer account_statz(server& from, std::string_view account, std::string_view body) {
  accstatz_options asked;
  if (auto instead = read(from, body, asked)) return std::move(*instead);
  const bool all = account == "PING";
  if (!all) asked.accounts = {std::string(account)};
  if (!asked.include_unused && !all) {
    const auto seen = account_view_of(from, account);
    if (!seen || seen->connections == 0) return service_answer::silent();
  }
  return of(accstatz(from, asked));
}

struct subscriber_question {
  std::string acc, subject, queue;
};

std::uint64_t count_subscribers(const routing::account& in, std::string_view subject, std::string_view queue) {
  const bool literal = protocol::is_valid_literal(subject);
  std::uint64_t count = 0;
  in.for_each_subscription([&](const routing::subscription& one) {
    if (one.internal || (!queue.empty() && one.queue != queue)) return;
    // Of a pattern, those subscriptions count that could take nothing else.
    if (literal ? protocol::subject_matches(one.subject, subject) : protocol::is_subset(one.subject, subject)) ++count;
  });
  return count;
}

}  // namespace

std::span<const server_service> server_services() {
  static constexpr server_service all[] = {
      {"IDZ", answer_idz},
      {"STATSZ", answer_statsz},
      {"VARZ", answer_varz},
      {"SUBSZ", endpoint<subsz_options, subsz>},
      {"CONNZ", answer_connz},
      {"ROUTEZ", endpoint_without_options<routez>},
      {"GATEWAYZ", endpoint_without_options<gatewayz>},
      {"LEAFZ", endpoint<leafz_options, leafz>},
      {"ACCOUNTZ", endpoint<accountz_options, accountz>},
      {"JSZ", answer_jsz},
      {"HEALTHZ", answer_healthz},
      {"PROFILEZ", answer_profilez},
      {"EXPVARZ", endpoint_without_options<expvarz>},
      {"IPQUEUESZ", endpoint<ipqueuesz_options, ipqueuesz>},
      {"RAFTZ", answer_raftz},
      {"KICK", kick, true},
      {"LDM", send_lame_duck_info, true},
      {"RELOAD", reload, true},
  };
  return all;
}

std::span<const account_service> account_services() {
  static constexpr account_service all[] = {
      {"CONNZ", account_connz}, {"SUBSZ", account_subsz}, {"LEAFZ", account_leafz},
      {"JSZ", account_jsz},     {"INFO", account_info},   {"STATZ", account_statz},
  };
  return all;
}

service_answer count_subscribers_of(server& from, std::string_view body) {
  subscriber_question asked;
  if (!codec::read_json_into(body, asked, codec::peer_lenient)) return service_answer::silent();
  const auto seen = account_view_of(from, asked.acc);
  if (!seen || seen->connections == 0) return service_answer::silent();
  return {.what = service_answer::kind::bare,
          .text = std::to_string(count_subscribers(*seen->interest, asked.subject, asked.queue))};
}

service_answer count_system_subscribers(server& from, std::string_view body) {
  const auto seen = account_view_of(from, system_account_name(from));
  if (!seen) return service_answer::silent();
  const auto is_blank_letter = [](char letter) { return letter == ' ' || letter == '\t'; };
  const auto subject_end = std::ranges::find_if(body, is_blank_letter);
  const std::string_view subject(body.begin(), subject_end);
  const std::string_view queue(std::find_if_not(subject_end, body.end(), is_blank_letter), body.end());
  return {.what = service_answer::kind::bare,
          .text = std::to_string(count_subscribers(*seen->interest, subject, queue))};
}

std::string statsz_object(server& from) {
  const server_context& state = from.context();
  const traffic& totals = state.totals;
  const auto accounts = account_views(from);
  const auto active = std::ranges::count_if(accounts, [](const account_view& one) { return one.connections != 0; });
  json_builder out;
  out.begin_object().field("start", from.started()).field("mem", runtime::host::resident_bytes());
  out.field("cores", runtime::host::core_count());
  out.field("cpu", from.processor_percent());
  out.field("connections", from.connections().size()).field("total_connections", from.total_connections());
  out.field("active_accounts", active).field("subscriptions", total_subscriptions(from));
  const auto amount = [&out](std::string_view key, std::uint64_t messages, std::uint64_t bytes) {
    out.begin_object(key).field("msgs", messages).field("bytes", bytes).end_object();
  };
  amount("sent", totals.out_messages, totals.out_bytes);
  amount("sent_to_clients", totals.out_messages, totals.out_bytes);
  amount("received", totals.in_messages, totals.in_bytes);
  amount("received_from_clients", totals.in_messages, totals.in_bytes);
  out.field("slow_consumers", state.slow_consumers);
  out.field_unless_empty("stale_connections", state.stale_connections);
  out.field_unless_empty("stalled_clients", state.stalled_clients);
  if (state.slow_consumers != 0)
    out.begin_object("slow_consumer_stats")
        .field("clients", state.slow_consumers)
        .field("routes", 0)
        .field("gateways", 0)
        .field("leafs", 0)
        .end_object();
  out.field("active_servers", 1);
  if (from.jetstream_services() != nullptr) out.begin_object("jetstream").raw({}, jetstream_summary(from)).end_object();
  out.field("gomaxprocs", 1).end_object();
  return out.text();
}

}  // namespace tern::server
