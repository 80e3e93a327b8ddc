#include "server/system/accounts_view.hpp"

#include "server/server.hpp"

namespace tern::server {
namespace {

account_view view_of(server& from, account_state& one) {
  return {.name = one.name(),
          .interest = &one.interest,
          .is_system = &one == &from.context().accounts.system(),
          .connections = one.connections,
          .counts = one.counts,
          .slow_consumers = one.slow_consumers};
}

}  // namespace

std::vector<account_view> account_views(server& from) {
  std::vector<account_view> out;
  from.context().accounts.for_each([&](account_state& one) { out.push_back(view_of(from, one)); });
  return out;
}

std::optional<account_view> account_view_of(server& from, std::string_view name) {
  account_state* const found = from.context().accounts.find(name);
  if (found == nullptr) return std::nullopt;
  return view_of(from, *found);
}

std::uint64_t total_subscriptions(server& from) {
  std::uint64_t sum = 0;
  from.context().accounts.for_each([&sum](account_state& one) { sum += one.interest.statistics().subscriptions; });
  return sum;
}

std::string system_account_name(server& from) { return from.context().accounts.system().name(); }

}  // namespace tern::server
