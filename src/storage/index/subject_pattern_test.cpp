#include "storage/index/subject_pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tern::storage {
namespace {

TEST(subject_pattern, wildcards_are_whole_tokens) {
  EXPECT_TRUE(is_literal("a.b"));
  EXPECT_TRUE(is_literal("a*.b>"));
  EXPECT_TRUE(is_literal("a.>.b"));
  EXPECT_FALSE(is_literal("a.*"));
  EXPECT_FALSE(is_literal("a.>"));
  EXPECT_FALSE(is_literal(">"));
}

TEST(subject_pattern, a_star_matches_one_token_and_a_tail_at_least_one) {
  EXPECT_TRUE(pattern_matches("a.*.c", "a.b.c"));
  EXPECT_FALSE(pattern_matches("a.*", "a"));
  EXPECT_FALSE(pattern_matches("a.*", "a.b.c"));
  EXPECT_TRUE(pattern_matches("a.>", "a.b.c"));
  EXPECT_FALSE(pattern_matches("a.>", "a"));
  EXPECT_FALSE(pattern_matches("a.b", "a.b.c"));
  EXPECT_TRUE(pattern_matches("a*", "a*"));
  EXPECT_FALSE(pattern_matches("a*", "ab"));
}

TEST(subject_pattern, overlap_is_symmetric) {
  EXPECT_TRUE(patterns_overlap("a.*", "*.b"));
  EXPECT_TRUE(patterns_overlap("a.>", "*.*.c"));
  EXPECT_FALSE(patterns_overlap("a.>", "a"));
  EXPECT_FALSE(patterns_overlap("a.*", "a.b.c"));
  EXPECT_FALSE(patterns_overlap("a.b", "a.c"));
}

// All subjects of up to three tokens over {a, b} decide what the pattern functions have to say.
TEST(subject_pattern, overlap_and_containment_agree_with_enumeration) {
  std::vector<std::string> subjects, patterns;
  const auto grow = [](std::vector<std::string>& into, const std::vector<std::string>& tokens) {
    std::vector<std::string> level = {""};
    for (int depth = 0; depth < 3; ++depth) {
      std::vector<std::string> next;
      for (const auto& start : level) {
        if (start.ends_with(">")) continue;
        for (const auto& token : tokens) next.push_back(start.empty() ? token : start + "." + token);
      }
      into.insert(into.end(), next.begin(), next.end());
      level = next;
    }
  };
  grow(subjects, {"a", "b", "c"});  // c: what no pattern names
  grow(patterns, {"a", "b", "*", ">"});
  for (const auto& left : patterns) {
    for (const auto& right : patterns) {
      bool overlap = false, contains = true;
      for (const auto& subject : subjects) {
        const bool in_left = pattern_matches(left, subject), in_right = pattern_matches(right, subject);
        overlap |= in_left && in_right;
        contains &= !in_right || in_left;
      }
      EXPECT_EQ(patterns_overlap(left, right), overlap) << left << " " << right;
      // Deeper subjects than the enumerated ones tell `x.y.*` and `x.y.>` apart.
      if (!right.ends_with(">")) {
        EXPECT_EQ(pattern_contains(left, right), contains) << left << " " << right;
      }
    }
  }
  EXPECT_TRUE(pattern_contains("a.>", "a.*.>"));
  EXPECT_FALSE(pattern_contains("a.*", "a.>"));
  EXPECT_FALSE(pattern_contains("*.*.>", "a.>"));
}

}  // namespace
}  // namespace tern::storage
