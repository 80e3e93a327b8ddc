// /jsz and /healthz (core 5).
#include "server/jetstream_host.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"

#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_info.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_info.hpp"
#include "protocol/writer.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <limits>

namespace tern::server {
namespace {

constexpr nanoseconds default_sync_interval = std::chrono::minutes(2);  // what the peer shows without one

void add_usage(json_builder& out, const jetstream::usage& used, std::uint64_t reserved_memory,
               std::uint64_t reserved_storage, std::size_t accounts, int level) {
  out.field("memory", used.memory).field("storage", used.storage);
  out.field("reserved_memory", reserved_memory).field("reserved_storage", reserved_storage);
  out.field("accounts", accounts).field("ha_assets", 0);
  out.begin_object("api")
      .field("level", level)
      .field("total", used.api_total)
      .field("errors", used.api_errors)
      .end_object();
}

void add_config(json_builder& out, const jetstream_host& host) {
  const jetstream_options& settings = host.settings();
  out.begin_object("config").field("max_memory", settings.max_memory).field("max_storage", settings.max_storage);
  out.field("store_dir", host.directory());
  out.field("sync_interval", settings.sync_interval.value_or(default_sync_interval).count());
  if (!settings.sync_interval) out.field("sync_always", true);
  out.field_unless_empty("domain", settings.domain);
  if (settings.strict) out.field("strict", true);
  out.end_object();
}

std::uint64_t account_limit(std::int64_t limit) {
  return limit < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(limit);
}

struct wanted_details {
  bool streams = false, consumers = false, direct_consumers = false, config = false;
};

// The consumers of one kind, by name.
void add_consumers(json_builder& out, std::string_view key, const jetstream::stream& of, bool direct,
                   const wanted_details& wanted) {
  std::string infos;
  of.consumers().for_each([&](jetstream::consumer& one) {
    if (one.config().direct != direct) return;
    jetstream::consumer_info info = one.info();
    if (!wanted.config) info.config = nullptr;
    infos += infos.empty() ? "{" : ",{";
    jetstream::append_members(infos, info, nullptr);
    infos += '}';
  });
  out.begin_array(key);
  if (!infos.empty()) out.raw({}, infos);
  out.end_array();
}

void add_streams(json_builder& out, jetstream_host& host, std::string_view account, const wanted_details& wanted) {
  out.begin_array("stream_detail");
  host.engine().for_each_stream(account, [&](const jetstream::stream& one) {
    out.begin_object().field("name", one.name());
    out.field("created", one.created());
    out.begin_object("cluster").field("leader", host.surroundings().settings.server_name).end_object();
    if (wanted.config) out.raw("config", codec::to_json(one.config()));
    std::string state;
    jetstream::append_stream_state(state, one);
    out.raw("state", state);
    if (wanted.consumers) add_consumers(out, "consumer_detail", one, false, wanted);
    if (wanted.direct_consumers) add_consumers(out, "direct_consumer_detail", one, true, wanted);
    out.end_object();
  });
  out.end_array();
}

struct page_request {
  std::string only;  // one account; empty: all
  std::int64_t offset = 0, limit = 0;
};

void add_account(json_builder& out, jetstream_host& host, const jetstream::account_usage& one,
                 const wanted_details& wanted) {
  out.begin_object().field("name", one.account).field("id", one.account);
  add_usage(out, one.used, account_limit(one.limits.max_memory), account_limit(one.limits.max_storage), 0, 0);
  if (wanted.streams) add_streams(out, host, one.account, wanted);
  out.end_object();
}

wanted_details wanted_by(const jsz_options& asked) {
  return {.streams = asked.streams || asked.consumer,
          .consumers = asked.consumer,
          .direct_consumers = asked.direct_consumer && asked.consumer,
          .config = asked.config};
}

void add_account_details(json_builder& out, jetstream_host& host, const page_request& page,
                         const wanted_details& wanted) {
  const std::vector<jetstream::account_usage> accounts = host.engine().accounts();
  std::vector<const jetstream::account_usage*> shown;
  for (const auto& one : accounts)
    if (page.only.empty() || one.account == page.only) shown.push_back(&one);
  const std::size_t begin = std::min(shown.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, page.offset)));
  const std::size_t count =
      std::min(shown.size() - begin, static_cast<std::size_t>(page.limit > 0 ? page.limit : 1024));
  if (count == 0) return;
  out.begin_array("account_details");
  for (std::size_t at = begin; at < begin + count; ++at) add_account(out, host, *shown[at], wanted);
  out.end_array();
}

endpoint_answer disabled_jsz(server& from, bool leader_only) {
  if (leader_only) return endpoint_answer::refusal("filtered response: not leader");
  json_builder out;
  out.begin_object();
  add_usage(out, {}, 0, 0, 0, 0);
  out.field("server_id", from.id()).field("now", from.loop().now()).field("disabled", true);
  out.begin_object("config").field("max_memory", 0).field("max_storage", 0).end_object();
  for (const char* count : {"streams", "consumers", "messages", "bytes", "total"}) out.field(count, 0);
  out.end_object();
  return {.body = out.text()};
}

bool has_consumer(const jetstream::stream& in, std::string_view name) {
  bool found = false;
  in.consumers().for_each([&](const jetstream::consumer& one) { found = found || one.name() == name; });
  return found;
}

struct health {
  int status = 200;
  std::string_view word = "ok", type;
  std::string error, account, stream, consumer;
};

