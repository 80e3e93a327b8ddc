#include "server/system/accounts_view.hpp"

#include "server/server.hpp"

namespace tern::server {

std::vector<account_view> account_views(server& from) {
  server_context& state = from.context();
  return {{.name = state.global_account.name(),
           .interest = &state.global_account,
           .connections = from.connections().size(),
           .total_connections = from.connections().size(),
           .counts = state.totals,
           .slow_consumers = state.slow_consumers},
          {.name = state.system_account.name(), .interest = &state.system_account, .is_system = true}};
}

std::optional<account_view> account_view_of(server& from, std::string_view name) {
  for (account_view& one : account_views(from))
    if (one.name == name) return std::move(one);
  return std::nullopt;
}

std::uint64_t total_subscriptions(server& from) {
  std::uint64_t sum = 0;
  for (const account_view& one : account_views(from)) sum += one.interest->statistics().subscriptions;
  return sum;
}

std::string system_account_name(server& from) { return from.context().system_account.name(); }

}  // namespace tern::server
