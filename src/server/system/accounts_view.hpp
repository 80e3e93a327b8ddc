// The accounts as monitoring and the system account's services look at them: one place that knows how the server keeps
// them.
#pragma once

#include "routing/account.hpp"
#include "server/server_context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

class server;

struct account_view {
  std::string name;
  routing::account* interest = nullptr;
  bool is_system = false;
  std::size_t connections = 0;
  traffic counts;
  std::uint64_t slow_consumers = 0;
};

std::vector<account_view> account_views(server& from);  // by name
std::optional<account_view> account_view_of(server& from, std::string_view name);
std::uint64_t total_subscriptions(server& from);
std::string system_account_name(server& from);  // empty: there is none

}  // namespace tern::server
