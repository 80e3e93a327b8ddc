#include "storage/index/live_map.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>

namespace tern::storage {
namespace {

std::vector<sequence_range> model_gaps(const std::set<sequence>& model, sequence first, sequence last) {
  std::vector<sequence_range> gaps;
  for (auto at = model.lower_bound(first); first <= last; ++at) {
    if (at == model.end() || *at > last) {
      gaps.push_back({first, last});
      break;
    }
    if (*at > first) gaps.push_back({first, *at - 1});
    first = *at + 1;
  }
  return gaps;
}

void expect_same_at(const live_map& map, const std::set<sequence>& model, sequence probe) {
  const auto at = model.lower_bound(probe);
  const auto after = model.upper_bound(probe);
  ASSERT_EQ(map.contains(probe), model.contains(probe));
  ASSERT_EQ(map.next(probe), at != model.end() ? std::optional(*at) : std::nullopt);
  ASSERT_EQ(map.previous(probe), after != model.begin() ? std::optional(*std::prev(after)) : std::nullopt);
  ASSERT_EQ(map.count_below(probe), static_cast<std::uint64_t>(std::distance(model.begin(), at)));
}

TEST(live_map, an_empty_map_answers_nothing) {
  const live_map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.first(), std::nullopt);
  EXPECT_EQ(map.last(), std::nullopt);
  EXPECT_EQ(map.count_from(0), 0u);
  EXPECT_EQ(map.gaps(3, 5), (std::vector<sequence_range>{{3, 5}}));
}

TEST(live_map, a_whole_stream_of_millions_is_a_few_kilobytes) {
  live_map map;
  map.append_range(1, 10'000'000);
  EXPECT_LT(map.heap_bytes(), 200'000u);
  EXPECT_EQ(map.count_from(9'000'001), 1'000'000u);
  EXPECT_TRUE(map.gaps(1, 10'000'000).empty());
}

TEST(live_map, one_stuck_message_and_millions_gone_stay_small) {
  live_map map;
  for (sequence number = 1; number <= 1'000'000; ++number) {
    map.append(number);
    if (number > 1) {
      ASSERT_TRUE(map.remove(number));
    }
  }
  EXPECT_LT(map.heap_bytes(), 10'000u);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.gaps(1, 1'000'000), (std::vector<sequence_range>{{2, 1'000'000}}));
}

TEST(live_map, sequences_may_jump_by_billions) {
  live_map map;
  map.append(1);
  map.append_range(5'000'000'000, 5'000'000'009);
  map.append((sequence{1} << 63) + 5);
  EXPECT_EQ(map.size(), 12u);
  EXPECT_EQ(map.next(2), 5'000'000'000);
  EXPECT_EQ(map.previous(4'999'999'999), 1u);
  EXPECT_EQ(map.at(11), (sequence{1} << 63) + 5);
  EXPECT_EQ(map.gaps(1, 5'000'000'009), (std::vector<sequence_range>{{2, 4'999'999'999}}));
  EXPECT_EQ(map.count_in(2, 5'000'000'004), 5u);
}

TEST(live_map, runs_cross_blocks) {
  live_map map;
  map.append_range(10, 20'000);
  ASSERT_TRUE(map.remove(9'000));
  std::vector<sequence_range> runs;
  map.for_each_run(4'000, 18'000, [&](sequence_range run) {
    runs.push_back(run);
    return true;
  });
  EXPECT_EQ(runs, (std::vector<sequence_range>{{4'000, 8'999}, {9'001, 18'000}}));
}

TEST(live_map, property_any_history_answers_like_a_set) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    live_map map;
    std::set<sequence> model;
    sequence last = random() % 10'000;
    const std::uint64_t jump = round % 4 == 0 ? 100'000'000'000 : 1 + random() % 6'000;
    const unsigned removals = random() % 100;
    for (int step = 0; step < 1'000; ++step) {
      if (random() % 100 >= removals || model.empty()) {
        const sequence first = last + 1 + (random() % 8 == 0 ? random() % jump : 0);
        last = first + (random() % 30 == 0 ? random() % 5'000 : 0);
        map.append_range(first, last);
        for (sequence number = first; number <= last; ++number) model.insert(model.end(), number);
      } else {
        auto gone = random() % 3 != 0 ? model.begin() : model.lower_bound(random() % (last + 1));
        if (random() % 5 == 0 || gone == model.end()) gone = std::prev(model.end());
        ASSERT_FALSE(map.remove(last + 1));
        ASSERT_TRUE(map.remove(*gone));
        ASSERT_FALSE(map.remove(*gone));
        model.erase(gone);
      }
      ASSERT_EQ(map.size(), model.size());
      ASSERT_EQ(map.first(), model.empty() ? std::nullopt : std::optional(*model.begin()));
      ASSERT_EQ(map.last(), model.empty() ? std::nullopt : std::optional(*model.rbegin()));
    }
    for (int probe = 0; probe < 50; ++probe) expect_same_at(map, model, random() % (last + 3));
    const sequence first = random() % (last + 2);
    EXPECT_EQ(map.gaps(first, last + 2), model_gaps(model, first, last + 2));
    EXPECT_EQ(map.gaps(1, last / 2), model_gaps(model, 1, last / 2));
    std::uint64_t rank = 0;
    for (const sequence number : model) {
      if (rank % 7 == 0) {
        ASSERT_EQ(map.at(rank), number);
      }
      ++rank;
    }
  }
}

}  // namespace
}  // namespace tern::storage
