#include "server/config/websocket_options.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/host_port.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace tern::server {
namespace {

// One run over a block.
class websocket_reader {
 public:
  websocket_reader(websocket_options& into, config_findings& findings) : into_(into), findings_(findings) {}

  void read(const config_value& block);

 private:
  void complain(const config_value& at, std::string text) {
    findings_.errors.push_back(at.place.text() + ": " + std::move(text));
  }
  void wrong_type(const config_value& at, std::string_view wanted) {
    complain(at,
             "interface conversion: interface {} is " + std::string(at.type_name()) + ", not " + std::string(wanted));
  }
  void take(const config_value& from, std::string& to) {
    if (from.is_text())
      to = from.text;
    else
      wrong_type(from, "string");
  }
  void take(const config_value& from, bool& to) {
    if (from.what == config_value::kind::boolean)
      to = from.boolean;
    else
      wrong_type(from, "bool");
  }
  void take_port(const config_value& from) {
    if (from.what != config_value::kind::integer) return wrong_type(from, "int64");
    into_.port = static_cast<int>(
        std::clamp<std::int64_t>(from.integer, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  void take_listen(const config_value& from);
  void take_duration(const config_entry& entry, std::string_view prefix, nanoseconds& to);
  void take_origins(const config_value& from);
  void take_headers(const config_value& from);
  void take_authorization(const config_value& from);
  void read_key(const std::string& key, const config_entry& entry);

  websocket_options& into_;
  config_findings& findings_;
};

void websocket_reader::take_listen(const config_value& from) {
  if (from.what == config_value::kind::integer) return take_port(from);
  if (!from.is_text()) return complain(from, "expected port or host:port, got " + std::string(from.type_name()));
  auto read = parse_host_port(from.text);
  if (!read) return complain(from, read.error().context());
  std::tie(into_.host, into_.port) = std::move(*read);
}

void websocket_reader::take_duration(const config_entry& entry, std::string_view prefix, nanoseconds& to) {
  const config_value& from = entry.value;
  if (from.is_text()) {
    const auto read = parse_go_duration(from.text);
    if (!read) return complain(from, std::string(prefix) + "time: invalid duration \"" + from.text + "\"");
    to = *read;
  } else if (from.what == config_value::kind::integer) {
    to = std::chrono::seconds(std::clamp<std::int64_t>(from.integer, 0, 1'000'000'000));
    if (!prefix.empty())
      findings_.warnings.push_back(from.place.text() + ": invalid use of field \"" + entry.key + "\": " + entry.key +
                                   " should be converted to a duration");
  } else {
    complain(from, "error parsing " + entry.key + ": unsupported type " + std::string(from.type_name()));
  }
}

void websocket_reader::take_origins(const config_value& from) {
  into_.allowed_origins.clear();
  if (from.is_text()) {
    into_.allowed_origins.push_back(from.text);
  } else if (from.what == config_value::kind::array) {
    for (const config_value& one : from.elements) {
      if (one.is_text())
        into_.allowed_origins.push_back(one.text);
      else
        complain(one, "error parsing allowed origins: unsupported type in array " + std::string(one.type_name()));
    }
  } else {
    complain(from, "error parsing allowed origins: unsupported type " + std::string(from.type_name()));
  }
}

void websocket_reader::take_headers(const config_value& from) {
  if (!from.is_map()) return complain(from, "error parsing headers: unsupported type " + std::string(from.type_name()));
  for (const config_entry& one : from.entries) {
    if (!one.value.is_text())
      complain(one.value,
               "error parsing header key " + one.key + ": unsupported type " + std::string(one.value.type_name()));
    else if ((one.key + one.value.text).find_first_of("\r\n") != std::string::npos)
      complain(one.value, "error parsing header key " + one.key + ": a line break in a header");
    else
      into_.headers[one.key] = one.value.text;
  }
}

void websocket_reader::take_authorization(const config_value& from) {
  if (!from.is_map()) return wrong_type(from, "map[string]interface {}");
  for (const config_entry& one : from.entries) {
    const std::string key = lower_case(one.key);
    if (key == "user" || key == "username") {
      take(one.value, into_.user);
    } else if (key == "pass" || key == "password") {
      take(one.value, into_.password);
    } else if (key == "token") {
      take(one.value, into_.token);
    } else if (key == "timeout") {
      nanoseconds value{0};
      if (one.value.what == config_value::kind::floating)
        value = nanoseconds(static_cast<std::int64_t>(std::clamp(one.value.floating, 0.0, 1e9) * 1e9));
      else
        take_duration(one, {}, value);
      if (value > nanoseconds(0)) into_.auth_timeout = value;
    } else if (!one.used_as_variable) {
      complain(one.value, "unknown field \"" + one.key + "\"");
    }
  }
}

void websocket_reader::read_key(const std::string& key, const config_entry& entry) {
  const config_value& value = entry.value;
  if (key == "listen") return take_listen(value);
  if (key == "port") return take_port(value);
  if (key == "host" || key == "net") return take(value, into_.host);
  if (key == "advertise") return take(value, into_.advertise);
  if (key == "no_tls") return take(value, into_.no_tls);
  if (key == "same_origin") return take(value, into_.same_origin);
  if (key == "compression" || key == "compress") return take(value, into_.compression);
  if (key == "allowed_origins" || key == "allowed_origin" || key == "allow_origins" || key == "allow_origin" ||
      key == "origins" || key == "origin")
    return take_origins(value);
  if (key == "handshake_timeout") return take_duration(entry, {}, into_.handshake_timeout);
  if (key == "ping_interval") return take_duration(entry, "error parsing ping_interval: ", into_.ping_interval);
  if (key == "headers") return take_headers(value);
  if (key == "jwt_cookie") return take(value, into_.jwt_cookie);
  if (key == "user_cookie") return take(value, into_.user_cookie);
  if (key == "pass_cookie") return take(value, into_.password_cookie);
  if (key == "token_cookie") return take(value, into_.token_cookie);
  if (key == "no_auth_user") return take(value, into_.no_auth_user);
  if (key == "authorization" || key == "authentication") return take_authorization(value);
  if (key == "tls") {
    tls_options block;
    if (read_tls_block(value, block, findings_)) into_.tls = std::move(block);
    return;
  }
  if (!entry.used_as_variable) complain(value, "unknown field \"" + entry.key + "\"");
}

void websocket_reader::read(const config_value& block) {
  if (!block.is_map()) return complain(block, "Expected websocket to be a map, got " + std::string(block.type_name()));
  for (const config_entry& entry : block.entries) read_key(lower_case(entry.key), entry);
  if (into_.handshake_timeout <= nanoseconds(0)) into_.handshake_timeout = websocket_options{}.handshake_timeout;
}

}  // namespace

void read_websocket_block(const config_value& block, websocket_options& into, config_findings& findings) {
  into = {};
  websocket_reader(into, findings).read(block);
}

result<void> check_websocket_options(const websocket_options& what) {
  if (what.port == 0) return {};
  // Nobody looks at them yet: silence would admit whom they are to keep out.
  if (!what.user.empty() || !what.password.empty() || !what.token.empty())
    return fail(errc::config_error,
                "authorization of the websocket block is not supported by ternd: name users in the "
                "server's own, with allowed_connection_types");
  if (!what.no_tls && !what.tls) return fail(errc::config_error, "websocket requires TLS configuration");
  for (const std::string& origin : what.allowed_origins)
    if (!parse_web_origin(origin))
      return fail(errc::config_error,
                  "unable to parse allowed origin: parse \"" + origin + "\": invalid URI for request");
  return {};
}

std::optional<web_origin> parse_web_origin(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  web_origin out{.scheme = lower_case(text.substr(0, colon))};
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  out.port = out.scheme == "https" || out.scheme == "wss" ? 443 : 80;
  const std::size_t bracket = rest.find(']');
  const std::size_t port = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (port != std::string_view::npos) {
    const auto number = parse_signed_decimal(rest.substr(port + 1));
    if (!number || *number < 0 || *number > 65535) return std::nullopt;
    out.port = static_cast<int>(*number);
    rest = rest.substr(0, port);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  out.host = lower_case(rest);
  return out;
}

}  // namespace tern::server
