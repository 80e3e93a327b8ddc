// Who a client is: users, passwords, tokens and nkeys of a configuration (core 3.1, 3.2). Owned by the server; one
// shard. Password hashes are compared by the worker pool, so an answer may come in a later turn.
#pragma once

#include "auth/permissions.hpp"
#include "protocol/connect.hpp"
#include "runtime/worker_pool.hpp"
#include "server/account_registry.hpp"
#include "server/config/security_options.hpp"
#include "server/connection/close_reason.hpp"

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern::server {

// What a login gives. The account lives as long as somebody is connected to it.
struct admission {
  account_state* account = nullptr;
  std::string user;  // as it is shown: a name, a public key, or "[REDACTED]" for a token; empty: nobody in particular
  bool is_nkey = false;
  std::shared_ptr<const auth::permissions> permissions;  // null: everything
  std::uint64_t secret = 0;                              // a hash of what was compared: a reload sees that it changed
};

struct login_attempt {
  protocol::connect_options shown;
  std::string nonce;
  std::string connection_type;  // STANDARD, WEBSOCKET, IN_PROCESS
  std::string no_auth_user;     // of the listener, if it has one of its own
  bool came_through_proxy = false;
  // Of a certificate that names its user (core 3.7): what it may call itself, in the order in which it is looked for.
  std::optional<std::vector<std::string>> certificate_names;
  // Some listener takes users from certificates: one without a password is nobody elsewhere (core 3.7).
  bool certificates_name_users = false;
};

class authenticator {
 public:
  // Admitted, or why not.
  using outcome = std::expected<admission, close_reason>;

  authenticator(account_registry& accounts, runtime::worker_pool& workers);
  ~authenticator();
  authenticator(const authenticator&) = delete;
  authenticator& operator=(const authenticator&) = delete;

  // The accounts are in the registry already.
  void adopt(const security_options& what);

  bool login_required() const { return options_.login_required(); }
  bool wants_nonce() const { return wants_nonce_; }
  nanoseconds timeout() const;
  // What a client is that gives no credentials; empty: it has to give some.
  std::optional<admission> without_credentials(const std::string& own_no_auth_user = {}) const;
  // `done` runs once, now or in a later turn; not any more when the authenticator is gone.
  void log_in(login_attempt attempt, std::move_only_function<void(outcome)> done);
  // What a reload means for somebody who was admitted so (core 4.4).
  enum class review { valid, gone, secret_changed };
  review review_of(const admission& before) const;
  // The same with the permissions of now; of somebody who is still valid.
  std::optional<admission> renewed(const admission& before) const;

 private:
  struct user {
    user_options options;
    std::shared_ptr<const auth::permissions> permissions;
  };
  const user* find(const std::string& name) const;
  const user* find_first(const std::vector<std::string>& names) const;
  outcome admit(const user& who) const;
  outcome check(const user& who, const login_attempt& attempt) const;
  void compare(const std::string& stored, const std::string& shown, outcome when_equal,
               std::move_only_function<void(outcome)> done);

  account_registry& accounts_;
  runtime::worker_pool& workers_;
  security_options options_;
  std::unordered_map<std::string, user> users_;
  std::shared_ptr<const auth::permissions> default_permissions_;
  bool wants_nonce_ = false;
  bool only_system_users_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace tern::server
