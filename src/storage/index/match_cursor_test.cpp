#include "storage/index/match_cursor.hpp"

#include "storage/index/subject_pattern.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace tern::storage {
namespace {

// A log of subjects alone; segments of 100 numbers.
class toy_log final : public subject_numbers {
 public:
  static constexpr sequence segment = 100;

  void append(sequence number, std::string_view subject) {
    const auto id = subjects.intern(subject);
    auto& ids = segments_[number / segment];
    ids.resize(number % segment + 1);
    ids.back() = id;
    live.append(number);
    subjects.add(id, number);
    last = number;
  }
  sequence append(std::string_view subject) {
    append(last + 1, subject);
    return last;
  }
  void remove(sequence number) {
    auto& id = segments_[number / segment][number % segment];
    const auto subject = std::exchange(id, no_subject);
    live.remove(number);
    subjects.remove(subject, number);
  }

  subject_id id_at(sequence number) const override {
    const auto found = segments_.find(number / segment);
    if (found == segments_.end() || number % segment >= found->second.size()) return no_subject;
    return found->second[number % segment];
  }
  stretch stretch_from(sequence from) const override {
    const auto first = live.next(from);
    if (!first) return {};
    ++stretches;
    return {*first, std::span(segments_.at(*first / segment)).subspan(*first % segment)};
  }

  std::optional<sequence> expected_next(const subject_filters& filters, sequence from) const {
    for (auto at = live.next(from); at; at = live.next(*at + 1)) {
      if (matches(filters, *at)) return at;
    }
    return std::nullopt;
  }
  std::uint64_t expected_count(const subject_filters& filters, sequence from) const {
    std::uint64_t count = 0;
    for (auto at = live.next(from); at; at = live.next(*at + 1)) count += matches(filters, *at);
    return count;
  }
  log_view view() { return {subjects, live, *this}; }
  std::unique_ptr<match_cursor> open(subject_filters filters) { return make_match_cursor(view(), std::move(filters)); }

  subject_index subjects;
  live_map live;
  sequence last = 0;
  mutable int stretches = 0;

