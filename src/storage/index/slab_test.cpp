#include "storage/index/slab.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace tern::storage {
namespace {

TEST(slab, freed_blocks_are_given_again_by_size) {
  slab memory;
  const auto first = memory.allocate(20);
  const auto second = memory.allocate(24);
  EXPECT_NE(first, second);
  memory.free(first, 20);
  EXPECT_NE(memory.allocate(25), first);
  EXPECT_EQ(memory.allocate(17), first);
}

TEST(slab, blocks_of_any_size_keep_their_bytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  slab memory;
  std::map<slab::reference, std::pair<std::size_t, char>> blocks;
  for (int step = 0; step < 5'000; ++step) {
    if (random() % 3 != 0 || blocks.empty()) {
      const std::size_t size = random() % 50 == 0 ? random() % 600'000 : random() % 2'000;
      const auto made = memory.allocate(size);
      ASSERT_NE(made, 0u);
      ASSERT_EQ(blocks.count(made), 0u);
      std::memset(memory.at(made), static_cast<char>(step), size);
      blocks[made] = {size, static_cast<char>(step)};
    } else {
      auto gone = blocks.lower_bound(random() % (blocks.rbegin()->first + 1));
      const auto [size, mark] = gone->second;
      for (std::size_t place = 0; place < size; place += 7) ASSERT_EQ(memory.at(gone->first)[place], mark);
      memory.free(gone->first, size);
      blocks.erase(gone);
    }
  }
}

}  // namespace
}  // namespace tern::storage
