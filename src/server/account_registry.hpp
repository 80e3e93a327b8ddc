// The accounts of a server: a subject space each, and what its clients have done. Owned by the server; one shard. An
// account stays where it is until it is removed, so that connections may hold on to theirs.
#pragma once

#include "routing/account.hpp"
#include "server/config/security_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tern::server {

struct traffic {
  std::uint64_t in_messages = 0, in_bytes = 0, out_messages = 0, out_bytes = 0;  // bytes: headers and payload
};

struct account_state {
  account_state(std::string name, std::uint64_t seed) : interest(std::move(name), seed) {}
  const std::string& name() const { return interest.name(); }

  routing::account interest;
  traffic counts;
  account_limits_options limits;
  std::size_t connections = 0;  // that were admitted and are open
  std::uint64_t slow_consumers = 0;
};

class account_registry {
 public:
  // With the two that always exist.
  explicit account_registry(std::uint64_t seed);

  account_state& global() { return *global_; }
  account_state& system() { return *system_; }
  account_state* system_if_any() { return has_system_ ? system_ : nullptr; }
  // Which account is about the server; made when it is not there. Empty: none is.
  void set_system(std::string_view name);
  account_state* find(std::string_view name);
  // The one of that name, made when it is not there.
  account_state& obtain(std::string_view name);
  // Not the two above; nobody may hold on to it.
  void remove(std::string_view name);
  void for_each(const std::function<void(account_state&)>& visit);  // by name

 private:
  std::uint64_t seed_;
  std::map<std::string, std::unique_ptr<account_state>, std::less<>> all_;
  account_state* global_;
  account_state* system_;
  bool has_system_ = true;
};

}  // namespace tern::server