 private:
  bool matches(const subject_filters& filters, sequence number) const {
    const auto name = subjects.name(id_at(number));
    return filters.empty() ||
           std::ranges::any_of(filters, [&](const auto& filter) { return pattern_matches(filter, name); });
  }
  std::map<std::uint64_t, std::vector<subject_id>> segments_;
};

TEST(match_cursor, without_filters_every_message_matches) {
  toy_log log;
  const auto all = log.open({});
  EXPECT_EQ(all->next(0), std::nullopt);
  log.append("a");
  log.append("b");
  log.append("c");
  log.remove(2);
  EXPECT_EQ(all->next(2), 3u);
  EXPECT_EQ(all->count_from(1), 2u);
  EXPECT_EQ(log.open({"a", ">"})->count_from(1), 2u);
}

TEST(match_cursor, a_literal_filter_survives_the_end_and_return_of_its_subject) {
  toy_log log;
  const auto cursor = log.open({"a"});
  EXPECT_EQ(cursor->next(1), std::nullopt);
  log.append("a");
  EXPECT_EQ(cursor->next(1), 1u);
  log.remove(1);
  log.append("b");  // takes over the number of the subject that went
  EXPECT_EQ(cursor->next(1), std::nullopt);
  EXPECT_EQ(cursor->count_from(1), 0u);
  log.append("a");
  EXPECT_EQ(cursor->next(1), 3u);
}

TEST(match_cursor, overlapping_filters_count_a_message_once) {
  toy_log log;
  for (int n = 0; n < 600; ++n) log.append(n % 2 != 0 ? "a.b" : "a.c");
  EXPECT_EQ(log.open({"a.*", "*.b"})->count_from(1), 600u);
  EXPECT_EQ(log.open({"a.*", "a.b", "a.b"})->count_from(1), 600u);
  EXPECT_EQ(log.open({"*.b", "*.x"})->count_from(1), 300u);
}

TEST(match_cursor, an_idle_cursor_does_not_look_at_what_others_publish) {
  toy_log log;
  for (int n = 0; n < 1'000; ++n) log.append("other." + std::to_string(n));
  const auto cursor = log.open({"mine.*"});
  EXPECT_EQ(cursor->next(1), std::nullopt);
  log.stretches = 0;
  for (int n = 0; n < 1'000; ++n) {
    log.append("other." + std::to_string(n));
    ASSERT_EQ(cursor->next(1), std::nullopt);
  }
  EXPECT_EQ(log.stretches, 0);
  const auto mine = log.append("mine.1");
  EXPECT_EQ(cursor->next(1), mine);
  EXPECT_LE(log.stretches, 1);
}

TEST(match_cursor, few_matches_among_many_messages_and_subjects_are_not_searched_one_by_one) {
  toy_log log;
  std::vector<sequence> rare;
  for (int n = 0; n < 60'000; ++n) {
    if (n % 400 == 0) rare.push_back(log.append("rare." + std::to_string(n)));
    log.append("common." + std::to_string(n % 100));
  }
  const auto cursor = log.open({"rare.*", "none.*"});
  log.stretches = 0;
  sequence from = 1;
  for (const auto number : rare) {
    ASSERT_EQ(cursor->next(from), number);
    from = number + 1;
  }
  EXPECT_EQ(cursor->next(from), std::nullopt);
  EXPECT_EQ(cursor->count_from(1), rare.size());
}

TEST(match_cursor, a_subject_number_that_went_to_another_subject_does_not_match) {
  toy_log log;
  for (int n = 0; n < 200; ++n) log.append("m." + std::to_string(n));
  for (int n = 0; n < 20'000; ++n) log.append("x");
  for (const auto* filter : {"m.*", "m.1*"}) {  // by bitmap, later by merging
    const auto cursor = log.open({filter, "none"});
    for (auto at = cursor->next(1); at && *at < 50; at = cursor->next(*at + 1)) continue;
  }
  const auto cursor = log.open({"m.*"});
  EXPECT_EQ(cursor->next(30), 30u);
  EXPECT_EQ(cursor->next(201), std::nullopt);
  EXPECT_EQ(cursor->next(100), 100u);
  for (sequence number = 101; number <= 200; ++number) log.remove(number);
  for (int n = 0; n < 100; ++n) log.append("y." + std::to_string(n));
  EXPECT_EQ(cursor->next(101), std::nullopt);
  EXPECT_EQ(cursor->next(1), 1u);
}

TEST(match_cursor, pattern_look_ups_over_the_log) {
  toy_log log;
  for (int n = 0; n < 5'000; ++n) log.append("a." + std::to_string(n % 1'000));
  const auto odd = log.append("b.7.c");
  for (int n = 0; n < 5'000; ++n) log.append("a." + std::to_string(n % 1'000));
  EXPECT_EQ(first_match(log.view(), "b.*.c", 1), odd);
  EXPECT_EQ(first_match(log.view(), "*.7.c", 1), odd);
  EXPECT_EQ(last_match(log.view(), "b.>", log.last), odd);
  EXPECT_EQ(last_match(log.view(), "b.>", odd - 1), std::nullopt);
  EXPECT_EQ(first_match(log.view(), "b.>", odd + 1), std::nullopt);
  EXPECT_EQ(first_match(log.view(), "", 3), 3u);
  EXPECT_EQ(last_match(log.view(), ">", 3), 3u);
  EXPECT_EQ(last_match(log.view(), "a.5", log.last), odd + 4'006);
  EXPECT_EQ(first_match(log.view(), "a.5", 1), 6u);
  EXPECT_EQ(first_match(log.view(), "a.*", 17), 17u);
}

struct reader {
  subject_filters filters;
  std::unique_ptr<match_cursor> cursor;
  sequence from = 1;
};

// What the filters look like decides which way a cursor goes; all ways must agree with looking at each message.
TEST(match_cursor, property_any_cursor_over_any_history_finds_what_a_scan_finds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<subject_filters> choices = {
      {},         {"a.1"},         {"a.*"}, {"a.>", "*.7"},         {"b.*.x"}, {"*.*.x"}, {"a.1", "a.2"},
      {"none.>"}, {"a.1*", "b.>"}, {"c.*"}, {"a.*", "c.*", "b.*.x"}};
  for (int round = 0; round < 8; ++round) {
    toy_log log;
    std::vector<reader> readers;
    const std::uint64_t subjects = 1 + random() % (round % 3 == 0 ? 2'000 : 30);
    const unsigned removals = random() % 60;
    for (int step = 0; step < 4'000; ++step) {
      if (random() % 100 >= removals || log.live.empty()) {
        if (random() % 200 == 0) log.last += random() % 5'000;
        const auto number = std::to_string(random() % subjects);
        const auto kind = random() % 100;
        log.append(kind < 60   ? "d." + number
                   : kind < 80 ? "a." + number
                   : kind < 99 ? "b." + number + ".x"
                               : "c." + number);
      } else {
        auto gone = random() % 2 != 0 ? log.live.first() : log.live.next(random() % (log.last + 1));
        if (!gone) gone = log.live.last();
        log.remove(*gone);
      }
      if (readers.size() < 12 && random() % 200 == 0) {
        const auto& filters = choices[random() % choices.size()];
        readers.push_back({filters, log.open(filters), random() % (log.last + 10)});
      }
      if (readers.empty()) continue;
      auto& who = readers[random() % readers.size()];
      if (random() % 50 == 0) who.from = random() % (log.last + 3);
      const auto expected = log.expected_next(who.filters, who.from);
      ASSERT_EQ(who.cursor->next(who.from), expected);
      if (expected && random() % 4 != 0) who.from = *expected + 1;
      if (step % 100 == 0) {
        const sequence from = random() % (log.last + 2);
        ASSERT_EQ(who.cursor->count_from(from), log.expected_count(who.filters, from));
      }
    }
  }
}

}  // namespace
}  // namespace tern::storage
