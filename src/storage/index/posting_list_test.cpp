#include "storage/index/posting_list.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>

namespace tern::storage {
namespace {

std::set<sequence> filled(posting_list& list, sequence first, sequence step, int count) {
  std::set<sequence> model;
  for (int n = 0; n < count; ++n) {
    list.push_back(first + step * static_cast<sequence>(n));
    model.insert(first + step * static_cast<sequence>(n));
  }
  return model;
}

void expect_same_answers(const posting_list& list, const std::set<sequence>& model, sequence probe) {
  const auto at = model.lower_bound(probe);
  const auto after = model.upper_bound(probe);
  ASSERT_EQ(list.next(probe), at != model.end() ? std::optional(*at) : std::nullopt);
  ASSERT_EQ(list.previous(probe), after != model.begin() ? std::optional(*std::prev(after)) : std::nullopt);
  ASSERT_EQ(list.contains(probe), model.contains(probe));
}

void expect_same(const posting_list& list, const std::set<sequence>& model) {
  ASSERT_EQ(list.size(), model.size());
  ASSERT_EQ(list.empty(), model.empty());
  ASSERT_EQ(list.front(), model.empty() ? 0 : *model.begin());
  ASSERT_EQ(list.back(), model.empty() ? 0 : *model.rbegin());
  std::uint64_t rank = 0;
  for (const sequence number : model) {
    ASSERT_EQ(list.at(rank), number);
    ASSERT_EQ(list.count_below(number), rank);
    ASSERT_EQ(list.count_below(number + 1), ++rank);
    expect_same_answers(list, model, number);
    expect_same_answers(list, model, number + 1);
  }
}

TEST(posting_list, an_empty_list_answers_nothing) {
  const posting_list list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.next(0), std::nullopt);
  EXPECT_EQ(list.previous(~sequence{0}), std::nullopt);
  EXPECT_EQ(list.count_below(~sequence{0}), 0u);
}

TEST(posting_list, two_entries_take_no_memory) {
  posting_list list;
  list.push_back(7);
  list.push_back(900);
  EXPECT_EQ(list.heap_bytes(), 0u);
  expect_same(list, {7, 900});
  EXPECT_FALSE(list.remove(8));
  EXPECT_TRUE(list.remove(7));
  expect_same(list, {900});
  EXPECT_TRUE(list.remove(900));
  EXPECT_TRUE(list.empty());
}

TEST(posting_list, a_list_that_keeps_two_stays_correct_while_it_slides) {
  posting_list list;
  std::set<sequence> model;
  for (sequence number = 1; number < 500; number += 3) {
    list.push_back(number);
    model.insert(number);
    if (model.size() > 2) {
      ASSERT_TRUE(list.remove(*model.begin()));
      model.erase(model.begin());
    }
    expect_same(list, model);
  }
}

TEST(posting_list, neighbours_cost_little) {
  posting_list dense;
  filled(dense, 1, 1, 100'000);
  EXPECT_LT(dense.heap_bytes(), 20'000u);
  posting_list ragged;
  std::minstd_rand random(1);
  sequence number = 0;
  for (int n = 0; n < 100'000; ++n) ragged.push_back(number += 1 + random() % 100);
  EXPECT_LT(ragged.heap_bytes(), 200'000u);
}

TEST(posting_list, every_form_answers_like_a_set) {
  for (const int count : {3, 31, 33, 128, 129, 1024, 1025, 5000}) {
    for (const sequence step : {sequence{1}, sequence{130}, sequence{5'000'000'000}}) {
      posting_list list;
      const auto model = filled(list, 10, step, count);
      expect_same(list, model);
    }
  }
}

TEST(posting_list, taking_everything_out_from_either_end_or_the_middle) {
  for (const int way : {0, 1, 2}) {
    posting_list list;
    auto model = filled(list, 5, 1, 1500);
    for (sequence far = 1'000'000; far < 1'900'000; far += 1000 + far % 7) {
      list.push_back(far);
      model.insert(far);
    }
    while (!model.empty()) {
      auto gone = way == 0 ? model.begin() : way == 1 ? std::prev(model.end()) : model.lower_bound(*model.rbegin() / 2);
      ASSERT_TRUE(list.remove(*gone));
      ASSERT_FALSE(list.remove(*gone));
      model.erase(gone);
      ASSERT_EQ(list.size(), model.size());
      ASSERT_EQ(list.front(), model.empty() ? 0 : *model.begin());
      ASSERT_EQ(list.back(), model.empty() ? 0 : *model.rbegin());
      if (model.size() % 97 == 0) expect_same(list, model);
    }
    EXPECT_EQ(list.heap_bytes(), 0u);
  }
}

TEST(posting_list, property_any_history_answers_like_a_set) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    posting_list list;
    std::set<sequence> model;
    sequence last = random() % 3 == 0 ? sequence{1} << 62 : random() % 1000;
    const int jump_bits = 1 + static_cast<int>(random() % 30);
    const unsigned removals = random() % 100;
    for (int step = 0; step < 1500; ++step) {
      if (random() % 100 >= removals || model.empty()) {
        last += random() % 4 != 0 ? 1 : 1 + random() % (1ull << jump_bits);
        list.push_back(last);
        model.insert(last);
      } else {
        auto gone = random() % 2 != 0 ? model.begin() : model.lower_bound(random() % (last + 1));
        if (gone == model.end()) gone = std::prev(gone);
        ASSERT_TRUE(list.remove(*gone));
        model.erase(gone);
      }
      ASSERT_EQ(list.size(), model.size());
      if (!model.empty()) {
        const sequence low = *model.begin();
        expect_same_answers(list, model, low + random() % (last - low + 2));
      }
    }
    expect_same(list, model);
    posting_list moved = std::move(list);
    EXPECT_TRUE(list.empty());
    expect_same(moved, model);
  }
}

}  // namespace
}  // namespace tern::storage
