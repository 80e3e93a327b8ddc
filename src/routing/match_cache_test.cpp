#include "routing/match_cache.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tern::routing {
namespace {

// design 1.6: the number of entries and what they hold together are both bounded.
TEST(match_cache, many_subjects_with_many_receivers_do_not_take_unbounded_memory) {
  constexpr std::size_t receivers = 20'000;
  interest_trie interest;
  std::vector<trie_entry> entries(receivers);
  for (trie_entry& entry : entries) {
    entry.subject = ">";
    interest.insert(entry);
  }
  match_cache cache(interest);
  cached_match& held = cache.find("held");
  match_cache::pin(held);
  for (int subject = 0; subject < 300; ++subject) {
    EXPECT_EQ(cache.find("subject." + std::to_string(subject)).plain.size(), receivers);
    ASSERT_LE(cache.receivers_held(), match_cache::maximum_receivers);
  }
  EXPECT_EQ(held.plain.size(), receivers) << "what a publish uses stays";
  match_cache::unpin(held);
  EXPECT_EQ(cache.find("held").plain.size(), receivers);
  for (trie_entry& entry : entries) interest.remove(entry);
}

}  // namespace
}  // namespace tern::routing
