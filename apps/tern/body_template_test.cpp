#include "body_template.hpp"

#include <gtest/gtest.h>

namespace tern::command {
namespace {

std::string expanded(std::string_view text, const body_template::values& with = {}) {
  nuid_source ids(1);
  const auto parsed = body_template::parse(text);
  return parsed ? parsed->expand(with, ids) : "error: " + parsed.error().context();
}

TEST(templates, replace_placeholders) {
  const auto at = *parse_rfc3339("2026-01-02T15:04:05.000000007Z");
  const body_template::values values{7, at, "what?"};
  EXPECT_EQ(expanded("order {{Count}} of {{ Count }}", values), "order 7 of 7");
  EXPECT_EQ(expanded("{{.Count}}{{Count}}", values), "77");
  EXPECT_EQ(expanded("{{TimeStamp}}", values), "2026-01-02T15:04:05.000000007Z");
  EXPECT_EQ(expanded("{{Time}} {{Unix}} {{UnixNano}}", values), "3:04PM 1767366245 1767366245000000007");
  EXPECT_EQ(expanded("you said {{.Request}}", values), "you said what?");
  EXPECT_EQ(expanded("{{ID}}").size(), 22u);
}

TEST(templates, make_random_text_within_its_bounds) {
  nuid_source ids(1);
  const auto parsed = body_template::parse("{{ Random 3 5 }}");
  ASSERT_TRUE(parsed);
  for (int i = 0; i < 100; ++i) {
    const auto size = parsed->expand({}, ids).size();
    EXPECT_GE(size, 3u);
    EXPECT_LE(size, 5u);
  }
}

TEST(templates, leave_other_text_alone) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded(R"({"a":{"b":1}})"), R"({"a":{"b":1}})");
  nuid_source ids(1);
  EXPECT_EQ(body_template::verbatim("{{Count}}").expand({}, ids), "{{Count}}");
}

TEST(templates, refuse_what_they_do_not_know) {
  EXPECT_EQ(expanded("{{Nothing}}"), "error: '{{Nothing}}' is no placeholder");
  EXPECT_EQ(expanded("{{Random 5 3}}"), "error: '{{Random 5 3}}' is no placeholder");
  EXPECT_EQ(expanded("{{Count"), "error: a placeholder begins with {{ and has no end");
}

}  // namespace
}  // namespace tern::command
