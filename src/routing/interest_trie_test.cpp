#include "routing/interest_trie.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tern::routing {
namespace {

std::vector<std::string> tokens_of(std::string_view subject) {
  std::vector<std::string> out(1);
  for (const char letter : subject) {
    if (letter == '.')
      out.emplace_back();
    else
      out.back() += letter;
  }
  return out;
}

// The definition of core 2.4, token by token.
bool matches_naively(std::string_view pattern, std::string_view subject) {
  const auto want = tokens_of(pattern), have = tokens_of(subject);
  for (const auto& token : have)
    if (token.empty()) return false;
  for (std::size_t at = 0; at < want.size(); ++at) {
    if (want[at] == ">" && at + 1 == want.size()) return have.size() > at;
    if (at >= have.size()) return false;
    if (want[at] != "*" && want[at] != have[at]) return false;
  }
  return have.size() == want.size();
}

std::string random_subject(std::mt19937_64& random, bool pattern) {
  static const std::vector<std::string> words = {"a", "b", "c", "foo", "bar", "a*", ">b"};
  std::string out;
  const std::size_t length = 1 + random() % 4;
  for (std::size_t at = 0; at < length; ++at) {
    if (at != 0) out += '.';
    const auto roll = random() % 10;
    if (roll < 3)
      out += '*';  // in a published subject it is text
    else if (roll == 3 && (at + 1 == length || !pattern))
      out += '>';
    else if (roll == 4 && !pattern)
      out += "";
    else
      out += words[random() % words.size()];
  }
  return out;
}

TEST(interest_trie, agrees_with_a_naive_matcher_while_subscriptions_come_and_go) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    interest_trie trie;
    std::vector<std::unique_ptr<trie_entry>> live;
    for (int step = 0; step < 400; ++step) {
      if (live.empty() || random() % 3 != 0) {
        auto entry = std::make_unique<trie_entry>();
        entry->subject = random_subject(random, true);
        if (random() % 3 == 0) entry->queue = random() % 2 == 0 ? "q" : "r";
        trie.insert(*entry);
        live.push_back(std::move(entry));
      } else {
        std::swap(live[random() % live.size()], live.back());
        trie.remove(*live.back());
        live.pop_back();
      }
      ASSERT_EQ(trie.size(), live.size());
      const std::string subject = random_subject(random, false);
      std::multiset<const subscription*> expected, seen;
      for (const auto& entry : live)
        if (matches_naively(entry->subject, subject)) expected.insert(entry.get());
      trie.match(subject, [&seen](const trie_node& node) {
        for (const trie_entry* one = node.plain; one != nullptr; one = one->next) seen.insert(one);
        for (const trie_group* group = node.groups; group != nullptr; group = group->next)
          for (const trie_entry* one = group->first; one != nullptr; one = one->next) seen.insert(one);
      });
      ASSERT_EQ(seen, expected) << "seed " << seed << " subject " << subject;
    }
    std::size_t visited = 0;
    trie.each([&visited](const trie_entry&) { ++visited; });
    ASSERT_EQ(visited, live.size());
    for (const auto& entry : live) trie.remove(*entry);
    ASSERT_EQ(trie.size(), 0u);
  }
}

TEST(interest_trie, many_children_are_found_and_removed) {
  interest_trie trie;
  std::vector<std::unique_ptr<trie_entry>> entries;
  for (int number = 0; number < 3000; ++number) {
    entries.push_back(std::make_unique<trie_entry>());
    entries.back()->subject = "s." + std::to_string(number);
    trie.insert(*entries.back());
  }
  for (int number = 0; number < 3000; number += 2) trie.remove(*entries[static_cast<std::size_t>(number)]);
  for (int number = 0; number < 3000; ++number)
    ASSERT_EQ(trie.find("s." + std::to_string(number)) != nullptr, number % 2 == 1) << number;
}

TEST(interest_trie, wildcards_are_whole_tokens_only) {
  for (const char* pattern : {"*", ">", "a.*", "*.a", "a.>", "a.*.b"}) EXPECT_TRUE(has_wildcard(pattern)) << pattern;
  for (const char* pattern : {"a", "a*", "a.b*", ">a", "a>.b", ""}) EXPECT_FALSE(has_wildcard(pattern)) << pattern;
}

}  // namespace
}  // namespace tern::routing
