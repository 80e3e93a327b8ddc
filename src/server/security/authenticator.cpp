#include "server/security/authenticator.hpp"

#include "auth/nkey.hpp"
#include "auth/password.hpp"
#include "base/hash.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::server {
namespace {

constexpr nanoseconds default_timeout = std::chrono::seconds(2);
constexpr const char* hidden = "[REDACTED]";

std::unexpected<close_reason> refused(close_reason why = close_reason::authentication_failure) {
  return std::unexpected(why);
}

bool shows_nothing(const protocol::connect_options& shown) {
  return shown.user.empty() && shown.pass.empty() && shown.auth_token.empty() && shown.nkey.empty() &&
         shown.jwt.empty();
}

}  // namespace

authenticator::authenticator(account_registry& accounts, runtime::worker_pool& workers)
    : accounts_(accounts), workers_(workers) {}

authenticator::~authenticator() = default;

void authenticator::adopt(const security_options& what) {
  options_ = what;
  users_.clear();
  const auto compiled = [](const std::optional<auth::permission_settings>& from) {
    return from ? std::make_shared<const auth::permissions>(*from) : nullptr;
  };
  default_permissions_ = compiled(what.default_permissions);
  wants_nonce_ = false;
  only_system_users_ = !what.users.empty();
  const std::string_view system =
      what.system_account.empty() ? default_system_account_name : std::string_view(what.system_account);
  for (const user_options& one : what.users) {
    wants_nonce_ |= one.is_nkey;
    only_system_users_ &= one.account == system;
    user made{.options = one, .permissions = compiled(one.permissions)};
    if (!one.permissions) {
      const auto account = std::ranges::find(what.accounts, one.account, &account_options::name);
      const bool own = account != what.accounts.end() && account->default_permissions.has_value();
      made.permissions = own ? compiled(account->default_permissions) : default_permissions_;
    }
    users_.emplace(one.name, std::move(made));
  }
}

nanoseconds authenticator::timeout() const {
  return options_.timeout > nanoseconds(0) ? options_.timeout : default_timeout;
}

const authenticator::user* authenticator::find(const std::string& name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

const authenticator::user* authenticator::find_first(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (const user* const who = find(name); who != nullptr && !who->options.is_nkey) return who;
  return nullptr;
}

authenticator::outcome authenticator::admit(const user& who) const {
  account_state* const account =
      who.options.account.empty() ? &accounts_.global() : accounts_.find(who.options.account);
  if (account == nullptr) return refused();
  return admission{account, who.options.name, who.options.is_nkey, who.permissions, hash64(who.options.password)};
}

std::optional<admission> authenticator::without_credentials(const std::string& own_no_auth_user) const {
  if (!login_required()) return admission{&accounts_.global(), {}, false, nullptr, 0};
  const std::string& name = own_no_auth_user.empty() ? options_.no_auth_user : own_no_auth_user;
  if (!name.empty()) {
    const user* const who = find(name);
    auto admitted = who != nullptr ? admit(*who) : outcome(refused());
    if (admitted) return *std::move(admitted);
    return std::nullopt;
  }
  // Users of the system account alone must not shut ordinary clients out (core 3.1).
  if (only_system_users_) return admission{&accounts_.global(), {}, false, nullptr, 0};
  return std::nullopt;
}

// What is the same for every way of proving it.
authenticator::outcome authenticator::check(const user& who, const login_attempt& attempt) const {
  const auto& types = who.options.connection_types;
  if (!types.empty() && std::ranges::find(types, attempt.connection_type) == types.end()) return refused();
  if ((who.options.proxy_required || options_.proxy_required) && !attempt.came_through_proxy)
    return refused(close_reason::proxy_required);
  return admit(who);
}

void authenticator::log_in(login_attempt attempt, std::move_only_function<void(outcome)> done) {
  const protocol::connect_options& shown = attempt.shown;
  if (shows_nothing(shown) && !attempt.certificate_names)
    if (auto anybody = without_credentials(attempt.no_auth_user)) return done(*std::move(anybody));
  if (!login_required()) return done(admission{&accounts_.global(), {}, false, nullptr, 0});

  if (!shown.nkey.empty()) {
    const user* const who = find(shown.nkey);
    const auto key = auth::decode_public_key(auth::key_kind::user, shown.nkey);
    const auto signature = codec::from_base64(shown.sig);
    if (who == nullptr || !who->options.is_nkey || !key || !signature || attempt.nonce.empty() ||
        !auth::signature_is_valid(*key, attempt.nonce, *signature))
      return done(refused());
    return done(check(*who, attempt));
  }
  if (!users_.empty()) {
    // A certificate's user takes the place of the one in CONNECT; his password is compared all the same.
    const user* const who = attempt.certificate_names ? find_first(*attempt.certificate_names) : find(shown.user);
    if (who == nullptr || who->options.is_nkey || who->options.name.empty()) return done(refused());
    if (who->options.password.empty() && attempt.certificates_name_users && !attempt.certificate_names)
      return done(refused());
    return compare(who->options.password, shown.pass, check(*who, attempt), std::move(done));
  }
  admission everybody{&accounts_.global(), {}, false, default_permissions_, 0};
  if (!options_.token.empty()) {
    everybody.user = hidden;
    everybody.secret = hash64(options_.token);
    return compare(options_.token, shown.auth_token, std::move(everybody), std::move(done));
  }
  if (options_.user.empty() || !auth::equal_secret(options_.user, shown.user)) return done(refused());
  everybody.user = options_.user;
  everybody.secret = hash64(options_.password);
  compare(options_.password, shown.pass, std::move(everybody), std::move(done));
}

void authenticator::compare(const std::string& stored, const std::string& shown, outcome when_equal,
                            std::move_only_function<void(outcome)> done) {
  if (!auth::is_bcrypt(stored)) return done(auth::equal_secret(stored, shown) ? std::move(when_equal) : refused());
  auto shared = std::make_shared<std::move_only_function<void(outcome)>>(std::move(done));
  const bool taken = workers_.run([stored, shown] { return auth::bcrypt_matches(stored, shown); },
                                  [this, alive = std::weak_ptr<int>(alive_), shared, when_equal](bool equal) {
                                    if (alive.expired()) return;
                                    if (!equal || !when_equal) return (*shared)(equal ? when_equal : refused());
                                    // A reload may have come while the hash was compared.
                                    if (review_of(*when_equal) != review::valid) return (*shared)(refused());
                                    (*shared)(*renewed(*when_equal));
                                  });
  if (!taken) (*shared)(refused());
}

authenticator::review authenticator::review_of(const admission& before) const {
  const auto judged = [&before](bool known, const std::string& secret) {
    if (!known) return review::gone;
    return before.secret == hash64(secret) ? review::valid : review::secret_changed;
  };
  if (before.user.empty()) return without_credentials() ? review::valid : review::secret_changed;
  if (!options_.token.empty()) return judged(before.user == hidden, options_.token);
  if (users_.empty()) return judged(before.user == options_.user, options_.password);
  const user* const who = find(before.user);
  if (who == nullptr) return review::gone;
  const bool same_account =
      before.account->name() ==
      (who->options.account.empty() ? global_account_name : std::string_view(who->options.account));
  return judged(same_account && who->options.is_nkey == before.is_nkey, who->options.password);
}

std::optional<admission> authenticator::renewed(const admission& before) const {
  if (before.user.empty()) return without_credentials();
  admission out = before;
  const user* const who = find(before.user);
  out.permissions = who != nullptr ? who->permissions : default_permissions_;
  return out;
}

}  // namespace tern::server
