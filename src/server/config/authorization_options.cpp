// Reads `authorization {}`, `no_auth_user` and the users of accounts (core 3.1, 3.2).
#include "server/config/authorization_options.hpp"

#include "auth/nkey.hpp"
#include "auth/password.hpp"
#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "server/config/permission_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tern::server {
namespace {

bool is_connection_type(std::string_view text) {
  constexpr std::array<std::string_view, 7> types = {"STANDARD", "WEBSOCKET", "LEAFNODE",  "LEAFNODE_WS",
                                                     "MQTT",     "MQTT_WS",   "IN_PROCESS"};
  return std::ranges::find(types, text) != types.end();
}

void read_connection_types(const config_value& from, user_options& to, block_errors& errors) {
  if (!errors.take(from, to.connection_types)) return;
  std::string unknown;
  for (std::string& type : to.connection_types) {
    type = upper_case(type);
    if (!is_connection_type(type)) unknown.append(unknown.empty() ? "" : " ").append("\"" + type + "\"");
  }
  if (!unknown.empty()) errors.at(from, "invalid connection types [" + unknown + "]");
}

void read_user(const config_value& from, std::string_view account, std::vector<user_options>& to,
               block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Expected user entry to be a map/struct, got " + shown(from));
  user_options user;
  user.account = account;
  std::string nkey;
  const config_value* nkey_at = &from;
  bool named = false;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "user" || key == "username") {
      named = errors.take(entry.value, user.name);
    } else if (key == "password" || key == "pass") {
      errors.take(entry.value, user.password);
    } else if (key == "nkey") {
      errors.take(entry.value, nkey);
      nkey_at = &entry.value;
    } else if (key == "permissions" || key == "permission" || key == "authorization") {
      user.permissions = read_permissions(entry.value, errors);
    } else if (key == "allowed_connection_types" || key == "connection_types" || key == "clients") {
      read_connection_types(entry.value, user, errors);
    } else if (key == "proxy_required") {
      errors.take(entry.value, user.proxy_required);
    } else {
      errors.unknown(entry);
    }
  }
  if (!nkey.empty()) {
    if (!auth::is_public_key(auth::key_kind::user, nkey))
      return errors.at(*nkey_at, "Not a valid public nkey for a user");
    if (named || !user.password.empty()) return errors.at(from, "Nkey users do not take usernames or passwords");
    user.name = std::move(nkey);
    user.is_nkey = true;
  } else if (user.name.empty()) {
    return errors.at(from, "User entry requires a user");
  }
  to.push_back(std::move(user));
}

void read_timeout(const config_value& from, nanoseconds& to, block_errors& errors) {
  if (from.is_text()) {
    const auto read = parse_go_duration(from.text);
    if (!read)
      return errors.at(from, "error parsing authorization timeout: time: invalid duration \"" + from.text + "\"");
    to = *read;
  } else if (from.what == config_value::kind::integer || from.what == config_value::kind::floating) {
    constexpr double seconds_max = 365.0 * 24 * 3600;
    const double seconds = from.what == config_value::kind::integer ? static_cast<double>(from.integer) : from.floating;
    to = nanoseconds(static_cast<std::int64_t>(std::clamp(seconds, 0.0, seconds_max) * 1e9));
  } else {
    errors.at(from, "error parsing authorization config, 'timeout' wrong type");
  }
}

void read_callout(const config_value& from, std::optional<auth_callout_options>& to, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Expected authorization callout to be a map/struct, got " + shown(from));
  auth_callout_options callout;
  const auto must_be = [&](const config_entry& entry, auth::key_kind kind, std::string& into) {
    if (errors.take(entry.value, into) && !auth::is_public_key(kind, into))
      errors.at(entry.value, "Expected callout user to be a valid public " +
                                 std::string(kind == auth::key_kind::curve ? "xkey" : "account nkey") + ", got \"" +
                                 into + "\"");
  };
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "issuer")
      must_be(entry, auth::key_kind::account, callout.issuer);
    else if (key == "xkey" || key == "key")
      must_be(entry, auth::key_kind::curve, callout.curve_key);
    else if (key == "account" || key == "acc")
      errors.take(entry.value, callout.account);
    else if (key == "auth_users" || key == "users")
      errors.take(entry.value, callout.users);
    else if (key == "allowed_accounts")
      errors.take(entry.value, callout.allowed_accounts);
    else if (!entry.used_as_variable)
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" parsing authorization callout");
  }
  if (callout.issuer.empty()) return errors.at(from, "Authorization callouts require an issuer to be specified");
  if (callout.users.empty()) return errors.at(from, "Authorization callouts require authorized users to be specified");
  errors.at(from, "option \"auth_callout\" is not supported by this version of ternd");
  to = std::move(callout);
}

}  // namespace

