// Makes the accounts of a configuration: their mappings, and what they take from each other (core 3.4, 7.1). Owned by
// the server, dies before the registry; one shard.
#pragma once

#include "base/timer_queue.hpp"
#include "routing/account_imports.hpp"
#include "server/account_registry.hpp"
#include "server/config/security_options.hpp"

#include <tern/base/error.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tern::server {

class account_setup {
 public:
  account_setup(account_registry& accounts, timer_queue& timers, std::function<time_point()> now,
                routing::describe_requester describe);
  ~account_setup();
  account_setup(const account_setup&) = delete;
  account_setup& operator=(const account_setup&) = delete;

  // Of options that check_accounts() has passed. Accounts that are gone keep their subject space, without any imports:
  // connections that are ending may still name it.
  void adopt(const security_options& what);

 private:
  struct links {
    std::unique_ptr<routing::response_routes> responses;
    std::unique_ptr<routing::account_imports> imports;
  };
  links& links_of(account_state& account);
  void link(account_state& account, const account_options& options, const security_options& all);

  account_registry& accounts_;
  timer_queue& timers_;
  std::function<time_point()> now_;
  routing::describe_requester describe_;
  std::map<std::string, links, std::less<>> links_;
};

}  // namespace tern::server
