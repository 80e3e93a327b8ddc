// Unix sockets through the transport of TCP.
#include "runtime/host/files.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <array>

namespace tern::runtime {
namespace {

struct unix_world {
  std::unique_ptr<listener> listen() {
    auto made = network->listen(at, [this](std::unique_ptr<byte_stream> stream) { accepted = std::move(stream); });
    EXPECT_TRUE(made.has_value()) << made.error().message();
    return made ? std::move(*made) : nullptr;
  }
  result<std::unique_ptr<byte_stream>> dial() {
    std::optional<result<std::unique_ptr<byte_stream>>> out;
    network->connect(at, std::chrono::seconds(1), [&out](auto made) { out = std::move(made); });
    loop.run_ready();
    return std::move(*out);
  }

  paused_clock clock{from_unix_nanoseconds(1'800'000'000'000'000'000)};
  seeded_random randomness{5};
  shard loop{clock, randomness};
  std::unique_ptr<transport> network = make_tcp_transport(loop);
  host::scratch_directory directory;
  endpoint at{.host = directory.path() + "/socket", .unix_socket = true};
  std::unique_ptr<byte_stream> accepted;
};

TEST(unix_socket, bytes_pass_and_the_ends_are_named_by_the_path) {
  unix_world world;
  const auto listening = world.listen();
  auto dialled = world.dial();
  ASSERT_TRUE(dialled.has_value()) << dialled.error().message();
  ASSERT_NE(world.accepted, nullptr);
  EXPECT_EQ(world.accepted->peer().text(), "unix:" + world.directory.path() + "/socket");
  const std::string_view text = "PING";
  (*dialled)->write({&text, 1});
  std::array<char, 16> block;
  EXPECT_EQ(world.accepted->read(block).bytes, 4u);
}

TEST(unix_socket, the_file_is_for_owner_and_group_and_goes_with_the_listener) {
  unix_world world;
  struct stat what;
  {
    const auto listening = world.listen();
    ASSERT_EQ(::stat(world.at.host.c_str(), &what), 0);
    EXPECT_EQ(what.st_mode & 0777, 0660u);
  }
  EXPECT_NE(::stat(world.at.host.c_str(), &what), 0);
}

TEST(unix_socket, a_file_that_a_crash_has_left_is_replaced_and_a_living_one_is_not) {
  unix_world world;
  auto first = world.listen();
  EXPECT_FALSE(world.network->listen(world.at, [](std::unique_ptr<byte_stream>) {}).has_value());
  const std::string kept = world.at.host + ".kept";
  ASSERT_EQ(::link(world.at.host.c_str(), kept.c_str()), 0);
  first.reset();
  ASSERT_EQ(::rename(kept.c_str(), world.at.host.c_str()), 0);  // the file of a listener that is gone
  const auto second = world.listen();
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(world.dial().has_value());
}

TEST(unix_socket, other_files_are_left_alone) {
  unix_world world;
  ASSERT_TRUE(host::write_text_file(world.at.host, "mine"));
  EXPECT_FALSE(world.network->listen(world.at, [](std::unique_ptr<byte_stream>) {}).has_value());
  EXPECT_EQ(*host::read_text_file(world.at.host), "mine");
}

TEST(unix_socket, nobody_there_is_a_failure) {
  unix_world world;
  EXPECT_EQ(world.dial().error().code(), errc::connect_failed);
  world.at.host = std::string(200, 'x');
  EXPECT_FALSE(world.network->listen(world.at, [](std::unique_ptr<byte_stream>) {}).has_value());
}

}  // namespace
}  // namespace tern::runtime
