// /metrics: the figures of /varz, /connz, /subsz, /accstatz, /jsz and /healthz as Prometheus reads them, under the
// names and labels of prometheus-nats-exporter, so that its dashboards and alerts work.
#include "server/connection/connection.hpp"
#include "server/jetstream_host.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/server.hpp"

#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_info.hpp"
#include "jetstream/stream/stream.hpp"

#include <tern/codec/json.hpp>

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <deque>
#include <map>
#include <sstream>
#include <utility>

namespace tern::server {
namespace {

using labels = std::vector<prometheus::ClientMetric::Label>;

// Families in the order of their first appearance. Label sets are kept once and shared by the families; the library's
// records, which are large, exist for one family at a time.
class exposition {
 public:
  // Lives as long as the exposition.
  const labels& keep(labels of) { return kept_.emplace_back(std::move(of)); }

  void add(const std::string& name, const labels& kept, double value) {
    const auto [place, fresh] = numbers_.try_emplace(name, families_.size());
    if (fresh) families_.push_back({.name = name, .values = {}});
    families_[place->second].values.emplace_back(&kept, value);
  }
  void add(const std::string& name, const labels& kept, std::uint64_t value) {
    add(name, kept, static_cast<double>(value));
  }

  std::string text() const {
    std::ostringstream out;
    for (const family& one : families_) {
      prometheus::MetricFamily printed{
          .name = one.name, .help = one.name, .type = prometheus::MetricType::Gauge, .metric = {}};
      printed.metric.resize(one.values.size());
      for (std::size_t at = 0; at < one.values.size(); ++at) {
        printed.metric[at].label = *one.values[at].first;
        printed.metric[at].gauge.value = one.values[at].second;
      }
      prometheus::TextSerializer().Serialize(out, {printed});
    }
    return std::move(out).str();
  }

