#include "server/config/config_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tern::server {
namespace {

using testing::HasSubstr;

class config_parser_test : public testing::Test {
 protected:
  std::string json(std::string_view text) {
    const auto tree = parse_config(text, "/etc/main.conf", source_);
    if (!tree) return "error: " + tree.error().context();
    std::string out;
    append_json(out, *tree);
    return out;
  }

  std::map<std::string, std::string> files_, environment_;
  config_source source_{
      .read_file = [this](const std::string& path) -> result<std::string> {
        if (const auto found = files_.find(path); found != files_.end()) return found->second;
        return fail(errc::not_found, "open " + path + ": no such file or directory");
      },
      .environment = [this](const std::string& name) -> std::optional<std::string> {
        if (const auto found = environment_.find(name); found != environment_.end()) return found->second;
        return std::nullopt;
      },
  };
};

TEST_F(config_parser_test, separators_comments_and_ends_of_items_core_4_1) {
  EXPECT_EQ(json("a = 1\nb: 2 // two\nc 3 # three\nd\t=\t4, e: 5; f: 6\n"), R"({"a":1,"b":2,"c":3,"d":4,"e":5,"f":6})");
  EXPECT_EQ(json("{ \"a\": 1,\n 'b': 2 }\nc: 3"), R"({"a":1,"b":2,"c":3})");
  EXPECT_EQ(json(""), "{}");
  EXPECT_EQ(json("  # nothing\n// at all"), "{}");
}

TEST_F(config_parser_test, sizes_booleans_floats_and_dates_core_4_1) {
  EXPECT_EQ(json("a: [1k, 1kb, 1KiB, 2M, 2mb, -3, 1g]"), R"({"a":[1000,1024,1024,2000000,2097152,-3,1000000000]})");
  EXPECT_EQ(json("a: [yes, ON, True, no, off, FALSE]"), R"({"a":[true,true,true,false,false,false]})");
  EXPECT_EQ(json("a: 1.5, b: 2024-05-06T07:08:09Z"), R"({"a":1.5,"b":"2024-05-06T07:08:09Z"})");
}

TEST_F(config_parser_test, what_begins_like_a_number_may_be_a_string_core_4_1) {
  EXPECT_EQ(json("a: 3x, b: 127.0.0.1:4222, c: 10s, d: 3k4, e: 0x10, f: 1_000, g: 5e7bcd"),
            R"({"a":"3x","b":"127.0.0.1:4222","c":"10s","d":"3k4","e":"0x10","f":"1_000","g":"5e7bcd"})");
  EXPECT_EQ(json("a: +1"), R"({"a":"+1"})");
}

TEST_F(config_parser_test, strings_core_4_1) {
  EXPECT_EQ(json(R"(a: "t\tq\"b\\x\x41", b: 't\t', c: http://x/y, d: x#y)"),
            R"({"a":"t\tq\"b\\xA","b":"t\\t","c":"http://x/y","d":"x#y"})");
  EXPECT_EQ(json("a (\n one\n (two)\n)\nb: 1"), "{\"a\":\"\\n one\\n (two)\\n\",\"b\":1}");
  EXPECT_EQ(json("m { a: x-y_z.*>, c: x{y}"), R"({"m":{"a":"x-y_z.*\u003e","c":"x{y"}})");
}

TEST_F(config_parser_test, arrays_and_maps_nest_and_the_last_key_wins_core_4_1) {
  EXPECT_EQ(json("a [1, 2\n 3 # c\n [4],]\nm { x: { y: [ {z: 1} ] } }\na2: 1\na2: 2"),
            R"({"a":[1,2,3,[4]],"a2":2,"m":{"x":{"y":[{"z":1}]}}})");
  EXPECT_EQ(json("name{ a"), R"({"name{":"a"})");
}

TEST_F(config_parser_test, variables_come_from_blocks_then_from_the_environment_core_4_1) {
  environment_["PORT"] = "8222";
  environment_["NAME"] = "\"8222\"";
  EXPECT_EQ(json("v: outer\nm { v: inner, a: $v }\nb: $v\nc: $PORT, d: $NAME"),
            R"({"b":"outer","c":8222,"d":"8222","m":{"a":"inner","v":"inner"},"v":"outer"})");
  EXPECT_EQ(json("a: \"$b\", c: $2a$11$abc"), R"({"a":"$b","c":"$2a$11$abc"})");
  EXPECT_EQ(json("\na: $b"), "error: variable reference for 'b' on line 2 can not be found");
  environment_["LOOP"] = "$LOOP";
  EXPECT_THAT(json("a: $LOOP"), HasSubstr("can not be found"));
}

TEST_F(config_parser_test, includes_are_relative_and_see_no_outer_variables_core_4_1) {
  files_["/etc/sub/a.conf"] = "x: 1, v: 7\ninclude b.conf";
  files_["/etc/sub/b.conf"] = "y: 2";
  files_["/etc/c.conf"] = "z: $v";
  EXPECT_EQ(json("include 'sub/a.conf'\nw: $v\nm { INCLUDE sub/b.conf }"), R"({"m":{"y":2},"v":7,"w":7,"x":1,"y":2})");
  EXPECT_EQ(json("v: 1\ninclude c.conf"),
            "error: error parsing include file 'c.conf', variable reference for 'v' on line 1 can not be found");
  EXPECT_EQ(json("include none"),
            "error: error parsing include file 'none', open /etc/none: no such file or directory");
  files_["/etc/self.conf"] = "include self.conf";
  EXPECT_THAT(json("include self.conf"), HasSubstr("included too deeply"));
}

TEST_F(config_parser_test, errors_have_the_words_and_lines_of_the_peer_core_4_1) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1.5KB",
       "Parse error on line 1: 'Expected a top-level value to end with a new line, comment or EOF, but got 'K' "
       "instead.'"},
      {"a: [a;b]",
       "Parse error on line 1: 'Expected an array value terminator \",\" or an array terminator \"]\", but got ';' "
       "instead.'"},
      {"m { a: \"b\" c: \"d\" }",
       "Parse error on line 1: 'Expected a map value terminator \",\" or a map terminator \"}\", but got 'c' "
       "instead.'"},
      {"a:\nb: 1", "Parse error on line 2: 'Expected value but found new line'"},
      {"m {\n a: b\n", "Parse error on line 3: 'Unexpected EOF processing map.'"},
      {"= 3", "Parse error on line 1: 'Unexpected key separator '=''"},
      {"a: 2024-01-01 x", "Parse error on line 1: 'Expected 'T' in ISO8601 datetime, but found ' ' instead.'"},
      {"a: 99999999999999999999", "integer '99999999999999999999' is out of the range"},
      {"a: 1\nfoo\n", "config is invalid (/etc/main.conf:3:1)"},
      {"a: [1,,2]", "Parse error on line 1: 'Unexpected array value terminator ','.'"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(json(text), std::string("error: ") + want) << text;
}

TEST_F(config_parser_test, places_count_from_0_on_the_first_line_and_from_1_later_core_4_1) {
  const auto tree = parse_config("a { b: 1 }\n  c: 2\n", "/etc/main.conf", source_);
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->find("a")->value.place.text(), "/etc/main.conf:1:0");
  EXPECT_EQ(tree->find("a")->value.find("b")->value.place.text(), "/etc/main.conf:1:4");
  EXPECT_EQ(tree->find("c")->value.place.text(), "/etc/main.conf:2:3");
}

TEST_F(config_parser_test, the_digest_ignores_layout_core_4_4) {
  const auto digest = [this](std::string_view text) { return digest_of(*parse_config(text, "f", source_)); };
  EXPECT_EQ(digest("# x\nN: 3\nserver_tags: [ b, a ], ping_max: $N\n"),
            "sha256:aa5b2d7b6ce70fb371e203d6033247af343202bf4ef81ebc3cf3727ce68b9d00");
  EXPECT_EQ(digest("a: 1, b: 2"), digest("b = 2 // c\na = 1"));
  EXPECT_NE(digest("a: 1"), digest("a: 2"));
}

TEST_F(config_parser_test, nesting_has_a_limit) {
  EXPECT_THAT(json("a: " + std::string(100'000, '[')), HasSubstr("Nested too deeply"));
  std::string maps = "a ";
  for (int level = 0; level < 10'000; ++level) maps += "{b ";
  EXPECT_THAT(json(maps), HasSubstr("Nested too deeply"));
}

}  // namespace
}  // namespace tern::server
