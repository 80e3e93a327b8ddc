#include "storage/index/filter_trie.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tern::storage {
namespace {

std::vector<int> matches(const filter_trie<int>& trie, std::string_view subject) {
  std::vector<int> found;
  trie.for_each_match(subject, [&](int value) { found.push_back(value); });
  std::sort(found.begin(), found.end());
  return found;
}

TEST(filter_trie, every_pattern_that_matches_is_visited) {
  filter_trie<int> trie;
  trie.insert("orders.new", 1);
  trie.insert("orders.*", 2);
  trie.insert("orders.>", 3);
  trie.insert(">", 4);
  trie.insert("orders.new", 5);
  trie.insert("*.new.*", 6);
  EXPECT_EQ(matches(trie, "orders.new"), (std::vector{1, 2, 3, 4, 5}));
  EXPECT_EQ(matches(trie, "orders.new.eu"), (std::vector{3, 4, 6}));
  EXPECT_EQ(matches(trie, "orders"), (std::vector{4}));
  EXPECT_TRUE(trie.remove("orders.new", 1));
  EXPECT_FALSE(trie.remove("orders.new", 1));
  EXPECT_FALSE(trie.remove("orders.old", 1));
  EXPECT_EQ(matches(trie, "orders.new"), (std::vector{2, 3, 4, 5}));
}

TEST(filter_trie, collisions_need_a_common_subject) {
  filter_trie<int> trie;
  trie.insert("orders.*.new", 1);
  trie.insert("bills.>", 2);
  EXPECT_TRUE(trie.collides("orders.eu.*"));
  EXPECT_TRUE(trie.collides("orders.>"));
  EXPECT_TRUE(trie.collides("*.x"));
  EXPECT_TRUE(trie.collides(">"));
  EXPECT_FALSE(trie.collides("orders.eu.old"));
  EXPECT_FALSE(trie.collides("orders.*"));
  EXPECT_FALSE(trie.collides("bills"));
  EXPECT_TRUE(trie.remove("bills.>", 2));
  EXPECT_FALSE(trie.collides("bills.a"));
}

TEST(filter_trie, depth_is_no_way_to_exhaust_the_stack) {
  filter_trie<int> trie;
  std::string deep = "a";
  for (int n = 0; n < 300'000; ++n) deep += ".a";
  trie.insert(deep, 1);
  trie.insert(deep + ".>", 2);
  trie.insert("a.>", 3);
  EXPECT_EQ(matches(trie, deep), (std::vector{1, 3}));
  EXPECT_EQ(matches(trie, deep + ".b"), (std::vector{2, 3}));
  EXPECT_TRUE(trie.remove("a.>", 3));
  EXPECT_TRUE(trie.collides(deep));
  EXPECT_TRUE(trie.remove(deep, 1));
  EXPECT_TRUE(trie.remove(deep + ".>", 2));
  EXPECT_FALSE(trie.collides(deep));
  EXPECT_TRUE(trie.empty());
}

std::string random_text(std::mt19937& random, bool wildcards) {
  std::string text;
  for (unsigned depth = 1 + random() % 4; depth != 0; --depth) {
    if (!text.empty()) text += '.';
    const unsigned kind = random() % 10;
    if (wildcards && kind < 2) {
      text += '*';
    } else if (wildcards && kind == 2) {
      return text + '>';
    } else {
      text += "abc"[random() % 3];
    }
  }
  return text;
}

TEST(filter_trie, property_it_answers_like_a_list_of_patterns) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    filter_trie<int> trie;
    std::vector<std::pair<std::string, int>> model;
    for (int step = 0; step < 200; ++step) {
      if (random() % 3 != 0 || model.empty()) {
        model.emplace_back(random_text(random, true), static_cast<int>(random() % 5));
        trie.insert(model.back().first, model.back().second);
      } else {
        const auto gone = model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
        ASSERT_TRUE(trie.remove(gone->first, gone->second));
        model.erase(gone);
      }
      ASSERT_EQ(trie.size(), model.size());
      const auto subject = random_text(random, false), pattern = random_text(random, true);
      std::vector<int> expected;
      bool collides = false;
      for (const auto& [text, value] : model) {
        if (pattern_matches(text, subject)) expected.push_back(value);
        collides |= patterns_overlap(text, pattern);
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(matches(trie, subject), expected) << subject;
      ASSERT_EQ(trie.any_match(subject), !expected.empty());
      ASSERT_EQ(trie.collides(pattern), collides) << pattern;
    }
  }
}

}  // namespace
}  // namespace tern::storage
