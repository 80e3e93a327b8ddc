#include "runtime/host/time_zones.hpp"

#include <gtest/gtest.h>

namespace tern::runtime::host {
namespace {

using namespace std::chrono_literals;

TEST(time_zones, know_summer_and_winter) {
  const auto zone = find_time_zone("Europe/Berlin");
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->offset_at(from_unix_nanoseconds(1'767'225'600'000'000'000)), 1h);  // January 2026
  EXPECT_EQ(zone->offset_at(from_unix_nanoseconds(1'782'864'000'000'000'000)), 2h);  // July 2026
  EXPECT_EQ(find_time_zone("UTC")->offset_at(time_point{}), 0s);
}

TEST(time_zones, unknown_and_improper_names_are_none) {
  for (const auto* name : {"", "Europe/Nowhere", "../../etc/passwd", "/etc/localtime", "Europe/../UTC"})
    EXPECT_EQ(find_time_zone(name), nullptr) << name;
}

}  // namespace
}  // namespace tern::runtime::host
