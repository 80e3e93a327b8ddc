#include "server/connection/output_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace tern::server {
namespace {

std::string drain(output_queue& queue, std::size_t step) {
  std::string out;
  while (!queue.empty()) {
    std::array<std::string_view, 3> pieces;
    std::string seen;
    for (std::size_t at = 0, count = queue.gather(pieces); at < count; ++at) seen += pieces[at];
    const std::size_t taken = std::min(step, seen.size());
    out += seen.substr(0, taken);
    queue.consume(taken);
  }
  return out;
}

TEST(output_queue, gives_back_what_was_appended_in_order_for_any_sizes) {
  block_pool pool;
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    output_queue queue(pool);
    std::string expected;
    for (int part = 0; part < 20; ++part) {
      std::string bytes(random() % (random() % 5 == 0 ? 100'000 : 2000), static_cast<char>('a' + random() % 26));
      if (random() % 4 == 0 && !bytes.empty()) {
        auto* shared = new shared_payload{.bytes = bytes};
        queue.append_shared(*shared, shared->bytes);
      } else {
        queue.append(bytes);
      }
      expected += bytes;
      ASSERT_EQ(queue.size(), expected.size());
    }
    ASSERT_EQ(drain(queue, 1 + random() % 50'000), expected);
  }
}

TEST(output_queue, a_shared_payload_dies_with_its_last_reference) {
  block_pool pool;
  auto* shared = new shared_payload{.bytes = "payload", .references = 1};
  {
    output_queue first(pool), second(pool);
    first.append_shared(*shared, shared->bytes);
    second.append_shared(*shared, shared->bytes);
    EXPECT_EQ(shared->references, 3u);
    first.consume(7);
    EXPECT_EQ(shared->references, 2u);
  }
  EXPECT_EQ(shared->references, 1u);
  delete shared;
}

TEST(output_queue, the_first_block_is_small_so_that_many_queues_fit_in_the_cache) {
  block_pool pool;
  output_queue queue(pool);
  queue.append("PONG\r\n");
  EXPECT_EQ(queue.pieces(), 1u);
  queue.append(std::string(10'000, 'x'));
  EXPECT_EQ(queue.pieces(), 2u);
}

TEST(output_queue, lines_between_shared_payloads_take_small_blocks) {
  block_pool pool;
  output_queue queue(pool);
  auto* shared = new shared_payload{.bytes = std::string(8192, 'p'), .references = 1};
  for (int message = 0; message < 3; ++message) {
    queue.append("MSG foo 1 8192\r\n");
    queue.append_shared(*shared, shared->bytes);
  }
  --shared->references;
  char* const line = queue.reserve(100);
  queue.commit(100);
  // What is left of a small block is less than a large one has.
  EXPECT_NE(queue.reserve(block_pool::small_block), line + 100);
}

}  // namespace
}  // namespace tern::server
