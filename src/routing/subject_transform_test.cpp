#include "routing/subject_transform.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tern::routing {
namespace {

std::string mapped(std::string_view source, std::string_view destination, std::string_view subject) {
  const auto transform = subject_transform::create(source, destination);
  if (!transform) return transform.error();
  std::string out;
  return transform->append_mapped(out, subject) ? out : "no match";
}

TEST(subject_transform, moves_wildcards_and_rests) {  // core 7.1
  EXPECT_EQ(mapped("in.*.*", "out.{{wildcard(2)}}.$1", "in.a.b"), "out.b.a");
  EXPECT_EQ(mapped("s.>", "t.>", "s.a.b"), "t.a.b");
  EXPECT_EQ(mapped("", "u.>", "a.b"), "u.a.b");
  EXPECT_EQ(mapped("a", "b", "a"), "b");
  EXPECT_EQ(mapped("s.*", "t", "s.x"), "t");
  EXPECT_EQ(mapped("s.*", "$JS.$1", "s.x"), "$JS.x");
  EXPECT_EQ(mapped("s.*", "t.$1", "x.y"), "no match");
}

TEST(subject_transform, cuts_tokens) {  // core 7.1
  EXPECT_EQ(mapped("*", "{{split(1,-)}}", "-abc-def--ghi-"), "abc.def.ghi");
  EXPECT_EQ(mapped("*", "{{splitFromLeft(1,3)}}", "12345"), "123.45");
  EXPECT_EQ(mapped("*", "{{SplitFromRight(1,3)}}", "12345"), "12.345");
  EXPECT_EQ(mapped("*", "{{slicefromleft(1,3)}}", "1234567890"), "123.456.789.0");
  EXPECT_EQ(mapped("*", "{{sliceFromRight(1, 3)}}", "1234567890"), "1.234.567.890");
  EXPECT_EQ(mapped("*", "{{left(1,2)}}", "abc"), "ab");
  EXPECT_EQ(mapped("*", "{{ right(1,2) }}", "abc"), "bc");
  EXPECT_EQ(mapped("*", "{{left(1,9)}}", "abc"), "abc");
  EXPECT_EQ(mapped("*", "{{slicefromleft(1,0)}}", "abc"), "abc");
}

TEST(subject_transform, partitions_by_fnv) {  // core 7.1
  const std::string one = mapped("*.*", "{{partition(10,1,2)}}.$1", "foo.bar");
  EXPECT_EQ(one.size(), 5u);
  EXPECT_EQ(one, mapped("*.*", "{{partition(10,1,2)}}.$1", "foo.bar"));
  EXPECT_EQ(mapped("*", "{{partition(10,1)}}", "foo"), std::to_string(0xa9f37ed7u % 10));
}

TEST(subject_transform, refuses_bad_destinations_with_the_texts_of_the_peer) {  // core 7.1
  EXPECT_EQ(mapped("a..b", "c", "x"), "invalid subject");
  EXPECT_EQ(mapped("s.*", "t.>", "x"), "invalid subject");
  EXPECT_EQ(mapped("s.*", "t.*.*", "x"), "invalid subject");
  EXPECT_EQ(mapped("a.*", "c.{{wildcard(2)}}", "x"),
            "invalid mapping destination: wildcard index out of range in {{wildcard(2)}}: [2]");
  EXPECT_EQ(mapped("a.*", "t.$2", "x"), "invalid mapping destination: wildcard index out of range in $2: [2]");
  EXPECT_EQ(mapped("a.*", "c.{{nofunc(1)}}", "x"), "invalid mapping destination: unknown function in {{nofunc(1)}}");
  EXPECT_EQ(mapped("a.*", "c.{{wildcard()}}", "x"),
            "invalid mapping destination: not enough arguments passed to the function in {{wildcard()}}");
  EXPECT_EQ(mapped("a.*", "c.{{wildcard(x)}}", "x"),
            "invalid mapping destination: function argument is invalid or in the wrong format in {{wildcard(x)}}");
}

TEST(subject_transform, strict_ones_use_every_wildcard) {
  EXPECT_FALSE(subject_transform::create("a.*.*", "b.$1", true));
  EXPECT_TRUE(subject_transform::create("a.*.*", "b.$2.$1", true));
  EXPECT_EQ(subject_transform::create("a.*.>", "b.{{partition(3,1)}}.c.>")->destination_pattern(), "b.*.c.>");
}

}  // namespace
}  // namespace tern::routing
