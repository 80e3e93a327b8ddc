#include "server/account_registry.hpp"

#include <gtest/gtest.h>

namespace tern::server {
namespace {

TEST(account_registry, has_the_two_that_always_exist_core_3_4) {
  account_registry accounts(1);
  EXPECT_EQ(accounts.global().name(), "$G");
  EXPECT_EQ(accounts.system().name(), "$SYS");
  EXPECT_EQ(accounts.find("$G"), &accounts.global());
  EXPECT_EQ(accounts.find("A"), nullptr);
}

TEST(account_registry, an_account_stays_where_it_is_until_it_is_removed) {
  account_registry accounts(1);
  account_state& first = accounts.obtain("A");
  for (int number = 0; number < 100; ++number) accounts.obtain("B" + std::to_string(number));
  EXPECT_EQ(&accounts.obtain("A"), &first);
  accounts.remove("B7");
  accounts.remove("nobody");
  EXPECT_EQ(accounts.find("B7"), nullptr);
  std::vector<std::string> names;
  accounts.for_each([&names](account_state& one) { names.push_back(one.name()); });
  EXPECT_EQ(names.size(), 102u);
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

}  // namespace
}  // namespace tern::server
