// Who may connect and what he may do (core 3): the blocks `authorization` and `accounts` of a configuration. Plain
// values; what a running server makes of them is in server/security.
#pragma once

#include "auth/permissions.hpp"
#include "jetstream/environment.hpp"
#include "routing/subject_map.hpp"
#include "server/config/operator_options.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tern::server {

struct options;
struct config_entry;
struct config_findings;

inline constexpr std::string_view global_account_name = "$G";
inline constexpr std::string_view default_system_account_name = "$SYS";

struct user_options {
  std::string name;  // a public key when it is an nkey
  bool is_nkey = false;
  std::string password;
  std::string account;  // empty: the global one
  std::optional<auth::permission_settings> permissions;
  std::vector<std::string> connection_types;  // empty: all
  bool proxy_required = false;
  friend bool operator==(const user_options&, const user_options&) = default;
};

// -1: no limit.
struct account_limits_options {
  std::int64_t max_connections = -1;
  std::int64_t max_subscriptions = -1;  // of each connection
  std::int64_t max_payload = -1;
  std::int64_t max_leafnodes = -1;
  friend bool operator==(const account_limits_options&, const account_limits_options&) = default;
};

enum class response_type { singleton, streamed, chunked };

struct latency_options {
  std::string subject;
  int sampling = 100;  // percent; 0: as the request's headers say
  friend bool operator==(const latency_options&, const latency_options&) = default;
};

struct export_options {
  bool service = false;
  std::string subject;
  std::optional<std::vector<std::string>> accounts;  // absent: everybody may import it
  std::int64_t account_token_position = 0;           // counted from 1; 0: none
  response_type responses = response_type::singleton;
  nanoseconds threshold{0};  // 0: the default of two minutes
  std::optional<latency_options> latency;
  bool allow_trace = false;
  friend bool operator==(const export_options&, const export_options&) = default;
};

struct import_options {
  bool service = false;
  std::string account, subject;
  std::string to, prefix;  // at most one of them
  bool share = false;      // of a service: tells who asks
  bool allow_trace = false;
  friend bool operator==(const import_options&, const import_options&) = default;
};

struct account_options {
  std::string name, nkey;
  std::vector<export_options> exports;
  std::vector<import_options> imports;
  std::vector<routing::mapping> mappings;
  account_limits_options limits;
  std::optional<jetstream::account_limits> jetstream;  // absent: none
  std::optional<auth::permission_settings> default_permissions;
  std::string trace_destination;
  int trace_sampling = 100;
  friend bool operator==(const account_options&, const account_options&) = default;
};

struct auth_callout_options {
  std::string issuer, account, curve_key;
  std::vector<std::string> users, allowed_accounts;
  friend bool operator==(const auth_callout_options&, const auth_callout_options&) = default;
};

struct security_options {
  // One of: a single user, a token, users and accounts.
  std::string user, password, token;
  std::vector<user_options> users;        // of all accounts
  std::vector<account_options> accounts;  // as configured; the global and the system account may be among them
  bool accounts_configured = false;
  std::optional<auth::permission_settings> default_permissions;
  nanoseconds timeout{0};  // 0: two seconds, or one more than that of TLS
  std::string no_auth_user;
  std::string system_account;  // empty: $SYS
  bool no_system_account = false;
  bool proxy_required = false;
  std::vector<routing::mapping> mappings;  // of the global account
  std::optional<auth_callout_options> callout;
  operator_options operators;
  friend bool operator==(const security_options&, const security_options&) = default;

  bool login_required() const {
    return !user.empty() || !token.empty() || !users.empty() || callout.has_value() || operators.in_use();
  }
};

void read_authorization_option(const config_entry& entry, options& into, config_findings& findings);
void read_accounts_option(const config_entry& entry, options& into, config_findings& findings);
void read_mappings_option(const config_entry& entry, options& into, config_findings& findings);
void read_no_auth_user_option(const config_entry& entry, options& into, config_findings& findings);
void read_system_account_option(const config_entry& entry, options& into, config_findings& findings);
void read_no_system_account_option(const config_entry& entry, options& into, config_findings& findings);

// What the blocks must say together, with the peer's texts.
result<void> check_security(const security_options& what);
result<void> check_mapping(const routing::mapping& what);
// Whether exports and imports fit together.
result<void> check_accounts(const security_options& what);
// Some password is neither a hash nor absent.
bool has_plain_passwords(const security_options& what);

}  // namespace tern::server
