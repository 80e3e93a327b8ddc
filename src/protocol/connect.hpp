// The CONNECT record that a client sends (core 1.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tern/base/error.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::protocol {

// The defaults are those of a connection that sends no CONNECT. What is not written by a client (legacy and server
// fields) is optional or empty.
struct connect_options {
  bool verbose = true;
  bool pedantic = true;
  bool echo = true;
  bool tls_required = false;
  std::string nkey;
  std::string jwt;
  std::string sig;
  std::string auth_token;
  std::string user;
  std::string pass;
  std::string name;
  std::string lang;
  std::string version;
  int protocol = 0;
  bool headers = false;
  bool no_responders = false;
  std::string account;
  bool new_account = false;
  std::string remote_account;
  std::string proxy_sig;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {
      {"verbose", {}}, {"pedantic", {}}, {"echo", {}},    {"tls_required", {}}, {"lang", {}},
      {"version", {}}, {"protocol", {}}, {"headers", {}}, {"no_responders", {}}};
};

// Appends `CONNECT {...} CRLF`.
void append_connect(std::string& out, const connect_options& options);
// Merges onto the defaults, or onto what an earlier CONNECT said; key case does not matter, null leaves the default,
// unknown keys are ignored. Text that is no UTF-8 and halves of surrogate pairs become U+FFFD, as for the peer.
result<connect_options> read_connect(std::string_view json, const connect_options& onto = {});
// The JSON text with its secrets as [REDACTED], for trace logs.
std::string redact_connect(std::string_view json);

}  // namespace tern::protocol
