// What is known of a connection from the way its bytes come, beside the bytes: TLS, the address that a proxy told, the
// HTTP request of a WebSocket. Plain values; a connection over bare TCP has none.
#pragma once

#include "runtime/tls/tls_stream.hpp"
#include "runtime/transport.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tern::server {

struct websocket_facts {
  runtime::endpoint local;  // where it was listened
  std::string path;
  std::string forwarded_for;  // the first address of X-Forwarded-For; empty: none
  // From cookies that the configuration names; they hold where CONNECT says nothing (core 8).
  std::string cookie_jwt, cookie_user, cookie_password, cookie_token;
};

struct connection_facts {
  std::optional<runtime::endpoint> proxied_peer;
  std::optional<runtime::tls_facts> tls;
  bool tls_first = false;
  std::optional<websocket_facts> websocket;

  // The certificate that the client has shown and that was verified, for mapping it to a user (core 3.7).
  const runtime::tls_peer_certificate* certificate() const { return tls && tls->peer ? &*tls->peer : nullptr; }
};

}  // namespace tern::server
