#include "server/config/security_options.hpp"

#include <gtest/gtest.h>

namespace tern::server {
namespace {

import_options service(std::string account, std::string subject, std::string to = {}) {
  return {.service = true, .account = std::move(account), .subject = std::move(subject), .to = std::move(to)};
}
account_options named(std::string name, std::vector<import_options> imports) {
  return {.name = std::move(name), .exports = {{.service = true, .subject = ">"}}, .imports = std::move(imports)};
}
std::string problem(std::vector<account_options> accounts) {
  security_options what;
  what.accounts = std::move(accounts);
  const auto checked = check_accounts(what);
  return checked ? std::string() : checked.error().context();
}

TEST(account_checks, imports_that_lead_back_to_where_they_began_are_refused_core_3_4) {
  EXPECT_EQ(problem({named("A", {service("B", "x")}), named("B", {service("A", "x")})}),
            "Error adding service import \"x\": import forms a cycle");
  EXPECT_EQ(
      problem({named("A", {service("B", "x")}), named("B", {service("C", "x")}), named("C", {service("A", "x")})}),
      "Error adding service import \"x\": import forms a cycle");
  EXPECT_EQ(problem({named("A", {service("B", "x")}), named("B", {service("A", "x", "y")})}), "");
  EXPECT_EQ(problem({named("A", {service("B", "x", "z")}), named("B", {service("A", "x")})}), "");
  EXPECT_EQ(problem({named("A", {service("B", "x")}), named("B", {service("C", "x")}), named("C", {})}), "");
}

// Every account imports from every other that comes behind it: paths without number, each import looked at once.
TEST(account_checks, many_accounts_that_import_from_each_other_are_checked_at_once) {
  std::vector<account_options> accounts;
  for (int at = 0; at < 40; ++at) {
    std::vector<import_options> imports;
    for (int from = at + 1; from < 40; ++from) imports.push_back(service("A" + std::to_string(from), "x"));
    accounts.push_back(named("A" + std::to_string(at), std::move(imports)));
  }
  EXPECT_EQ(problem(std::move(accounts)), "");
}

}  // namespace
}  // namespace tern::server
