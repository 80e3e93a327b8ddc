#include "server/transport/listening.hpp"

#include "server/connection/connection.hpp"
#include "server/monitoring/connection_report.hpp"
#include "server/monitoring/json_builder.hpp"

#include <utility>

namespace tern::server {

bool rate_limit::take(std::int64_t per_second, time_point now) {
  if (per_second <= 0) return true;
  if (now - began_ >= std::chrono::seconds(1)) {
    began_ = now;
    taken_ = 0;
  }
  return ++taken_ <= per_second;
}

opening_plan plan_for_clients(const options& settings) {
  opening_plan out{.proxy_header = settings.proxy_protocol};
  if (!settings.tls) return out;
  const tls_options& tls = *settings.tls;
  out.tls = tls.context;
  out.plain_too = settings.allow_non_tls;
  out.first = tls.first;
  out.first_fallback = tls.first_fallback;
  out.timeout = tls.timeout;
  return out;
}

void add_listener_facts(protocol::server_info& to, const options& settings, const connection& whom) {
  if (const connection_facts* const facts = whom.facts(); facts != nullptr && facts->websocket) {
    to.host = settings.websocket.host.empty() ? settings.host : settings.websocket.host;
    to.port = facts->websocket->local.port;
    to.tls_required = settings.websocket.tls.has_value();
    to.tls_verify = settings.websocket.tls && settings.websocket.tls->verify;
    return;
  }
  if (whom.peer().in_process || !settings.tls) return;
  to.tls_required = !settings.allow_non_tls;
  to.tls_available = settings.allow_non_tls;
  to.tls_verify = settings.tls->verify;
}

void add_tls_of_varz(json_builder& to, const options& settings) {
  if (!settings.tls) {
    to.field("tls_timeout", 2);
    return;
  }
  const tls_options& tls = *settings.tls;
  to.field_unless_empty("tls_required", !settings.allow_non_tls).field_unless_empty("tls_verify", tls.verify);
  const auto whole = tls.timeout.count() % 1'000'000'000 == 0;
  if (whole)
    to.field("tls_timeout", tls.timeout.count() / 1'000'000'000);
  else
    to.field("tls_timeout", static_cast<double>(tls.timeout.count()) / 1e9);
  if (tls.context->not_after() != time_point{}) to.field("tls_cert_not_after", tls.context->not_after());
}

void add_tls_of_connection(json_builder& to, const connection_report& from, bool with_certificates) {
  if (!from.tls) return;
  to.field("tls_version", from.tls->version).field("tls_cipher_suite", from.tls->cipher);
  if (const auto& peer = from.tls->peer; peer && with_certificates) {
    to.begin_array("tls_peer_certs").begin_object();
    to.field("subject", peer->subject).field("spki_sha256", peer->key_sha256);
    to.field("cert_sha256", peer->certificate_sha256).end_object().end_array();
  }
  to.field_unless_empty("tls_first", from.tls_first);
}

}  // namespace tern::server
