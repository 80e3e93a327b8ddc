#include "routing/subject_map.hpp"

#include <gtest/gtest.h>

namespace tern::routing {
namespace {

using outcome = subject_map::outcome;

TEST(subject_map, the_first_source_that_matches_decides_and_nothing_chains_core_7_1) {
  const auto map = subject_map::create({{"a.*", {{"b.$1"}}}, {"b.*", {{"c.$1"}}}});
  ASSERT_TRUE(map) << map.error();
  std::string out;
  EXPECT_EQ(map->map("a.x", 0, out), outcome::mapped);
  EXPECT_EQ(out, "b.x");
  EXPECT_EQ(map->map("z", 0, out), outcome::unchanged);
}

TEST(subject_map, weights_choose_and_the_rest_stays_unless_the_source_is_listed_core_7_1) {
  const auto open = subject_map::create({{"a", {{"b", 30}}}});
  const auto closed = subject_map::create({{"a", {{"b", 30}, {"a", 50}}}});
  std::string out;
  int mapped = 0, unchanged = 0, to_b = 0, to_a = 0, lost = 0;
  for (std::uint64_t drawn = 0; drawn < 100; ++drawn) {
    (open->map("a", drawn, out) == outcome::mapped ? mapped : unchanged) += 1;
    if (closed->map("a", drawn, out) == outcome::lost)
      ++lost;
    else
      ++(out == "b" ? to_b : to_a);
  }
  EXPECT_EQ(mapped, 30);
  EXPECT_EQ(unchanged, 70);
  EXPECT_EQ(to_b, 30);
  EXPECT_EQ(to_a, 50);
  EXPECT_EQ(lost, 20);
}

TEST(subject_map, destinations_of_other_clusters_are_never_chosen_core_7_1) {
  const auto map = subject_map::create({{"a", {{"b", 100, "east"}}}});
  std::string out;
  EXPECT_EQ(map->map("a", 5, out), outcome::unchanged);
}

TEST(subject_map, what_cannot_be_is_refused_with_the_peers_text_core_7_1) {
  EXPECT_EQ(subject_map::create({{"foo.>", {{"bar"}}}}).error(),
            "Error adding mapping for \"foo.>\" to \"bar\" : invalid subject");
  EXPECT_EQ(subject_map::create({{"foo", {{"a", 10}, {"a", 10}}}}).error(),
            "Error adding mapping for \"foo\" : duplicate entry for \"a\"");
  EXPECT_EQ(subject_map::create({{"foo", {{"a", 60}, {"b", 60}}}}).error(),
            "Error adding mapping for \"foo\" : total weight needs to be <= 100");
}

}  // namespace
}  // namespace tern::routing
