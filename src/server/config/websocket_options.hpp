// The `websocket {}` block (core 4.2, 8): what it says, and how it is read.
#pragma once

#include "server/config/tls_options.hpp"

#include <map>
#include <optional>

namespace tern::server {

struct websocket_options {
  std::string host;  // empty: as that of the client port
  int port = 0;      // 0: none
  std::string advertise;
  std::optional<tls_options> tls;
  bool no_tls = false;
  bool same_origin = false;
  std::vector<std::string> allowed_origins;
  bool compression = false;
  nanoseconds handshake_timeout = std::chrono::seconds(2);
  nanoseconds ping_interval{0};                // 0: as for other clients
  std::map<std::string, std::string> headers;  // added to the answer of the upgrade
  std::string jwt_cookie, user_cookie, password_cookie, token_cookie;

  // Credentials of its own instead of the server's (core 3.1); empty: none.
  std::string user, password, token, no_auth_user;
  std::optional<nanoseconds> auth_timeout;
};

void read_websocket_block(const config_value& block, websocket_options& into, config_findings& findings);
// What only shows when all is read, with the peer's texts. `default_port` stands in for an advertised address's.
result<void> check_websocket_options(const websocket_options& what);

// "scheme://host[:port]" of an Origin, lower case, with the port that is meant (core 8).
struct web_origin {
  std::string scheme, host;
  int port = 0;
  bool operator==(const web_origin&) const = default;
};
std::optional<web_origin> parse_web_origin(std::string_view text);

}  // namespace tern::server