 private:
  struct family {
    std::string name;
    std::vector<std::pair<const labels*, double>> values;
  };
  std::deque<labels> kept_;
  std::vector<family> families_;
  std::map<std::string, std::size_t> numbers_;
};

bool is_metric_name(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
}

// Every number of the document, those of inner objects under both their keys.
bool add_numbers(exposition& out, codec::json_reader& from, const std::string& prefix, const labels& of) {
  if (!from.enter_object()) return false;
  std::string_view key;
  while (from.next_key(key)) {
    const std::string name = prefix + "_" + std::string(key);
    const bool shown = is_metric_name(key);
    switch (from.kind()) {
      case codec::json_kind::number: {
        double value = 0;
        if (!from.as_double(value)) return false;
        if (shown) out.add(name, of, value);
        break;
      }
      case codec::json_kind::object:
        if (!add_numbers(out, from, name, of)) return false;
        break;
      default:
        if (!from.skip()) return false;
    }
  }
  return !from.failed();
}

void add_document(exposition& out, const endpoint_answer& answer, const std::string& prefix, const labels& of) {
  (void)codec::walk_json(answer.body, [&](codec::json_reader& from) { return add_numbers(out, from, prefix, of); });
}

labels with(labels base, std::initializer_list<std::pair<const char*, std::string>> more) {
  for (const auto& [name, value] : more) base.push_back({name, value});
  return base;
}

void add_identity(exposition& out, server& from, const labels& of) {
  const std::pair<const char*, std::string> words[] = {
      {"gnatsd_varz_server_id", from.id()},
      {"gnatsd_varz_server_name", from.name()},
      {"gnatsd_varz_version", std::string(protocol::compatible_version)}};
  for (const auto& [name, value] : words) {
    out.add(name, out.keep(with(of, {{"value", value}})), 1.0);
  }
}

void add_connections(exposition& out, server& from, const labels& of) {
  traffic sum;
  std::uint64_t pending = 0, subscriptions = 0;
  for (const auto& [id, one] : from.connections()) {
    const traffic& counts = one->counts();
    sum.in_messages += counts.in_messages, sum.in_bytes += counts.in_bytes;
    sum.out_messages += counts.out_messages, sum.out_bytes += counts.out_bytes;
    pending += one->pending_bytes(), subscriptions += one->subscriptions().size();
  }
  const std::uint64_t count = from.connections().size();
  out.add("gnatsd_connz_num_connections", of, count);
  out.add("gnatsd_connz_total", of, count);
  out.add("gnatsd_connz_pending_bytes", of, pending);
  out.add("gnatsd_connz_subscriptions", of, subscriptions);
  out.add("gnatsd_connz_in_bytes", of, sum.in_bytes);
  out.add("gnatsd_connz_out_bytes", of, sum.out_bytes);
  out.add("gnatsd_connz_in_msgs", of, sum.in_messages);
  out.add("gnatsd_connz_out_msgs", of, sum.out_messages);
}

void add_consumer(exposition& out, const jetstream::consumer_info& info, const labels& of) {
  out.add("jetstream_consumer_delivered_consumer_seq", of, info.delivered.consumer_seq);
  out.add("jetstream_consumer_delivered_stream_seq", of, info.delivered.stream_seq);
  out.add("jetstream_consumer_num_ack_pending", of, info.num_ack_pending);
  out.add("jetstream_consumer_num_redelivered", of, info.num_redelivered);
  out.add("jetstream_consumer_num_waiting", of, info.num_waiting);
  out.add("jetstream_consumer_num_pending", of, info.num_pending);
  out.add("jetstream_consumer_ack_floor_stream_seq", of, info.ack_floor.stream_seq);
  out.add("jetstream_consumer_ack_floor_consumer_seq", of, info.ack_floor.consumer_seq);
}

void add_stream(exposition& out, const jetstream::stream& one, const labels& of, const std::string& leader,
                bool with_consumers) {
  const storage::log_state& state = one.state();
  std::uint64_t consumers = 0;
  one.consumers().for_each([&](jetstream::consumer& each) {
    if (each.config().direct) return;
    ++consumers;
    if (!with_consumers) return;
    const jetstream::consumer_info info = each.info();
    add_consumer(out, info,
                 out.keep(with(of, {{"consumer_name", info.name},
                                    {"consumer_leader", leader},
                                    {"is_consumer_leader", "true"},
                                    {"consumer_desc", each.config().description}})));
  });
  out.add("jetstream_stream_total_messages", of, state.messages);
  out.add("jetstream_stream_total_bytes", of, state.bytes);
  out.add("jetstream_stream_first_seq", of, state.first);
  out.add("jetstream_stream_last_seq", of, state.last);
  out.add("jetstream_stream_consumer_count", of, consumers);
}

void add_jetstream(exposition& out, server& from, const labels& server_label, const metrics_options& asked) {
  jetstream_host* host = from.jetstream_services();
  const labels& of = out.keep(with(server_label, {{"server_name", from.name()},
                                                  {"cluster", ""},
                                                  {"domain", from.settings().jetstream.domain},
                                                  {"meta_leader", ""},
                                                  {"is_meta_leader", "true"}}));
  out.add("jetstream_server_jetstream_disabled", of, host == nullptr ? 1.0 : 0.0);
  if (host == nullptr) return;
  const jetstream::engine& engine = host->engine();
  const jetstream::usage total = engine.total();
  out.add("jetstream_server_total_streams", of, total.streams);
  out.add("jetstream_server_total_consumers", of, total.consumers);
  out.add("jetstream_server_total_messages", of, total.messages);
  out.add("jetstream_server_total_message_bytes", of, total.bytes);
  out.add("jetstream_server_max_memory", of, static_cast<double>(host->settings().max_memory));
  out.add("jetstream_server_max_storage", of, static_cast<double>(host->settings().max_storage));
  for (const jetstream::account_usage& account : engine.accounts()) {
    const labels its = with(of, {{"account", account.account}, {"account_id", account.account}});
    const labels& named = out.keep(with(its, {{"account_name", account.account}}));
    out.add("jetstream_account_max_memory", named, static_cast<double>(account.limits.max_memory));
    out.add("jetstream_account_max_storage", named, static_cast<double>(account.limits.max_storage));
    out.add("jetstream_account_memory_used", named, account.used.memory);
    out.add("jetstream_account_storage_used", named, account.used.storage);
    if (!asked.streams) continue;
    engine.for_each_stream(account.account, [&](const jetstream::stream& one) {
      const labels& stream_labels = out.keep(
          with(its, {{"stream_name", one.name()}, {"stream_leader", from.name()}, {"is_stream_leader", "true"}}));
      add_stream(out, one, stream_labels, from.name(), asked.consumers);
    });
  }
}

void add_accounts(exposition& out, const endpoint_answer& answer, const labels& of) {
  struct amount {
    std::uint64_t msgs = 0, bytes = 0;
  };
  struct account {
    std::string acc, name;
    std::uint64_t conns = 0, leafnodes = 0, total_conns = 0, num_subscriptions = 0, slow_consumers = 0;
    amount sent, received;
  };
  struct document {
    std::vector<account> account_statz;
  };
  const auto read = codec::read_json<document>(answer.body);
  if (!read) return;
  for (const account& one : read->account_statz) {
    const labels& its = out.keep(with(of, {{"account", one.acc}, {"account_id", one.acc}, {"account_name", one.name}}));
    out.add("gnatsd_accstatz_current_connections", its, one.conns);
    out.add("gnatsd_accstatz_total_connections", its, one.total_conns);
    out.add("gnatsd_accstatz_subscriptions", its, one.num_subscriptions);
    out.add("gnatsd_accstatz_leaf_nodes", its, one.leafnodes);
    out.add("gnatsd_accstatz_sent_messages", its, one.sent.msgs);
    out.add("gnatsd_accstatz_sent_bytes", its, one.sent.bytes);
    out.add("gnatsd_accstatz_received_messages", its, one.received.msgs);
    out.add("gnatsd_accstatz_received_bytes", its, one.received.bytes);
    out.add("gnatsd_accstatz_slow_consumers", its, one.slow_consumers);
  }
}

}  // namespace

std::string metrics(server& from, const metrics_options& asked) {
  exposition out;
  const labels of = {{"server_id", from.id()}};
  add_identity(out, from, of);
  add_document(out, varz(from, {}), "gnatsd_varz", of);
  add_connections(out, from, of);
  add_document(out, subsz(from, {}), "gnatsd_subsz", of);
  add_accounts(out, accstatz(from, {.include_unused = true}), of);
  add_jetstream(out, from, of, asked);
  out.add("gnatsd_healthz_status", of, healthz(from, {}, false).good() ? 0.0 : 1.0);
  return out.text();
}

}  // namespace tern::server
