#include "storage/index/subject_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tern::storage {
namespace {

using model_index = std::map<std::string, std::set<sequence>>;

sequence add(subject_index& index, std::string_view subject, sequence number) {
  index.add(index.intern(subject), number);
  return number;
}

std::vector<std::string> matching(const subject_index& index, std::string_view pattern, std::uint64_t offset = 0,
                                  std::size_t most = 1'000'000) {
  std::vector<std::string> found;
  index.for_each_match(pattern, offset, [&](subject_id subject) {
    found.emplace_back(index.name(subject));
    return found.size() < most;
  });
  return found;
}

TEST(subject_index, a_subject_keeps_its_number_and_totals) {
  subject_index index;
  add(index, "orders.eu", 3);
  add(index, "orders.us", 4);
  add(index, "orders.eu", 9);
  const auto id = index.find("orders.eu");
  EXPECT_EQ(index.name(id), "orders.eu");
  EXPECT_EQ(index.totals(id).messages, 2u);
  EXPECT_EQ(index.totals(id).first, 3u);
  EXPECT_EQ(index.totals(id).last, 9u);
  EXPECT_EQ(index.next(id, 4), 9u);
  EXPECT_EQ(index.previous(id, 8), 3u);
  EXPECT_EQ(index.find("orders"), no_subject);
  EXPECT_EQ(index.find("orders.eu.x"), no_subject);
  EXPECT_EQ(index.size(), 2u);
}

TEST(subject_index, a_subject_without_messages_is_gone_and_its_number_free) {
  subject_index index;
  add(index, "a", 1);
  const auto id = index.find("a");
  EXPECT_FALSE(index.remove(id, 2));
  EXPECT_TRUE(index.remove(id, 1));
  EXPECT_EQ(index.find("a"), no_subject);
  EXPECT_EQ(index.name(id), "");
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.intern("b"), id);
}

TEST(subject_index, a_held_number_outlives_the_last_message) {
  subject_index index;
  add(index, "a", 1);
  const auto id = index.find("a");
  index.hold(id);
  EXPECT_TRUE(index.remove(id, 1));
  EXPECT_EQ(index.find("a"), id);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_TRUE(matching(index, ">").empty());  // nobody sees it while nothing is stored
  EXPECT_EQ(index.match_count(">"), 0u);
  index.add(id, 2);
  index.release(id);
  EXPECT_EQ(matching(index, ">"), (std::vector<std::string>{"a"}));
  const auto other = index.intern("b");
  index.hold(other);
  index.release(other);
  EXPECT_EQ(index.find("b"), no_subject);
}

TEST(subject_index, subjects_come_sorted_and_from_an_offset) {
  subject_index index;
  sequence number = 0;
  for (const auto* subject : {"b", "a.b", "a", "a.b.c", "ab", "a-b", "a.c"}) add(index, subject, ++number);
  EXPECT_EQ(matching(index, ">"), (std::vector<std::string>{"a", "a-b", "a.b", "a.b.c", "a.c", "ab", "b"}));
  EXPECT_EQ(matching(index, "a.>"), (std::vector<std::string>{"a.b", "a.b.c", "a.c"}));
  EXPECT_EQ(matching(index, "*"), (std::vector<std::string>{"a", "a-b", "ab", "b"}));
  EXPECT_EQ(matching(index, "*.*"), (std::vector<std::string>{"a.b", "a.c"}));
  EXPECT_EQ(matching(index, "*.b.>"), (std::vector<std::string>{"a.b.c"}));
  EXPECT_EQ(matching(index, ">", 2, 3), (std::vector<std::string>{"a.b", "a.b.c", "a.c"}));
  EXPECT_EQ(index.for_each_match(">", 2, [](subject_id) { return false; }), 7u);
  EXPECT_EQ(index.for_each_match("a.*", 5, [](subject_id) { return true; }), 2u);
}