health check_health(server& from, const healthz_options& asked) {
  if (!from.accepting())
    return {500, "error", "CONNECTION", "failed to be ready for connections after 1ms: server", {}, {}, {}};
  const std::string &account = asked.account, &stream = asked.stream, &consumer = asked.consumer;
  if (account.empty() && !stream.empty())
    return {400, "error", "BAD_REQUEST", "\"account\" must not be empty when checking stream health", {}, {}, {}};
  if (stream.empty() && !consumer.empty())
    return {400, "error", "BAD_REQUEST", "\"stream\" must not be empty when checking consumer health", {}, {}, {}};
  jetstream_host* host = from.jetstream_services();
  const bool enabled_only = asked.js_enabled_only || asked.js_enabled;
  if (host == nullptr) {
    if (enabled_only && from.settings().jetstream.enabled)
      return {503, "unavailable", "JETSTREAM", "JetStream is not enabled", {}, {}, {}};
    return {};
  }
  if (const auto& failure = host->store().failure())
    return {503, "unavailable", "JETSTREAM", "JetStream cannot write: " + failure->message(), {}, {}, {}};
  if (enabled_only || asked.js_server_only || asked.js_meta_only) return {};
  const jetstream::engine& engine = host->engine();
  for (const auto& one : engine.unavailable())
    if (account.empty() || (account == one.account && (stream.empty() || stream == one.name)))
      return {503,         "unavailable",
              "STREAM",    "JetStream stream '" + one.account + " > " + one.name + "' could not be recovered",
              one.account, one.name,
              {}};
  if (account.empty()) return {};
  if (!engine.attached(account))
    return {404, "unavailable", "ACCOUNT", "JetStream account " + protocol::quoted(account) + " not found", account, {},
            {}};
  if (stream.empty()) return {};
  const jetstream::stream* found = engine.find_stream(account, stream);
  if (found == nullptr)
    return {
        404,      "unavailable",
        "STREAM", "JetStream stream " + protocol::quoted(stream) + " not found on account " + protocol::quoted(account),
        account,  stream,
        {}};
  if (consumer.empty() || has_consumer(*found, consumer)) return {};
  return {404,
          "unavailable",
          "CONSUMER",
          "JetStream consumer " + protocol::quoted(consumer) + " not found for stream " + protocol::quoted(stream) +
              " on account " + protocol::quoted(account),
          account,
          stream,
          consumer};
}

}  // namespace

std::string jetstream_summary(server& from) {
  const jetstream_host& host = *from.jetstream_services();
  const jetstream::usage total = host.engine().total();
  json_builder out;
  add_config(out, host);
  out.begin_object("stats");
  add_usage(out, total, total.reserved_memory, total.reserved_storage, host.engine().accounts().size(), 5);
  out.end_object();
  out.begin_object("limits").field("default_max_consumers", 1000).end_object();
  return out.text();
}

endpoint_answer jsz(server& from, const jsz_options& asked) {
  const wanted_details wanted = wanted_by(asked);
  jetstream_host* host = from.jetstream_services();
  if (host == nullptr) return disabled_jsz(from, asked.leader_only);

  const jetstream::usage total = host->engine().total();
  const std::vector<jetstream::account_usage> accounts = host->engine().accounts();
  json_builder out;
  out.begin_object();
  add_usage(out, total, total.reserved_memory, total.reserved_storage, accounts.size(), 5);
  out.field("server_id", from.id()).field("now", from.loop().now());
  add_config(out, *host);
  out.begin_object("limits").field("default_max_consumers", 1000).end_object();
  out.field("streams", total.streams).field("consumers", total.consumers).field("messages", total.messages);
  out.field("bytes", total.bytes);
  // The only server leads everything.
  if (asked.raft) {
    out.field_unless_empty("streams_leader", total.streams);
    out.field_unless_empty("consumers_leader", total.consumers);
  }
  out.field("total", accounts.size());
  if (asked.accounts || wanted.streams || !asked.account.empty())
    add_account_details(out, *host, {asked.account, asked.offset, asked.limit}, wanted);
  out.end_object();
  return {.body = out.text()};
}

endpoint_answer jetstream_account(server& from, const jsz_options& asked) {
  jetstream_host* host = from.jetstream_services();
  if (host == nullptr) return endpoint_answer::refusal("jetstream not enabled");
  for (const jetstream::account_usage& one : host->engine().accounts()) {
    if (one.account != asked.account) continue;
    json_builder out;
    add_account(out, *host, one, wanted_by(asked));
    return {.body = out.text()};
  }
  return endpoint_answer::refusal("account " + protocol::quoted(asked.account) + " not jetstream enabled");
}

endpoint_answer healthz(server& from, const healthz_options& asked, bool with_status) {
  const health seen = check_health(from, asked);
  json_builder out;
  out.begin_object();
  if (seen.status == 200) {
    out.field("status", "ok");
  } else if (!asked.details) {
    out.field("status", seen.word);
  } else {
    out.field("status", "error");
  }
  if (with_status) out.field("status_code", seen.status);
  if (seen.status != 200 && !asked.details) {
    out.field("error", seen.error);
  } else if (seen.status != 200) {
    out.begin_array("errors").begin_object().field("type", seen.type);
    out.field_unless_empty("account", seen.account).field_unless_empty("stream", seen.stream);
    out.field_unless_empty("consumer", seen.consumer).field("error", seen.error).end_object().end_array();
  }
  out.end_object();
  if (seen.status != 200) from.log().warn("Healthcheck failed: " + protocol::quoted(seen.error));
  return {.status = seen.status, .body = out.text()};
}

}  // namespace tern::server
