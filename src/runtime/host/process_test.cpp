#include "runtime/host/process.hpp"

#include "runtime/clock.hpp"
#include "runtime/host/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tern::runtime::host {
namespace {

TEST(process, figures_are_plausible) {
  EXPECT_GT(process_id(), 1);
  EXPECT_EQ(program_name(), "tern_runtime_test");
  EXPECT_FALSE(host_name().empty());
  EXPECT_GE(core_count(), 1u);
  EXPECT_GT(resident_bytes(), 1u << 20);
  EXPECT_GT(physical_memory_bytes(), resident_bytes());
}

TEST(process, resident_memory_grows_with_touched_memory) {
  const std::uint64_t before = resident_bytes();
  const std::string touched(64 << 20, 'x');
  EXPECT_GT(resident_bytes(), before + (32 << 20));
  EXPECT_EQ(touched.back(), 'x');
}

TEST(process, a_busy_thread_uses_about_a_core) {
  processor_usage usage(time_point{});
  const nanoseconds start = processor_time_used();
  while (processor_time_used() - start < std::chrono::milliseconds(20)) {
  }
  // Twenty milliseconds or more of work in what is said to be twenty milliseconds.
  const double percent = usage.percent(time_point{} + std::chrono::milliseconds(20));
  EXPECT_GE(percent, 99.0);
  EXPECT_EQ(usage.percent(time_point{} + std::chrono::milliseconds(20)), percent);  // no time passed: the last figure
}

TEST(process, free_disk_space_of_a_directory_that_is_not_made_yet) {
  const scratch_directory scratch;
  const auto here = free_disk_bytes(scratch.path()), below = free_disk_bytes(scratch.path() + "/not/made/yet");
  ASSERT_TRUE(here.has_value());
  ASSERT_TRUE(below.has_value());
  EXPECT_GT(*here, 0u);
}

TEST(process, environment_variables_may_be_missing) {
  EXPECT_TRUE(environment_variable("PATH").has_value());
  EXPECT_EQ(environment_variable("TERN_SURELY_NOT_SET"), std::nullopt);
}

TEST(process, loopback_is_no_interface_address) {
  const auto addresses = interface_addresses();
  EXPECT_EQ(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
  EXPECT_EQ(std::ranges::find(addresses, "::1"), addresses.end());
}

TEST(process, host_names_resolve) {
  const auto addresses = resolve_host("localhost");
  ASSERT_TRUE(addresses.has_value());
  EXPECT_FALSE(addresses->empty());
  EXPECT_EQ(resolve_host("127.0.0.1"), std::vector<std::string>{"127.0.0.1"});
}

}  // namespace
}  // namespace tern::runtime::host