TEST(subject_index, any_bytes_and_any_length_are_a_subject) {
  subject_index index;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '.') add(index, "x" + std::string(1, static_cast<char>(byte)) + ".y", byte + 1);
    all += static_cast<char>(byte);
  }
  add(index, all, 1000);
  add(index, "", 1001);
  add(index, std::string(200'000, 'l'), 1002);
  add(index, std::string(200'000, 'l') + "m", 1003);
  EXPECT_EQ(index.size(), 259u);
  EXPECT_EQ(index.match_count("*.y"), 255u);
  EXPECT_EQ(index.next(index.find(std::string(200'000, 'l') + "m"), 0), 1003u);
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '.') continue;
    const auto id = index.find("x" + std::string(1, static_cast<char>(byte)) + ".y");
    ASSERT_NE(id, no_subject);
    ASSERT_TRUE(index.remove(id, static_cast<sequence>(byte + 1)));
  }
  EXPECT_EQ(index.match_count("*.y"), 0u);
  EXPECT_EQ(index.size(), 4u);
}

TEST(subject_index, a_chain_of_prefixes_needs_no_deep_stack) {
  subject_index index;
  std::string subject;
  for (sequence number = 1; number <= 1'500; ++number) add(index, subject += number % 2 != 0 ? 'a' : '.', number);
  EXPECT_EQ(index.match_count(">"), 1'500u);
  EXPECT_EQ(matching(index, ">", 1'499).front(), subject);
}

TEST(subject_index, watchers_hear_of_matching_subjects_only) {
  struct recorder final : subject_watcher {
    std::vector<sequence> added;
    int emptied = 0;
    void on_added(subject_id, sequence number) override { added.push_back(number); }
    void on_emptied(subject_id) override { ++emptied; }
  } heard;
  subject_index index;
  index.watch("a.*", heard);
  add(index, "a.b", 1);
  add(index, "b.b", 2);
  add(index, "a.b", 3);
  index.remove(index.find("a.b"), 1);
  index.remove(index.find("b.b"), 2);
  EXPECT_EQ(heard.emptied, 0);
  index.remove(index.find("a.b"), 3);
  EXPECT_EQ(heard.emptied, 1);
  index.unwatch("a.*", heard);
  add(index, "a.b", 4);
  EXPECT_EQ(heard.added, (std::vector<sequence>{1, 3}));
}

std::string random_subject(std::mt19937_64& random, bool wildcards) {
  static constexpr const char* words[] = {"a", "ab", "abc", "b", "order", "orders", "x1", "x12", "x2", "eu", "eur", ""};
  std::string text;
  for (unsigned depth = 1 + random() % 4; depth != 0; --depth) {
    if (!text.empty()) text += '.';
    const unsigned kind = random() % 12;
    if (wildcards && kind < 3) {
      text += '*';
    } else if (wildcards && kind == 3) {
      return text + '>';
    } else {
      text += words[random() % (wildcards ? 11 : 12)];
      if (random() % 3 == 0) text += std::to_string(random() % 40);
    }
  }
  return text;
}

void expect_same_matches(const subject_index& index, const model_index& model, const std::string& pattern,
                         std::mt19937_64& random, sequence last) {
  std::vector<std::string> expected;
  std::optional<sequence> first_match, last_match;
  std::uint64_t messages = 0;
  const sequence from = random() % (last + 2);
  for (const auto& [subject, numbers] : model) {
    if (!pattern_matches(pattern, subject)) continue;
    expected.push_back(subject);
    const auto at = numbers.lower_bound(from);
    messages += static_cast<std::uint64_t>(std::distance(at, numbers.end()));
    if (at != numbers.end() && (!first_match || *at < *first_match)) first_match = *at;
    const auto after = numbers.upper_bound(from);
    if (after != numbers.begin() && (!last_match || *std::prev(after) > *last_match)) last_match = *std::prev(after);
  }
  ASSERT_EQ(matching(index, pattern), expected) << pattern;
  ASSERT_EQ(index.match_count(pattern), expected.size());
  ASSERT_EQ(index.first_match(pattern, from), first_match);
  ASSERT_EQ(index.last_match(pattern, from), last_match);
  ASSERT_EQ(index.count_messages(pattern, from), messages);
  const auto offset = random() % (expected.size() + 2);
  std::vector<std::string> page(expected.begin() + static_cast<std::ptrdiff_t>(std::min(offset, expected.size())),
                                expected.end());
  page.resize(std::min<std::size_t>(page.size(), 3));
  ASSERT_EQ(matching(index, pattern, offset, 3), page);
}

TEST(subject_index, property_any_history_answers_like_a_map_of_sets) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    subject_index index;
    model_index model;
    std::map<sequence, std::string> by_number;
    sequence last = 0;
    const unsigned removals = 20 + random() % 60;
    for (int step = 0; step < 3'000; ++step) {
      if (random() % 100 >= removals || by_number.empty()) {
        const auto subject = random_subject(random, false);
        add(index, subject, ++last);
        model[subject].insert(last);
        by_number[last] = subject;
      } else {
        auto gone = by_number.lower_bound(random() % (last + 1));
        if (gone == by_number.end()) gone = by_number.begin();
        const auto id = index.find(gone->second);
        ASSERT_NE(id, no_subject);
        ASSERT_EQ(index.name(id), gone->second);
        ASSERT_TRUE(index.remove(id, gone->first));
        auto& numbers = model[gone->second];
        numbers.erase(gone->first);
        if (numbers.empty()) {
          model.erase(gone->second);
          ASSERT_EQ(index.find(gone->second), no_subject);
        }
        by_number.erase(gone);
      }
      ASSERT_EQ(index.size(), model.size());
      if (step % 40 == 0) expect_same_matches(index, model, random_subject(random, true), random, last);
    }
    expect_same_matches(index, model, ">", random, last);
    while (!by_number.empty()) {
      ASSERT_TRUE(index.remove(index.find(by_number.begin()->second), by_number.begin()->first));
      by_number.erase(by_number.begin());
    }
    EXPECT_EQ(index.match_count(">"), 0u);
  }
}

}  // namespace
}  // namespace tern::storage
