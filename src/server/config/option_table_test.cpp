#include "server/config/option_table.hpp"

#include "server/config/config_parser.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/option_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tern::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_of(const option_info& what) {
  std::vector<std::string> out;
  std::string rest(what.names);
  for (std::size_t blank; (blank = rest.find(' ')) != std::string::npos; rest.erase(0, blank + 1))
    out.push_back(rest.substr(0, blank));
  out.push_back(rest);
  return out;
}

// A value of the right type, if not of the right content.
std::string value_of(const option_info& what) {
  const auto is = [&what](std::string_view type) { return what.type.starts_with(type); };
  if (is("boolean")) return "true";
  if (is("number") || is("bytes")) return "1";
  if (is("duration")) return "40s";
  if (is("map")) return "{}";
  if (is("array")) return "[]";
  if (is("address")) return "\"127.0.0.1:1\"";
  return "x";
}

std::vector<std::string> complaints_about(const std::string& text) {
  const config_source nothing{
      .read_file = [](const std::string& path) -> result<std::string> { return fail(errc::not_found, path); },
      .environment = [](const std::string&) { return std::nullopt; },
  };
  const auto tree = parse_config(text, "f", nothing);
  EXPECT_TRUE(tree.has_value()) << text;
  options into;
  return tree ? apply_config(*tree, into).errors : std::vector<std::string>{};
}

TEST(option_table, no_name_stands_twice_in_a_block) {
  std::set<std::string> seen;
  for (const option_info& one : option_table())
    for (const std::string& name : names_of(one))
      EXPECT_TRUE(seen.insert(std::string(one.block) + "." + name).second) << one.block << " " << name;
}

TEST(option_table, blocks_stand_together) {
  std::set<std::string_view> seen;
  std::string_view block = "?";
  for (const option_info& one : option_table()) {
    if (one.block == block) continue;
    block = one.block;
    EXPECT_TRUE(seen.insert(block).second) << block << " is torn apart";
  }
}

TEST(option_table, what_is_not_honoured_says_why) {
  for (const option_info& one : option_table()) {
    if (one.status == option_status::honoured)
      EXPECT_NE(one.reload, option_reload::none) << one.names;
    else
      EXPECT_FALSE(one.text.empty()) << one.names;
  }
}

TEST(option_table, the_reader_knows_every_option_at_the_top_and_in_jetstream_core_4_2) {
  const std::map<std::string_view, std::pair<std::string, std::string>> around = {
      {"", {"", ""}}, {"jetstream", {"jetstream { ", " }"}}, {"jetstream.limits", {"jetstream { limits { ", " } }"}}};
  for (const option_info& one : option_table()) {
    const auto found = around.find(one.block);
    if (found == around.end()) continue;
    for (const std::string& name : names_of(one)) {
      const auto errors = complaints_about(found->second.first + name + ": " + value_of(one) + found->second.second);
      for (const std::string& error : errors) EXPECT_THAT(error, testing::Not(HasSubstr("unknown field \"" + name)));
      if (one.status == option_status::refused) {
        EXPECT_THAT(errors, testing::ElementsAre(HasSubstr("is not supported by ternd: " + std::string(one.text))));
      }
      if (one.status == option_status::without_effect) {
        EXPECT_THAT(errors, IsEmpty()) << name;
      }
    }
  }
}

TEST(option_table, explains_by_path_by_name_and_by_alias) {
  EXPECT_EQ(explain_option("jetstream.max_mem"),
            "jetstream.max_memory_store\n  also:     max_mem_store max_mem\n  type:     bytes\n  default:  three "
            "quarters of the machine's memory\n  status:   honoured\n  reload:   applied\n  of all memory streams; a "
            "reload may raise it\n");
  EXPECT_THAT(explain_option("Max_Conn"), HasSubstr("accounts.*.limits.max_connections"));
  EXPECT_THAT(explain_option("cluster"), HasSubstr("status:   refused\n  ternd is one server"));
  EXPECT_THAT(explain_option("nonsense"), IsEmpty());
}

TEST(option_table, pages_name_every_option) {
  const std::string page = configuration_page(), manual = configuration_man_page();
  for (const option_info& one : option_table()) {
    for (const std::string& name : names_of(one)) EXPECT_THAT(page, HasSubstr("`" + name + "`"));
    if (one.block.empty()) {
      EXPECT_THAT(manual, HasSubstr("\\fB" + std::string(one.name()) + "\\fR"));
    }
  }
}

}  // namespace
}  // namespace tern::server
