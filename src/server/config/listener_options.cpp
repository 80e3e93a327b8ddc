#include "server/config/listener_options.hpp"

#include "server/config/config_reader.hpp"
#include "server/config/host_port.hpp"
#include "server/config/options.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tern::server {
namespace {

void complain(config_findings& findings, const config_value& at, std::string text) {
  findings.errors.push_back(at.place.text() + ": " + std::move(text));
}

void wrong_type(config_findings& findings, const config_value& at, std::string_view wanted) {
  complain(findings, at,
           "interface conversion: interface {} is " + std::string(at.type_name()) + ", not " + std::string(wanted));
}

void take_bool(const config_entry& entry, bool& to, config_findings& findings) {
  if (entry.value.what != config_value::kind::boolean) return wrong_type(findings, entry.value, "bool");
  to = entry.value.boolean;
}

void take_port(const config_value& from, int& to, config_findings& findings) {
  if (from.what != config_value::kind::integer) return wrong_type(findings, from, "int64");
  to = static_cast<int>(
      std::clamp<std::int64_t>(from.integer, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace

void read_tls_option(const config_entry& entry, options& into, config_findings& findings) {
  tls_options block;
  if (read_tls_block(entry.value, block, findings)) into.tls = std::move(block);
}

void read_websocket_option(const config_entry& entry, options& into, config_findings& findings) {
  read_websocket_block(entry.value, into.websocket, findings);
}

void read_leafnodes_option(const config_entry& entry, options& into, config_findings& findings) {
  read_leafnodes_block(entry.value, into.leafnodes, findings);
}

void read_https_option(const config_entry& entry, options& into, config_findings& findings) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::integer) return take_port(from, into.https_port, findings);
  if (!from.is_text())
    return complain(findings, from, "expected port or host:port, got " + std::string(from.type_name()));
  auto read = parse_host_port(from.text);
  if (!read) return complain(findings, from, read.error().context());
  std::tie(into.http_host, into.https_port) = std::move(*read);
}

void read_https_port_option(const config_entry& entry, options& into, config_findings& findings) {
  take_port(entry.value, into.https_port, findings);
}

void read_allow_non_tls_option(const config_entry& entry, options& into, config_findings& findings) {
  take_bool(entry, into.allow_non_tls, findings);
}

bool read_own_listen_forms(const config_entry& entry, options& into, config_findings& findings) {
  constexpr std::string_view unix_prefix = "unix:";
  constexpr std::size_t addresses_max = 64;
  const config_value& from = entry.value;
  const bool is_list = from.what == config_value::kind::array;
  if (!is_list && !(from.is_text() && from.text.starts_with(unix_prefix))) return false;
  into.also_listen.clear();
  bool has_first = false;
  const std::span<const config_value> all = is_list ? std::span(from.elements) : std::span(&from, 1);
  if (all.empty() || all.size() > addresses_max) {
    complain(findings, from, "'listen' takes 1 to 64 addresses");
    return true;
  }
  for (const config_value& one : all) {
    if (one.is_text() && one.text.starts_with(unix_prefix)) {
      into.also_listen.push_back({.host = one.text.substr(unix_prefix.size()), .unix_socket = true});
      continue;
    }
    std::string host = into.host;
    int port = 0;
    if (one.what == config_value::kind::integer) {
      take_port(one, port, findings);
    } else if (auto read = one.is_text() ? parse_host_port(one.text) : result<std::pair<std::string, int>>(); !read) {
      complain(findings, one, read.error().context());
      continue;
    } else if (!one.is_text()) {
      complain(findings, one, "expected port or host:port, got " + std::string(one.type_name()));
      continue;
    } else {
      std::tie(host, port) = std::move(*read);
    }
    if (!std::exchange(has_first, true)) {
      into.host = std::move(host);
      into.port = port;
    } else {
      into.also_listen.push_back({.host = std::move(host), .port = static_cast<std::uint16_t>(std::max(port, 0))});
    }
  }
  if (!has_first) into.port = no_tcp_port;
  return true;
}

void read_proxy_protocol_option(const config_entry& entry, options& into, config_findings& findings) {
  take_bool(entry, into.proxy_protocol, findings);
}

}  // namespace tern::server
