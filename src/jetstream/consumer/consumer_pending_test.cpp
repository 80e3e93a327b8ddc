#include "jetstream/consumer/consumer_pending.hpp"

#include "jetstream/consumer/consumer_deltas.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tern::jetstream {
namespace {

time_point at_second(std::int64_t seconds) { return time_point(std::chrono::seconds(seconds)); }

pending_entry& add(pending_set& set, storage::sequence number, std::uint64_t consumer_sequence) {
  pending_entry& entry = set.append(number);
  entry.consumer_sequence = consumer_sequence;
  entry.deliveries = 1;
  return entry;
}

TEST(pending_set, finds_what_was_added_with_and_without_gaps) {
  pending_set set;
  add(set, 10, 1);
  add(set, 11, 2);
  add(set, 500, 3);
  ASSERT_NE(set.find(11), nullptr);
  EXPECT_EQ(set.find(11)->consumer_sequence, 2u);
  EXPECT_EQ(set.find(500)->consumer_sequence, 3u);
  EXPECT_EQ(set.find(12), nullptr);
  EXPECT_EQ(set.find(9), nullptr);
  EXPECT_EQ(set.find(501), nullptr);
  EXPECT_EQ(set.size(), 3u);
}

TEST(pending_set, first_is_the_smallest_that_is_left) {
  pending_set set;
  for (storage::sequence n = 1; n <= 5; ++n) add(set, n, n);
  EXPECT_TRUE(set.erase(2));
  EXPECT_EQ(set.first()->number, 1u);
  EXPECT_TRUE(set.erase(1));
  EXPECT_EQ(set.first()->number, 3u);
  EXPECT_FALSE(set.erase(1));
  EXPECT_FALSE(set.erase(99));
}

TEST(pending_set, forgets_everything_when_it_becomes_empty) {
  pending_set set;
  add(set, 7, 1);
  EXPECT_TRUE(set.erase(7));
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.first(), nullptr);
  add(set, 3, 2);  // after a reset the position goes back
  EXPECT_EQ(set.first()->number, 3u);
}

// The structure against std::map, under random additions and removals at both ends and in the middle.
TEST(pending_set, behaves_like_an_ordered_map) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    pending_set set;
    std::map<storage::sequence, std::uint64_t> model;
    storage::sequence next = 1;
    std::uint64_t consumer_sequence = 1;
    for (int i = 0; i < 3000; ++i) {
      const auto dice = random() % 10;
      if (model.empty() || dice < 5) {
        next += 1 + (random() % 4 == 0 ? random() % 50 : 0);
        add(set, next, consumer_sequence);
        model[next] = consumer_sequence++;
      } else {
        auto victim = model.begin();
        if (dice > 7) std::advance(victim, static_cast<std::ptrdiff_t>(random() % model.size()));
        const storage::sequence number = victim->first;
        model.erase(victim);
        ASSERT_TRUE(set.erase(number));
        ASSERT_EQ(set.find(number), nullptr);
      }
      ASSERT_EQ(set.size(), model.size());
      if (!model.empty()) {
        ASSERT_EQ(set.first()->number, model.begin()->first);
        auto some = model.begin();
        std::advance(some, static_cast<std::ptrdiff_t>(random() % model.size()));
        ASSERT_NE(set.find(some->first), nullptr);
        ASSERT_EQ(set.find(some->first)->consumer_sequence, some->second);
      }
    }
    std::map<storage::sequence, std::uint64_t> seen;
    set.for_each([&](const pending_entry& entry) { seen[entry.number] = entry.consumer_sequence; });
    EXPECT_EQ(seen, model);
  }
}

TEST(deadline_queue, gives_the_earliest_that_still_counts) {
  deadline_queue queue;
  std::map<storage::sequence, time_point> due{{1, at_second(30)}, {2, at_second(31)}, {3, at_second(5)}};
  for (const auto& [number, at] : due) queue.push(at, number);
  const auto current = [&](storage::sequence number, time_point at) {
    const auto found = due.find(number);
    return found != due.end() && found->second == at;
  };
  EXPECT_EQ(queue.earliest(current), at_second(5));
  due[3] = at_second(40);  // progress: a later deadline replaces it
  queue.push(at_second(40), 3);
  EXPECT_EQ(queue.earliest(current), at_second(30));
  due.erase(1);
  EXPECT_EQ(queue.earliest(current), at_second(31));
  EXPECT_FALSE(queue.take_due(at_second(30), current));
  EXPECT_EQ(queue.take_due(at_second(31), current), 2u);
}

TEST(deadline_queue, does_not_grow_with_deadlines_that_no_longer_count) {
  deadline_queue queue;
  const auto current = [](storage::sequence number, time_point) { return number == 1; };
  queue.push(at_second(1), 1);
  for (storage::sequence n = 2; n < 200'000; ++n) {
    queue.push(at_second(30 + static_cast<std::int64_t>(n)), n);
    queue.sweep_if_stale(1, current);
  }
  EXPECT_LT(queue.size(), 3000u);
  EXPECT_EQ(queue.earliest(current), at_second(1));
}

