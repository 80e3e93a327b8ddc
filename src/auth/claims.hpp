// What tokens say, as plain records in the names of the wire (core 3.5). A limit of -1 is none; one that is absent is
// 0, as for the peer.
//     auto account = open_claims<account_claims>(token);
#pragma once

#include "auth/permissions.hpp"
#include "auth/token.hpp"

#include <tern/base/time.hpp>
#include <tern/codec/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::auth {

// A list of networks; also one text with commas.
struct source_list {
  std::vector<std::string> networks;
  friend bool operator==(const source_list&, const source_list&) = default;
};

// Percent, or "headers": as the request's own say, 0 here.
struct sampling_rate {
  int percent = 0;
};

struct time_window {
  std::string start, end;  // 15:04:05
  friend bool operator==(const time_window&, const time_window&) = default;
};

struct response_claims {
  std::int64_t max = 0, ttl = 0;  // ttl: nanoseconds
  friend bool operator==(const response_claims&, const response_claims&) = default;
};

// What a user may do; also the template of a scoped signing key.
struct user_rights {
  subject_permission pub, sub;
  std::optional<response_claims> resp;
  source_list src;
  std::vector<time_window> times;
  std::string times_location;
  std::int64_t subs = 0, data = 0, payload = 0;
  bool bearer_token = false;
  bool proxy_required = false;
  std::vector<std::string> allowed_connection_types;
  friend bool operator==(const user_rights&, const user_rights&) = default;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {{"subs", {}}, {"data", {}}, {"payload", {}}};
};

struct user_block {
  user_rights rights;
  std::string issuer_account;
  std::vector<std::string> tags;
  std::string type;
  std::int64_t version = 0;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {{"rights", {.flatten = true}}};
};

struct user_claims {
  static constexpr std::string_view token_type = "user";
  std::string aud, jti, iss, name, sub;
  std::int64_t exp = 0, iat = 0, nbf = 0;  // seconds since 1970
  user_block nats;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;

  // The account's own key, when a signing key has issued the token.
  const std::string& account() const { return nats.issuer_account.empty() ? iss : nats.issuer_account; }
};

// A key that may issue users; with a template when it is scoped. In a token: a text, or a record.
struct signing_key {
  std::string key, role;
  std::optional<user_rights> scope;
};

struct latency_claims {
  sampling_rate sampling;
  std::string results;
};

struct export_claims {
  std::string name, subject, type;
  bool token_req = false;
  std::map<std::string, std::int64_t> revocations;  // account to seconds since 1970
  std::string response_type;
  std::int64_t response_threshold = 0;  // nanoseconds
  std::optional<latency_claims> service_latency;
  std::int64_t account_token_position = 0;
  bool advertise = false, allow_trace = false;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct import_claims {
  std::string name, subject, account, token, to, local_subject, type;
  bool share = false, allow_trace = false;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct jetstream_claims {
  std::int64_t mem_storage = 0, disk_storage = 0, streams = 0, consumer = 0, max_ack_pending = 0;
  std::int64_t mem_max_stream_bytes = 0, disk_max_stream_bytes = 0;
  bool max_bytes_required = false;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct account_limit_claims {
  std::int64_t subs = 0, data = 0, payload = 0, imports = 0, exports = 0;
  bool wildcards = false, disallow_bearer = false;
  std::int64_t conn = 0, leaf = 0;
  jetstream_claims jetstream;
  std::map<std::string, jetstream_claims> tiered_limits;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {{"jetstream", {.flatten = true}}};
};

struct weighted_claims {
  std::string subject;
  std::int64_t weight = 0;  // 0: 100
  std::string cluster;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct permission_claims {
  subject_permission pub, sub;
  std::optional<response_claims> resp;
};

struct callout_claims {
  std::vector<std::string> auth_users, allowed_accounts;
  std::string xkey;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct trace_claims {
  std::string dest;
  std::int64_t sampling = 0;
};

struct account_block {
  std::vector<import_claims> imports;
  std::vector<export_claims> exports;
  account_limit_claims limits;
  std::vector<signing_key> signing_keys;
  std::map<std::string, std::int64_t> revocations;  // user or `*` to seconds since 1970
  permission_claims default_permissions;
  std::map<std::string, std::vector<weighted_claims>> mappings;
  std::optional<callout_claims> authorization;
  std::optional<trace_claims> trace;
  std::vector<std::string> tags;
  std::string type;
  std::int64_t version = 0;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct account_claims {
  static constexpr std::string_view token_type = "account";
  std::string aud, jti, iss, name, sub;
  std::int64_t exp = 0, iat = 0, nbf = 0;
  account_block nats;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct operator_block {
  std::vector<std::string> signing_keys;
  std::string account_server_url, system_account, assert_server_version;
  bool strict_signing_key_usage = false;
  std::vector<std::string> tags;
  std::string type;
  std::int64_t version = 0;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct operator_claims {
  static constexpr std::string_view token_type = "operator";
  std::string aud, jti, iss, name, sub;
  std::int64_t exp = 0, iat = 0, nbf = 0;
  operator_block nats;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

// Lets another account import what is not for everybody: `sub` is that account.
struct activation_block {
  std::string subject, kind, issuer_account, type;
  std::int64_t version = 0;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

struct activation_claims {
  static constexpr std::string_view token_type = "activation";
  std::string aud, jti, iss, name, sub;
  std::int64_t exp = 0, iat = 0, nbf = 0;
  activation_block nats;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

// The claims alone, of the right type and version, issued by a kind of key that may.
template <class Claims>
result<Claims> read_claims(std::string_view json);

template <class Claims>
result<Claims> open_claims(std::string_view token) {
  const auto json = open_token(token);
  if (!json) return std::unexpected(json.error());
  return read_claims<Claims>(*json);
}

// `exp` and `nbf` at that time.
bool is_expired(std::int64_t exp, time_point now);
bool is_too_early(std::int64_t nbf, time_point now);
inline bool is_current(const auto& claims, time_point now) {
  return !is_expired(claims.exp, now) && !is_too_early(claims.nbf, now);
}

std::optional<response_permission> response_permission_of(const std::optional<response_claims>& claims);

}  // namespace tern::auth

template <>
struct tern::codec::custom_json<tern::auth::source_list> {
  static bool read(json_reader& reader, tern::auth::source_list& value);
  static void write(std::string& out, const tern::auth::source_list& value);
};

template <>
struct tern::codec::custom_json<tern::auth::sampling_rate> {
  static bool read(json_reader& reader, tern::auth::sampling_rate& value);
  static void write(std::string& out, const tern::auth::sampling_rate& value);
};

template <>
struct tern::codec::custom_json<tern::auth::signing_key> {
  static bool read(json_reader& reader, tern::auth::signing_key& value);
  static void write(std::string& out, const tern::auth::signing_key& value);
};
