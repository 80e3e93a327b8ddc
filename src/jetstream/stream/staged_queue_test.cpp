#include "jetstream/stream/staged_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

staged_publish message(storage::sequence number, std::int64_t change = 1) {
  return {.number = number, .required = number, .record_bytes = 10, .message_change = change, .byte_change = 10};
}

TEST(staged_queue, gives_back_subjects_and_replies_in_order) {
  staged_queue queue(1);
  for (storage::sequence number = 1; number <= 10'000; ++number) {
    queue.push(message(number), "subject." + std::to_string(number), "reply." + std::to_string(number));
    if (number % 3 != 0) continue;
    const storage::sequence expected = number / 3;
    ASSERT_EQ(queue.front().number, expected);
    ASSERT_EQ(queue.front().subject, "subject." + std::to_string(expected));
    ASSERT_EQ(queue.front().reply, "reply." + std::to_string(expected));
    queue.pop();
  }
  EXPECT_EQ(queue.size(), 10'000u - 3'333u);
  EXPECT_EQ(queue.bytes(), queue.size() * 10);
}

TEST(staged_queue, a_text_larger_than_a_block_is_kept_whole) {
  staged_queue queue(1);
  const std::string large(200'000, 'x');
  queue.push(message(1), large, "reply");
  queue.push(message(2), "a", "b");
  EXPECT_EQ(queue.front().subject, large);
  queue.pop();
  EXPECT_EQ(queue.front().reply, "b");
}

TEST(staged_queue, knows_the_last_sequence_and_the_change_of_a_subject) {
  staged_queue queue(1);
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 0u);
  queue.push(message(1), "a", {});
  queue.push(message(2), "b", {});
  queue.push(message(3, 0), "a", {});
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 3u);
  EXPECT_EQ(queue.of_subject(queue.hash("a")).change, 1);
  EXPECT_EQ(queue.of_subject(queue.hash("c")).last, 0u);
  queue.pop();
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 3u);
  EXPECT_EQ(queue.of_subject(queue.hash("a")).change, 0);
  queue.pop();
  queue.pop();
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 0u);
  EXPECT_EQ(queue.message_change(), 0);
}

TEST(staged_queue, the_index_of_many_passing_subjects_stays_right) {
  staged_queue queue(1);
  for (storage::sequence number = 1; number <= 20'000; ++number) {
    queue.push(message(number), "s" + std::to_string(number), {});
    ASSERT_EQ(queue.of_subject(queue.hash("s" + std::to_string(number))).last, number);
    if (queue.size() > 100) queue.pop();
    if (number > 200) {
      ASSERT_EQ(queue.of_subject(queue.hash("s" + std::to_string(number - 150))).last, 0u);
      ASSERT_EQ(queue.of_subject(queue.hash("s" + std::to_string(number - 50))).last, number - 50);
    }
  }
}

TEST(staged_queue, the_newest_can_be_taken_back) {  // jetstream 5.10: a batch that fails its checks
  staged_queue queue(1);
  queue.push(message(1), "a", "r");
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 1u);
  queue.push(message(2), "a", {});
  queue.push(message(3), "b", {});
  EXPECT_EQ(queue.of_subject(queue.hash("b")).last, 3u);
  queue.drop_last(2);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.message_change(), 1);
  EXPECT_EQ(queue.of_subject(queue.hash("a")).last, 1u);
  EXPECT_EQ(queue.of_subject(queue.hash("b")).last, 0u);
  queue.push(message(2), "c", "again");
  queue.pop();
  EXPECT_EQ(queue.front().reply, "again");
}

TEST(staged_queue, finds_the_last_match_of_a_pattern) {
  staged_queue queue(1);
  queue.push(message(1), "a.b", {});
  queue.push(message(2), "a.c", {});
  queue.push({.what = staged_publish::kind::skip, .number = 3, .required = 3}, "a.d", {});
  EXPECT_EQ(queue.last_match("a.*"), 2u);
  EXPECT_EQ(queue.last_match("a.b"), 1u);
  EXPECT_EQ(queue.last_match("x.>"), 0u);
}

}  // namespace
}  // namespace tern::jetstream