void read_users(const config_value& from, std::string_view account, std::vector<user_options>& to,
                block_errors& errors) {
  if (from.what != config_value::kind::array)
    return errors.at(from, "Expected users field to be an array, got " + shown(from));
  for (const config_value& one : from.elements) read_user(one, account, to, errors);
}

void read_authorization_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  const config_value& block = entry.value;
  if (!block.is_map()) return errors.at(block, "Expected authorization to be a map/struct, got " + shown(block));
  security_options& security = into.security;
  std::vector<user_options> users;
  for (const config_entry& one : block.entries) {
    const std::string key = lower_case(one.key);
    if (key == "user" || key == "username")
      errors.take(one.value, security.user);
    else if (key == "pass" || key == "password")
      errors.take(one.value, security.password);
    else if (key == "token")
      errors.take(one.value, security.token);
    else if (key == "timeout")
      read_timeout(one.value, security.timeout, errors);
    else if (key == "users")
      read_users(one.value, {}, users, errors);
    else if (key == "default_permission" || key == "default_permissions" || key == "permissions")
      security.default_permissions = read_permissions(one.value, errors);
    else if (key == "auth_callout" || key == "auth_hook")
      read_callout(one.value, security.callout, errors);
    else if (key == "proxy_required")
      errors.take(one.value, security.proxy_required);
    else
      errors.unknown(one);
  }
  if (!security.token.empty() && !users.empty()) return errors.at(block, "Can not have a token and a users array");
  if (!security.user.empty() && !users.empty())
    return errors.at(block, "Can not have a single user/pass and a users array");
  if (!security.user.empty() && !security.token.empty()) return errors.at(block, "Cannot have a user/pass and token");
  std::ranges::move(users, std::back_inserter(security.users));
}

void read_no_auth_user_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors(findings).take(entry.value, into.security.no_auth_user);
}

void read_system_account_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors(findings).take(entry.value, into.security.system_account);
}

void read_no_system_account_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors(findings).take(entry.value, into.security.no_system_account);
}

bool has_plain_passwords(const security_options& what) {
  const auto plain = [](const std::string& text) { return !text.empty() && !auth::is_bcrypt(text); };
  return plain(what.password) || plain(what.token) ||
         std::ranges::any_of(what.users, [&](const user_options& user) { return plain(user.password); });
}

result<void> check_security(const security_options& what) {
  if (what.accounts_configured || !what.users.empty()) {
    if (!what.user.empty())
      return fail(errc::config_error, what.accounts_configured ? "Can not have a single user/pass and accounts"
                                                               : "Can not have a single user/pass and a users array");
    if (!what.token.empty())
      return fail(errc::config_error, what.accounts_configured ? "Can not have a token and accounts"
                                                               : "Can not have a token and a users array");
  }
  std::vector<std::string_view> names;
  for (const user_options& user : what.users) names.push_back(user.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    const bool nkey =
        std::ranges::any_of(what.users, [&](const user_options& user) { return user.is_nkey && user.name == *twice; });
    return fail(errc::config_error,
                "Duplicate " + std::string(nkey ? "nkey" : "user") + " \"" + std::string(*twice) + "\" detected");
  }
  if (!what.no_auth_user.empty()) {
    if (what.users.empty())
      return fail(errc::config_error,
                  "no_auth_user: \"" + what.no_auth_user + "\" present, but users/nkeys are not defined");
    if (std::ranges::find(what.users, what.no_auth_user, &user_options::name) == what.users.end())
      return fail(errc::config_error, "no_auth_user: \"" + what.no_auth_user +
                                          "\" not present as user or nkey in authorization block or account "
                                          "configuration");
  }
  return {};
}

}  // namespace tern::server
