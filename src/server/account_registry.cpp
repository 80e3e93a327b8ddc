#include "server/account_registry.hpp"

#include <cassert>
#include <utility>

namespace tern::server {

account_registry::account_registry(std::uint64_t seed)
    : seed_(seed), global_(&obtain("$G")), system_(&obtain("$SYS")) {}

account_state* account_registry::find(std::string_view name) {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : found->second.get();
}

account_state& account_registry::obtain(std::string_view name) {
  if (account_state* known = find(name)) return *known;
  constexpr std::uint64_t step = 0x9e3779b97f4a7c15;  // each account chooses queue members by a row of its own
  auto made = std::make_unique<account_state>(std::string(name), std::exchange(seed_, seed_ + step));
  return *all_.emplace(std::string(name), std::move(made)).first->second;
}

void account_registry::set_system(std::string_view name) {
  has_system_ = !name.empty();
  if (has_system_) system_ = &obtain(name);
}

void account_registry::remove(std::string_view name) {
  const auto found = all_.find(name);
  if (found == all_.end()) return;
  assert(found->second.get() != global_ && found->second.get() != system_);
  all_.erase(found);
}

void account_registry::for_each(const std::function<void(account_state&)>& visit) {
  for (const auto& [name, one] : all_) visit(*one);
}

}  // namespace tern::server
