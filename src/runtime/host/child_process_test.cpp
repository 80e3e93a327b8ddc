#include "runtime/host/child_process.hpp"

#include <gtest/gtest.h>

namespace tern::runtime::host {
namespace {

using namespace std::chrono_literals;

child_process shell(const std::string& script) {
  auto started = child_process::start("sh", {"-c", script});
  if (!started) throw std::runtime_error(started.error().message());
  return *std::move(started);
}

}  // namespace

TEST(child_process, its_lines_can_be_waited_for_and_its_exit_code_is_told) {
  auto child = shell("echo one; echo two >&2; exit 7");
  EXPECT_EQ(child.wait_for_line("two", 10s), "two");
  EXPECT_EQ(child.wait_for_line("on", 10s), "one");
  EXPECT_EQ(child.wait(10s), 7);
  EXPECT_FALSE(child.running());
  EXPECT_EQ(child.output(), "one\ntwo\n");
}

TEST(child_process, a_line_that_never_comes_ends_with_the_program) {
  auto child = shell("echo reason");
  const auto line = child.wait_for_line("ready", 10s);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code(), errc::closed);
  EXPECT_NE(line.error().message().find("reason"), std::string::npos);
}

TEST(child_process, it_is_asked_to_end_and_may_do_so_in_order) {
  auto child = shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.wait_for_line("ready", 10s));
  EXPECT_TRUE(child.running());
  EXPECT_EQ(child.wait(0ns).error().code(), errc::timeout);
  child.terminate();
  EXPECT_EQ(child.wait(10s), 3);
  EXPECT_TRUE(child.wait_for_line("bye", 1s));
}

TEST(child_process, it_can_be_killed) {
  auto child = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.wait_for_line("ready", 10s));
  child.kill();
  EXPECT_EQ(child.wait(10s), 128 + 9);
}

TEST(child_process, a_program_that_does_not_exist_is_an_error) {
  EXPECT_EQ(child_process::start("no-such-program-anywhere", {}).error().code(), errc::not_found);
  EXPECT_EQ(child_process::start("/no/such/program", {}).error().code(), errc::not_found);
  EXPECT_TRUE(find_program("sh"));
}

}  // namespace tern::runtime::host
