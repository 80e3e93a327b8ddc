// Whether the user of a token may come in (core 3.5): the checks of the peer in its order, as functions of the claims
// and the time. Stateless but for operator_trust, which is made at the start and not changed; one shard.
//     auto user = open_claims<user_claims>(connect.jwt);                  // signature and form
//     check_user_claims(*user, now);
//     account_claims* account = find(user->account());
//     auto admitted = admit_user(*user, *account, {.connection_type = "STANDARD", ...});
#pragma once

#include "auth/claims.hpp"
#include "base/time_zone.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tern::auth {

// A network as `10.0.0.0/8` or `fd00::/8`. Version 4 is kept as ::ffff:a.b.c.d.
struct address_range {
  std::array<std::uint8_t, 16> address{};
  int bits = 0;
  bool contains(const address_range& one) const;
};
result<address_range> parse_address_range(std::string_view text);
// Without `/bits`; a zone behind `%` is not looked at.
result<address_range> parse_address(std::string_view text);

// Whose accounts are believed.
class operator_trust {
 public:
  void add(const operator_claims& claims);
  void add_key(std::string key) { keys_.insert(std::move(key)); }
  bool trusts(std::string_view issuer) const { return keys_.contains(issuer); }
  bool empty() const { return keys_.empty(); }

 private:
  std::set<std::string, std::less<>> keys_;
};

// `exp`, `nbf`, networks, windows and subjects.
result<void> check_user_claims(const user_claims& user, time_point now);
// The same of an account, and whether it has more imports and exports than it may.
result<void> check_account_claims(const account_claims& account, time_point now);

struct user_presentation {
  std::string_view nonce, signature;  // of CONNECT
  std::string_view address;           // of the peer; empty in process
  std::string_view connection_type;   // STANDARD...
  time_point now;
  std::function<std::shared_ptr<const time_zone>(std::string_view)> find_zone;
};

struct admitted_user {
  user_rights rights;                  // of the template when the signing key has a scope
  std::optional<time_point> deadline;  // when the token or the window of the day ends
  permission_settings permissions() const;
  bool has_permissions() const;
};

// The account is known, trusted and current.
result<admitted_user> admit_user(const user_claims& user, const account_claims& account,
                                 const user_presentation& shown);

// Also for those that are connected when the account's claims change.
bool is_revoked(const std::map<std::string, std::int64_t>& revocations, std::string_view key, std::int64_t issued_at);
// The account itself, or the scope of one of its signing keys; null when none of them has issued it.
struct issuer_scope {
  bool known = false;
  const user_rights* scope = nullptr;
};
issuer_scope find_issuer(const account_claims& account, std::string_view issuer);

// Lets `importer` import `subject` of `exporter` (a private export).
result<void> check_activation(const activation_claims& activation, std::string_view importer,
                              const account_claims& exporter, const export_claims& exported, time_point now);

}  // namespace tern::auth
