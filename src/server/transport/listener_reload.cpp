#include "server/transport/listener_reload.hpp"

#include "base/numbers.hpp"

#include <string_view>
#include <tuple>

namespace tern::server {
namespace {

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(std::int64_t value) { return std::to_string(value); }

template <class Value>
result<void> fixed(std::string_view name, Value before, Value after) {
  if (before == after) return {};
  return fail(errc::config_error, "config reload not supported for " + std::string(name) + ": old=" + shown(before) +
                                      ", new=" + shown(after));
}

// All of the block but its TLS.
auto fixed_parts(const websocket_options& of) {
  return std::tie(of.host, of.port, of.advertise, of.no_tls, of.same_origin, of.allowed_origins, of.compression,
                  of.handshake_timeout, of.ping_interval, of.headers, of.jwt_cookie, of.user_cookie, of.password_cookie,
                  of.token_cookie, of.user, of.password, of.token, of.no_auth_user, of.auth_timeout);
}

auto fixed_parts(const leafnode_options& of) {
  return std::tie(of.host, of.port, of.advertise, of.no_advertise, of.min_version, of.auth_timeout, of.user,
                  of.password, of.account);
}

std::string summary(const leafnode_options& of) { return "{" + of.host + " " + std::to_string(of.port) + "}"; }

std::string summary(const websocket_options& of) {
  return "{" + of.host + " " + std::to_string(of.port) + " no_tls=" + shown(of.no_tls) +
         " compression=" + shown(of.compression) + " same_origin=" + shown(of.same_origin) + "}";
}

std::string seconds(nanoseconds value) {
  std::string out = std::to_string(static_cast<double>(value.count()) / 1e9);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string places(const options& of) {
  std::string out = "[";
  for (const runtime::endpoint& one : of.also_listen) out.append(out.size() > 1 ? " " : "").append(one.text());
  return out + "]";
}

const tls_options& of_clients(const options& from) {
  static const tls_options none;
  return from.tls ? *from.tls : none;
}

}  // namespace

result<void> listener_reload::prepare(const options& before, const options& after, std::vector<std::string>& lines) {
  const tls_options& old = of_clients(before);
  const tls_options& fresh = of_clients(after);
  for (const auto& outcome : {fixed("AllowNonTLS", before.allow_non_tls, after.allow_non_tls),
                              fixed("ProxyProtocol", before.proxy_protocol, after.proxy_protocol),
                              fixed<std::int64_t>("HTTPSPort", before.https_port, after.https_port),
                              fixed("TLSRateLimit", old.connection_rate_limit, fresh.connection_rate_limit),
                              fixed("TLSMap", old.verify_and_map, fresh.verify_and_map)}) {
    if (!outcome) return outcome;
  }
  if (places(before) != places(after))
    return fail(errc::config_error,
                "config reload not supported for Listen: old=" + places(before) + ", new=" + places(after));
  const websocket_options& web = before.websocket;
  const websocket_options& new_web = after.websocket;
  if (fixed_parts(web) != fixed_parts(new_web) || web.tls.has_value() != new_web.tls.has_value())
    return fail(errc::config_error,
                "config reload not supported for Websocket: old=" + summary(web) + ", new=" + summary(new_web));
  const leafnode_options& leafs = before.leafnodes;
  const leafnode_options& new_leafs = after.leafnodes;
  if (fixed_parts(leafs) != fixed_parts(new_leafs) || leafs.tls.has_value() != new_leafs.tls.has_value())
    return fail(errc::config_error,
                "config reload not supported for LeafNode: old=" + summary(leafs) + ", new=" + summary(new_leafs));
  if (before.tls && after.tls && old.timeout != fresh.timeout)
    lines.push_back("tls timeout = " + seconds(fresh.timeout));
  if (after.tls)
    lines.push_back("tls = enabled");  // the files are read again, whether their names changed or not
  else if (before.tls)
    lines.push_back("tls = disabled");
  if (old.pinned_keys != fresh.pinned_keys) lines.push_back(std::to_string(fresh.pinned_keys.size()) + " pinned_certs");
  if (old.first != fresh.first || old.first_fallback != fresh.first_fallback)
    lines.push_back("Client TLS handshake first: " + shown(fresh.first != handshake_first::never));
  return {};
}

}  // namespace tern::server
