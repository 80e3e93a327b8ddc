// Why a connection ended, in the words of /connz and of the disconnect events (core 2.1).
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::server {

enum class close_reason : std::uint8_t {
  client_closed,
  authentication_timeout,
  authentication_failure,
  tls_handshake_failure,
  slow_consumer_pending,
  slow_consumer_deadline,
  write_error,
  read_error,
  parse_error,
  stale_connection,
  protocol_violation,
  bad_protocol_version,
  max_connections,
  max_payload,
  max_control_line,
  server_shutdown,
  no_responders_requires_headers,
  kicked,
  proxy_required,
  authentication_expired,
  max_account_connections,
  revoked,
  max_subscriptions,
  missing_account,
};

constexpr std::string_view to_word(close_reason reason) {
  switch (reason) {
    case close_reason::client_closed:
      return "Client Closed";
    case close_reason::authentication_timeout:
      return "Authentication Timeout";
    case close_reason::authentication_failure:
      return "Authentication Failure";
    case close_reason::tls_handshake_failure:
      return "TLS Handshake Failure";
    case close_reason::slow_consumer_pending:
      return "Slow Consumer (Pending Bytes)";
    case close_reason::slow_consumer_deadline:
      return "Slow Consumer (Write Deadline)";
    case close_reason::write_error:
      return "Write Error";
    case close_reason::read_error:
      return "Read Error";
    case close_reason::parse_error:
      return "Parse Error";
    case close_reason::stale_connection:
      return "Stale Connection";
    case close_reason::protocol_violation:
      return "Protocol Violation";
    case close_reason::bad_protocol_version:
      return "Bad Client Protocol Version";
    case close_reason::max_connections:
      return "Maximum Connections Exceeded";
    case close_reason::max_payload:
      return "Maximum Message Payload Exceeded";
    case close_reason::max_control_line:
      return "Maximum Control Line Exceeded";
    case close_reason::server_shutdown:
      return "Server Shutdown";
    case close_reason::no_responders_requires_headers:
      return "No Responders Requires Headers";
    case close_reason::kicked:
      return "Kicked";
    case close_reason::proxy_required:
      return "Proxy Required";
    case close_reason::authentication_expired:
      return "Authentication Expired";
    case close_reason::max_account_connections:
      return "Maximum Account Connections Exceeded";
    case close_reason::max_subscriptions:
      return "Maximum Subscriptions Exceeded";
    case close_reason::revoked:
      return "Credentials Revoked";
    case close_reason::missing_account:
      return "Missing Account";
  }
  return "";
}

}  // namespace tern::server