TEST(redelivery_queue, is_first_in_first_out_and_holds_each_message_once) {
  pending_set pending;
  redelivery_queue queue;
  for (storage::sequence n = 1; n <= 3; ++n) add(pending, n, n);
  queue.push(*pending.find(3));
  queue.push(*pending.find(1));
  queue.push(*pending.find(3));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.front(pending)->number, 3u);
  queue.leave(*pending.find(3));
  EXPECT_EQ(queue.front(pending)->number, 1u);
}

TEST(redelivery_queue, passes_over_what_left_and_what_is_no_longer_pending) {
  pending_set pending;
  redelivery_queue queue;
  for (storage::sequence n = 1; n <= 3; ++n) queue.push(add(pending, n, n));
  queue.leave(*pending.find(2));
  queue.leave(*pending.find(1));
  pending.erase(1);
  queue.push(*pending.find(2));  // again, behind 3
  EXPECT_EQ(queue.front(pending)->number, 3u);
  queue.leave(*pending.find(3));
  EXPECT_EQ(queue.front(pending)->number, 2u);
}

// --- what is written down (jetstream 22, storage R4) ---

bool same(const consumer_state& a, const consumer_state& b) {
  std::map<storage::sequence, std::tuple<std::uint64_t, std::uint64_t, time_point>> left, right;
  const auto fill = [](const consumer_state& from, auto& into) {
    from.pending.for_each([&](const pending_entry& e) { into[e.number] = {e.consumer_sequence, e.deliveries, e.due}; });
  };
  fill(a, left);
  fill(b, right);
  const std::vector<storage::sequence> rest_a(a.skip.begin() + static_cast<std::ptrdiff_t>(a.skip_next), a.skip.end());
  const std::vector<storage::sequence> rest_b(b.skip.begin() + static_cast<std::ptrdiff_t>(b.skip_next), b.skip.end());
  return a.next_stream == b.next_stream && a.next_consumer == b.next_consumer &&
         a.delivered_stream == b.delivered_stream && a.floor_consumer == b.floor_consumer &&
         a.floor_stream == b.floor_stream && a.exhausted == b.exhausted && left == right && rest_a == rest_b;
}

// A naive consumer: delivers, redelivers, acknowledges, gives up. Its deltas must lead to its state from every
// snapshot.
TEST(consumer_deltas, lead_from_any_snapshot_to_the_same_state) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    consumer_state state;
    std::string snapshot = encode_snapshot(state);
    std::string since;
    delta_writer out;
    for (int i = 0; i < 400; ++i) {
      out.clear();
      std::vector<storage::sequence> numbers;
      state.pending.for_each([&](const pending_entry& e) { numbers.push_back(e.number); });
      const auto dice = random() % 8;
      if (numbers.empty() || dice < 3) {
        const storage::sequence number = state.next_stream + random() % 3;
        const std::uint64_t consumer_sequence = state.next_consumer++;
        pending_entry& entry = add(state.pending, number, consumer_sequence);
        entry.delivered_at = at_second(i);
        entry.due = at_second(i + 30);
        state.next_stream = number + 1;
        state.delivered_stream = number;
        out.delivered(entry, consumer_sequence);
      } else {
        const storage::sequence number = numbers[random() % numbers.size()];
        pending_entry& entry = *state.pending.find(number);
        if (dice == 3) {
          ++entry.deliveries;
          entry.delivered_at = at_second(i);
          entry.due = at_second(i + 30);
          out.delivered(entry, state.next_consumer++);
        } else if (dice == 4) {
          state.exhausted[number] = entry.deliveries;
          state.pending.erase(number);
          out.exhausted(number, state.exhausted[number]);
        } else {
          settle_pending(state, number);
          out.settled(number);
        }
      }
      since += out.bytes();
      if (random() % 50 == 0) {
        snapshot = encode_snapshot(state);
        // A snapshot may hold more than the deltas before it: the last ones are replayed over it.
        since = out.bytes();
      }
      consumer_state replayed;
      ASSERT_TRUE(apply_snapshot(replayed, snapshot));
      ASSERT_TRUE(apply_deltas(replayed, since));
      ASSERT_TRUE(same(state, replayed)) << "seed " << seed << " step " << i;
    }
  }
}

TEST(consumer_deltas, keep_the_rest_of_a_skip_list) {
  consumer_state state;
  state.skip = {3, 8, 20};
  state.skip_end = 25;
  state.next_stream = 3;
  state.delivered_stream = 2;
  const std::string snapshot = encode_snapshot(state);
  delta_writer out;
  out.passed(3, 1);
  consumer_state replayed;
  ASSERT_TRUE(apply_snapshot(replayed, snapshot));
  ASSERT_TRUE(apply_deltas(replayed, out.bytes()));
  ASSERT_TRUE(replayed.skipping());
  EXPECT_EQ(replayed.skip[replayed.skip_next], 8u);
  EXPECT_EQ(replayed.next_consumer, 2u);
}

TEST(consumer_deltas, refuse_what_is_cut_off) {
  consumer_state state;
  for (storage::sequence n = 1; n < 20; ++n) add(state.pending, n, n);
  const std::string snapshot = encode_snapshot(state);
  for (std::size_t length = 0; length < snapshot.size(); ++length) {
    consumer_state replayed;
    EXPECT_FALSE(apply_snapshot(replayed, snapshot.substr(0, length))) << length;
  }
  consumer_state replayed;
  EXPECT_FALSE(apply_deltas(replayed, "\x7f"));
}

}  // namespace
}  // namespace tern::jetstream
