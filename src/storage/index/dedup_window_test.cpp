#include "storage/index/dedup_window.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tern::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const time_point start = from_unix_nanoseconds(1'780'000'000'000'000'000);

TEST(dedup_window, jetstream_5_5_an_id_is_known_for_the_window_from_its_first_sight) {
  dedup_window window(seconds(10), 42);
  EXPECT_EQ(window.find("a", start), std::nullopt);
  window.add("a", 7, start);
  EXPECT_EQ(window.find("a", start), 7u);
  EXPECT_EQ(window.find("b", start), std::nullopt);
  EXPECT_EQ(window.find("a", start + seconds(10) - milliseconds(1)), 7u);
  EXPECT_EQ(window.find("a", start + seconds(10)), std::nullopt);
}

TEST(dedup_window, what_was_withdrawn_is_new_again) {
  dedup_window window(minutes(2), 42);
  for (int n = 1; n <= 1'000; ++n) window.add("id" + std::to_string(n), static_cast<sequence>(n), start);
  EXPECT_FALSE(window.withdraw("id5", 6));
  EXPECT_FALSE(window.withdraw("other", 5));
  for (int n = 1; n <= 1'000; n += 3) EXPECT_TRUE(window.withdraw("id" + std::to_string(n), static_cast<sequence>(n)));
  for (int n = 1; n <= 1'000; ++n) {
    const auto expected = n % 3 == 1 ? std::nullopt : std::optional(static_cast<sequence>(n));
    ASSERT_EQ(window.find("id" + std::to_string(n), start), expected);
  }
  EXPECT_EQ(window.size(), 666u);
}

TEST(dedup_window, memory_follows_the_window) {
  dedup_window window(seconds(8), 42);
  time_point now = start;
  std::size_t most = 0;
  for (int n = 1; n <= 200'000; ++n) {
    now += milliseconds(1);
    window.add(std::to_string(n), static_cast<sequence>(n), now);
    window.expire(now);
    most = std::max(most, window.size());
  }
  EXPECT_LE(most, 10'000u);
  EXPECT_LT(window.heap_bytes(), 700'000u);
  window.expire(now + seconds(10));
  EXPECT_EQ(window.size(), 0u);
}

TEST(dedup_window, a_changed_window_holds_for_what_is_there) {
  dedup_window window(seconds(10), 42);
  window.add("a", 1, start);
  window.set_window(seconds(5));
  EXPECT_EQ(window.find("a", start + seconds(6)), std::nullopt);
  window.set_window(seconds(20));
  EXPECT_EQ(window.find("a", start + seconds(15)), 1u);
  window.add("b", 2, start + seconds(1));
  window.add("c", 3, start + seconds(3));
  EXPECT_EQ(window.find("b", start + seconds(20)), 2u);
  EXPECT_EQ(window.find("b", start + seconds(21)), std::nullopt);
  EXPECT_EQ(window.find("c", start + seconds(22)), 3u);
}

TEST(dedup_window, restored_entries_answer_as_before) {
  dedup_window window(minutes(1), 42);
  for (int n = 1; n <= 5'000; ++n)
    window.add(std::to_string(n), static_cast<sequence>(n), start + milliseconds(10 * n));
  dedup_window restored(minutes(1), window.key());
  std::vector<dedup_window::entry> entries;
  window.for_each([&](const dedup_window::entry& each) { entries.push_back(each); });
  std::reverse(entries.begin(), entries.end());
  for (const auto& each : entries) restored.restore(each);
  EXPECT_EQ(restored.size(), window.size());
  EXPECT_LT(restored.heap_bytes(), 2 * window.heap_bytes());
  for (const auto now : {start + seconds(50), start + seconds(75), start + seconds(109)}) {
    for (int n = 1; n <= 5'000; ++n)
      ASSERT_EQ(restored.find(std::to_string(n), now), window.find(std::to_string(n), now));
  }
}

TEST(dedup_window, property_any_history_answers_like_a_map) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const auto span = milliseconds(100 + random() % 20'000);
    dedup_window window(span, random());
    std::map<std::string, std::pair<sequence, time_point>> model;
    time_point now = start;
    for (sequence number = 1; number < 5'000; ++number) {
      now += nanoseconds(random() % (span.count() * 2'000));
      const auto id = std::to_string(random() % 2'000);
      const auto known = model.find(id);
      const bool expected = known != model.end() && known->second.second + span > now;
      const auto found = window.find(id, now);
      ASSERT_EQ(found.has_value(), expected) << id;
      if (expected) {
        ASSERT_EQ(*found, known->second.first);
        if (random() % 8 == 0) {
          ASSERT_TRUE(window.withdraw(id, *found));
          model.erase(known);
        }
      } else {
        window.add(id, number, now);
        model[id] = {number, now};
      }
      if (random() % 10 == 0) window.expire(now);
    }
  }
}

}  // namespace
}  // namespace tern::storage
