#include "protocol/subject.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tern::protocol {
namespace {

// Core 2.4
TEST(subject, is_valid_without_empty_tokens_and_with_the_full_wildcard_last) {
  for (const char* good :
       {"a", "a.b", "*", ">", "a.*", "a.>", "*.*.>", "foo*", "f>o", "a.b*.c>", "\xC3\xBC.b", "$SYS.a"}) {
    EXPECT_TRUE(is_valid_subject(good)) << good;
  }
  for (const char* bad : {"", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a.>."})
    EXPECT_FALSE(is_valid_subject(bad)) << bad;
}

TEST(subject, is_a_valid_literal_without_wildcard_tokens) {
  for (const char* good : {"a", "a.b", "foo*", "f>o", "a.*b"}) EXPECT_TRUE(is_valid_literal(good)) << good;
  for (const char* bad : {"", "a..b", "a.*", ">", "a.>", "*"}) EXPECT_FALSE(is_valid_literal(bad)) << bad;
  EXPECT_TRUE(is_literal("foo*.b>"));
  EXPECT_FALSE(is_literal("foo.*"));
  EXPECT_TRUE(has_wildcards(">"));
}

TEST(subject, forbids_blanks_in_configuration) {
  EXPECT_TRUE(is_valid_config_subject("a.*"));
  for (const char* bad : {"a b", "a.\tb", "a\r", "\nb", "a.\f"}) EXPECT_FALSE(is_valid_config_subject(bad)) << bad;
  EXPECT_FALSE(is_valid_config_literal("a.*"));
}

TEST(subject, has_tokens) {
  const auto tokens = [](std::string_view subject) {
    std::vector<std::string> found;
    for (std::string_view token : subject_tokens(subject)) found.emplace_back(token);
    return found;
  };
  EXPECT_EQ(tokens("a.bc.d"), (std::vector<std::string>{"a", "bc", "d"}));
  EXPECT_EQ(tokens("a..b."), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(tokens(""), (std::vector<std::string>{""}));
  EXPECT_EQ(token_count("a.bc.d"), 3u);
  EXPECT_EQ(nth_token("a.bc.d", 1), "bc");
  EXPECT_EQ(nth_token("a.bc.d", 3), "");
}

TEST(subject, matches_patterns) {
  for (const auto& [pattern, subject] : std::vector<std::pair<const char*, const char*>>{{"a", "a"},
                                                                                         {"a.b", "a.b"},
                                                                                         {"*", "a"},
                                                                                         {"*.b", "a.b"},
                                                                                         {"a.*", "a.b"},
                                                                                         {">", "a"},
                                                                                         {">", "a.b.c"},
                                                                                         {"a.>", "a.b"},
                                                                                         {"a.>", "a.b.c"},
                                                                                         {"*.>", "a.b"},
                                                                                         {"foo.*", "foo.*"},
                                                                                         {"foo.>", "foo.*"},
                                                                                         {"foo*", "foo*"}}) {
    EXPECT_TRUE(subject_matches(pattern, subject)) << pattern << ' ' << subject;
  }
  for (const auto& [pattern, subject] : std::vector<std::pair<const char*, const char*>>{{"a", "b"},
                                                                                         {"a", "a.b"},
                                                                                         {"a.b", "a"},
                                                                                         {"*", "a.b"},
                                                                                         {"a.>", "a"},
                                                                                         {"a.*", "a"},
                                                                                         {"*.>", "a"},
                                                                                         {"foo.bar", "foo.*"},
                                                                                         {"foo.bar", "foo.>"},
                                                                                         {"foo*", "foox"},
                                                                                         {"a.*.c", "a.b.d"}}) {
    EXPECT_FALSE(subject_matches(pattern, subject)) << pattern << ' ' << subject;
  }
}

TEST(subject, tells_overlap_and_subset) {
  for (const auto& [left, right] : std::vector<std::pair<const char*, const char*>>{{"a", "a"},
                                                                                    {"a.*", "a.b"},
                                                                                    {"a.*", "*.b"},
                                                                                    {">", "a.b"},
                                                                                    {"a.>", "a.*.c"},
                                                                                    {"*.b", "a.>"},
                                                                                    {"a.*.c", "a.b.*"}}) {
    EXPECT_TRUE(subjects_overlap(left, right)) << left << ' ' << right;
    EXPECT_TRUE(subjects_overlap(right, left)) << right << ' ' << left;
  }
  for (const auto& [left, right] : std::vector<std::pair<const char*, const char*>>{
           {"a", "b"}, {"a.*", "a"}, {"a.*", "b.*"}, {"a.>", "a"}, {"a.b.*", "a.*"}, {"a.*.c", "a.b.d"}}) {
    EXPECT_FALSE(subjects_overlap(left, right)) << left << ' ' << right;
    EXPECT_FALSE(subjects_overlap(right, left)) << right << ' ' << left;
  }
  EXPECT_TRUE(is_subset("a.b", "a.*"));
  EXPECT_TRUE(is_subset("a.*", "a.*"));
  EXPECT_TRUE(is_subset("a.*.c", "a.>"));
  EXPECT_TRUE(is_subset("a.>", ">"));
  EXPECT_FALSE(is_subset("a.*", "a.b"));
  EXPECT_FALSE(is_subset("a.>", "a.*"));
  EXPECT_FALSE(is_subset("*", "a"));
  EXPECT_FALSE(is_subset("a", "a.>"));
}

// All short patterns against all short subjects: overlap and subset say the same as trying every subject.
TEST(subject, agrees_with_enumeration) {
  const std::vector<std::string> tokens{"a", "b", "*", ">"};
  std::vector<std::string> patterns, subjects;
  const auto add = [&](const std::string& text) {
    if (is_valid_subject(text)) patterns.push_back(text);
    if (is_valid_literal(text)) subjects.push_back(text);
  };
  for (const auto& x : tokens) {
    add(x);
    for (const auto& y : tokens) {
      add(x + '.' + y);
      for (const auto& z : tokens) {
        add(x + '.' + y + '.' + z);
        // One token more than the patterns have, for `>`.
        for (const auto& w : {"a", "b"}) {
          if (is_valid_literal(x + '.' + y + '.' + z)) subjects.push_back(x + '.' + y + '.' + z + '.' + w);
        }
      }
    }
  }
  for (const auto& left : patterns) {
    for (const auto& right : patterns) {
      bool overlap = false;
      bool subset = true;
      for (const auto& subject : subjects) {
        const bool in_left = subject_matches(left, subject);
        const bool in_right = subject_matches(right, subject);
        overlap = overlap || (in_left && in_right);
        subset = subset && (!in_left || in_right);
      }
      EXPECT_EQ(subjects_overlap(left, right), overlap) << left << ' ' << right;
      EXPECT_EQ(is_subset(left, right), subset) << left << ' ' << right;
    }
  }
}

}  // namespace
}  // namespace tern::protocol
