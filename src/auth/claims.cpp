#include "auth/claims.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace tern::auth {
namespace {

constexpr std::int64_t version_known = 2;

bool key_is_one_of(std::string_view text, std::initializer_list<key_kind> kinds) {
  const auto key = decode_any_public_key(text);
  return key && std::ranges::find(kinds, key->kind) != kinds.end();
}

// Who may issue it, and about whom it is.
template <class Claims>
bool keys_fit(const Claims& claims) {
  using enum key_kind;
  if constexpr (std::same_as<Claims, operator_claims>) {
    return key_is_one_of(claims.iss, {operator_}) && key_is_one_of(claims.sub, {operator_});
  } else if constexpr (std::same_as<Claims, account_claims>) {
    return key_is_one_of(claims.iss, {operator_, account}) && key_is_one_of(claims.sub, {account});
  } else if constexpr (std::same_as<Claims, user_claims>) {
    return key_is_one_of(claims.iss, {account}) && key_is_one_of(claims.sub, {user});
  } else {
    return key_is_one_of(claims.iss, {account, operator_}) && !claims.sub.empty();
  }
}

template <class Claims>
result<Claims> read_checked(std::string_view json) {
  auto claims = codec::read_json<Claims>(json, codec::peer_lenient);
  if (!claims) return claims;
  if (claims->nats.type != Claims::token_type)
    return fail(errc::decode_error, "not a token of type " + std::string(Claims::token_type));
  if (claims->nats.version != version_known)
    return fail(errc::unsupported, "a token of another version", "tokens are of version 2");
  if (!keys_fit(*claims)) return fail(errc::decode_error, "issuer or subject of a token is a key of another kind");
  return claims;
}

}  // namespace

template <>
result<operator_claims> read_claims<operator_claims>(std::string_view json) {
  return read_checked<operator_claims>(json);
}
template <>
result<account_claims> read_claims<account_claims>(std::string_view json) {
  return read_checked<account_claims>(json);
}
template <>
result<user_claims> read_claims<user_claims>(std::string_view json) {
  return read_checked<user_claims>(json);
}
template <>
result<activation_claims> read_claims<activation_claims>(std::string_view json) {
  return read_checked<activation_claims>(json);
}

// Compared in seconds, the grain of the claims.
bool is_expired(std::int64_t exp, time_point now) {
  return exp > 0 && exp <= std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
}

bool is_too_early(std::int64_t nbf, time_point now) {
  return nbf > 0 && nbf > std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
}

std::optional<response_permission> response_permission_of(const std::optional<response_claims>& claims) {
  if (!claims) return std::nullopt;
  response_permission out;
  if (claims->max != 0) out.max = claims->max;
  if (claims->ttl != 0) out.expires = nanoseconds(claims->ttl);
  return out;
}

}  // namespace tern::auth

namespace tern::codec {

bool custom_json<auth::source_list>::read(json_reader& reader, auth::source_list& value) {
  value.networks.clear();
  if (reader.kind() != json_kind::string) return reader.as(value.networks);
  std::string_view text;
  if (!reader.as_string(text)) return false;
  std::string list(text);
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    std::string one = list.substr(at, end - at);
    std::erase(one, ' ');
    if (!one.empty()) value.networks.push_back(std::move(one));
    at = end + 1;
  }
  return true;
}

void custom_json<auth::source_list>::write(std::string& out, const auth::source_list& value) {
  write_json(out, value.networks);
}

bool custom_json<auth::sampling_rate>::read(json_reader& reader, auth::sampling_rate& value) {
  std::int64_t percent = 0;
  if (reader.kind() == json_kind::string) {
    std::string_view text;
    if (!reader.as_string(text)) return false;
    if (text != "headers") return reader.fail("expected a rate or \"headers\"");
    value.percent = 0;
    return true;
  }
  if (!reader.as_int64(percent)) return false;
  if (percent < 0 || percent > 100) return reader.fail("expected a rate of 0 to 100");
  value.percent = static_cast<int>(percent);
  return true;
}

void custom_json<auth::sampling_rate>::write(std::string& out, const auth::sampling_rate& value) {
  if (value.percent == 0)
    write_json_string(out, "headers");
  else
    write_json_number(out, static_cast<std::int64_t>(value.percent));
}

namespace {

struct scoped_key_record {
  std::string kind, key, role;
  auth::user_rights template_;
};

}  // namespace

bool custom_json<auth::signing_key>::read(json_reader& reader, auth::signing_key& value) {
  value = {};
  if (reader.kind() == json_kind::string) {
    std::string_view text;
    if (!reader.as_string(text)) return false;
    value.key = text;
    return true;
  }
  scoped_key_record record;
  if (!reader.as(record)) return false;
  if (record.kind != "user_scope") return reader.fail("expected a scope of kind user_scope");
  value.key = std::move(record.key);
  value.role = std::move(record.role);
  value.scope = std::move(record.template_);
  return true;
}

void custom_json<auth::signing_key>::write(std::string& out, const auth::signing_key& value) {
  if (!value.scope) return write_json_string(out, value.key);
  write_json(out, scoped_key_record{"user_scope", value.key, value.role, *value.scope});
}

}  // namespace tern::codec
