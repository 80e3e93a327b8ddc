// Operator mode (core 3.5): which accounts the operators' tokens make, and who may come in with a user's token. Owned
// by the server; one shard. The accounts come out as the same plain options that a configuration gives, so that
// whatever sets up accounts does not know the difference.
//     auto authority = operator_authority::create(options.security, now);
//     setup.adopt(authority->with_accounts(options.security));
//     auto login = authority->log_in(connect, {...});
#pragma once

#include "auth/user_admission.hpp"
#include "protocol/connect.hpp"
#include "server/config/security_options.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tern::server {

struct token_login {
  std::string account, account_name;  // the account's key, which is its name in the registry
  std::string user, user_name;        // the user's key
  std::optional<auth::permission_settings> permissions;
  std::int64_t max_subscriptions = -1, max_payload = -1;  // the user's own; those of the account hold besides
  std::optional<time_point> deadline;                     // `User Authentication Expired` then
  std::int64_t issued_at = 0;
  std::string issuer;
  bool is_bearer = false;  // its token is a secret
  bool proxy_required = false;
};

class operator_authority {
 public:
  // Of options that check_operators() has passed. Fails for a system account that is not there. Tokens of accounts that
  // are not the operators' or not current are left out: their users are refused.
  static result<operator_authority> create(const security_options& what, time_point now);

  // Empty: there is none, and no services of it.
  const std::string& system_account() const { return system_account_; }
  bool knows(std::string_view account) const { return accounts_.contains(account); }
  // The options with the accounts of the tokens. Imports that nobody has allowed are left out.
  security_options with_accounts(security_options what, time_point now) const;

  result<token_login> log_in(const protocol::connect_options& shown, const auth::user_presentation& at) const;
  // Whether somebody who came in so would still be admitted, after the accounts have changed.
  bool still_valid(const token_login& before, time_point now) const;

 private:
  account_options options_of(const auth::account_claims& claims, time_point now) const;
  void add_imports(const auth::account_claims& claims, account_options& to, time_point now) const;
  std::optional<std::vector<std::string>> importers_of(const auth::account_claims& exporter,
                                                       const auth::export_claims& what, time_point now) const;
  bool may_import(const auth::account_claims& importer, const auth::import_claims& what, time_point now) const;

  auth::operator_trust trust_;
  std::map<std::string, auth::account_claims, std::less<>> accounts_;  // by key
  std::vector<std::string> pinned_;
  std::string system_account_, sentinel_;
};

}  // namespace tern::server
