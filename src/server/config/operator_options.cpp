#include "server/config/operator_options.hpp"

#include "auth/claims.hpp"
#include "runtime/host/files.hpp"
#include "server/config/block_errors.hpp"
#include "server/config/options.hpp"

#include <algorithm>

namespace tern::server {
namespace {

// A token itself, or the name of the file that has it.
void add_operator(const config_value& from, std::vector<std::string>& to, block_errors& errors) {
  std::string token = from.text;
  if (!token.starts_with("eyJ")) {
    auto read = runtime::host::read_text_file(token);
    if (!read) return errors.at(from, "error parsing operator JWT: " + read.error().context());
    token = auth::undecorate_token(*read);
  }
  const auto claims = auth::open_claims<auth::operator_claims>(token);
  if (!claims) return errors.at(from, "error parsing operator JWT: " + claims.error().context());
  to.push_back(std::move(token));
}

// Connections do not ask the authority yet: a server that would let everybody in must not start.
result<void> not_served() {
  return fail(errc::config_error, "operators: this server does not admit users by their JWTs");
}

}  // namespace

void read_operator_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  const config_value& from = entry.value;
  std::vector<std::string>& to = into.security.operators.tokens;
  to.clear();
  if (from.is_text()) return add_operator(from, to, errors);
  if (from.what != config_value::kind::array)
    return errors.at(from, "error parsing operators: unsupported type " + std::string(from.type_name()));
  for (const config_value& one : from.elements) {
    if (!one.is_text())
      return errors.at(one, "error parsing operators: unsupported type " + std::string(one.type_name()));
    add_operator(one, to, errors);
  }
}

void read_trusted_keys_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  std::vector<std::string>& keys = into.security.operators.trusted_keys;
  if (!errors.take(entry.value, keys)) return;
  for (const std::string& key : keys) {
    if (!auth::is_public_key(auth::key_kind::operator_, key))
      errors.at(entry.value, "trust key \"" + key + "\" required to be a valid public operator nkey");
  }
}

void read_resolver_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  const config_value& from = entry.value;
  const std::string text = from.is_text() ? lower_case(from.text) : std::string();
  if (text == "mem" || text == "memory") {
    into.security.operators.memory_resolver = true;
  } else if (text.starts_with("url(") || from.is_map()) {
    errors.at(from, "account resolvers other than MEMORY are not supported; resolver_preload takes the account JWTs");
  } else {
    errors.at(from,
              "error parsing account resolver, should be MEM or  URL(\"url\") or a map containing dir and type "
              "state=[FULL|CACHE])");
  }
}

void read_resolver_preload_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  if (!entry.value.is_map()) return errors.at(entry.value, "preload should be a map of account_public_key:account_jwt");
  for (const config_entry& one : entry.value.entries) {
    if (!one.value.is_text()) return errors.at(one.value, "preload map value should be a string JWT");
    if (!auth::open_claims<auth::account_claims>(one.value.text)) {
      errors.at(one.value, "invalid account JWT");
      continue;
    }
    into.security.operators.preload[one.key] = one.value.text;
  }
}

void read_pinned_accounts_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors(findings).take(entry.value, into.security.operators.pinned_accounts);
}

void read_default_sentinel_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors(findings).take(entry.value, into.security.operators.default_sentinel);
}

result<void> check_operators(const security_options& what) {
  const operator_options& operators = what.operators;
  const auto refuse = [](std::string text) { return fail(errc::config_error, std::move(text)); };
  if (!operators.in_use()) return {};
  if (!operators.tokens.empty() && !operators.trusted_keys.empty())
    return refuse("conflicting options for 'TrustedKeys' and 'TrustedOperators'");
  if (operators.tokens.empty()) return not_served();
  if (!operators.memory_resolver) return refuse("operators require an account resolver to be configured");
  if (what.accounts_configured) return refuse("operators do not allow Accounts to be configured directly");
  if (!what.users.empty()) return refuse("operators do not allow users to be configured directly");
  if (what.callout) return refuse("operators do not allow authorization callouts to be configured directly");
  if (!what.no_auth_user.empty()) return refuse("no_auth_user not compatible with Trusted Operator");
  for (const std::string& key : operators.pinned_accounts) {
    if (!auth::is_public_key(auth::key_kind::account, key))
      return refuse("pinned account key \"" + key + "\" is not a valid public account nkey");
  }
  if (!operators.default_sentinel.empty()) {
    const auto sentinel = auth::open_claims<auth::user_claims>(operators.default_sentinel);
    if (!sentinel) return refuse("default sentinel JWT not valid");
    if (!sentinel->nats.rights.bearer_token && sentinel->nats.rights != auth::user_rights{})
      return refuse("default sentinel must be a bearer token");
  }
  return not_served();
}

}  // namespace tern::server
