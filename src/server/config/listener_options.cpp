#include "server/config/listener_options.hpp"

#include "server/config/config_reader.hpp"
#include "server/config/host_port.hpp"
#include "server/config/options.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

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

void read_proxy_protocol_option(const config_entry& entry, options& into, config_findings& findings) {
  take_bool(entry, into.proxy_protocol, findings);
}

}  // namespace tern::server
