#include <tern/server/embedded.hpp>

#include "runtime/host/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>

namespace tern::server {
namespace {

TEST(embedded, starts_on_a_free_port_logs_and_stops) {
  std::mutex mutex;
  std::string lines;
  auto server = embedded::start(
      embedded_options().port(-1).http_port(-1).name("inside").log([&](std::string_view level, std::string_view text) {
        const std::scoped_lock lock(mutex);
        lines.append(level).append(" ").append(text).append("\n");
      }));
  ASSERT_TRUE(server.has_value()) << server.error().message();
  EXPECT_NE(server->port(), 0);
  EXPECT_NE(server->http_port(), 0);
  EXPECT_EQ(server->client_url(), "nats://127.0.0.1:" + std::to_string(server->port()));
  EXPECT_EQ(server->in_process_url(), "inproc://inside");
  EXPECT_EQ(server->server_id().size(), 56u);
  server->stop();
  server->stop();
  EXPECT_THAT(lines, testing::HasSubstr("INF Server is ready\n"));
  EXPECT_THAT(lines, testing::HasSubstr("INF Server Exiting..\n"));
}

TEST(embedded, two_run_side_by_side_without_ports) {
  auto first = embedded::start(), second = embedded::start();
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_NE(first->server_id(), second->server_id());
  EXPECT_EQ(first->client_url(), "");
  *first = std::move(*second);
}

TEST(embedded, tells_why_it_cannot_start) {
  auto first = embedded::start(embedded_options().port(-1));
  ASSERT_TRUE(first.has_value());
  const auto second = embedded::start(embedded_options().port(first->port()));
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message(), testing::HasSubstr("in use"));
}

TEST(embedded, a_store_directory_belongs_to_one_server_at_a_time) {
  const runtime::host::scratch_directory scratch;
  const auto options = [&] { return embedded_options().jetstream(true).store_directory(scratch.path()); };
  auto first = embedded::start(options());
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const auto second = embedded::start(options());
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message(), testing::HasSubstr("in use by another server"));
  first->stop();
  EXPECT_TRUE(embedded::start(options()).has_value());
}

TEST(embedded, what_is_not_set_comes_from_the_configuration_file) {
  const runtime::host::scratch_directory scratch;
  const std::string file = scratch.path() + "/server.conf";
  ASSERT_TRUE(
      runtime::host::write_text_file(file, "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nserver_name: filed\n")
          .has_value());
  auto server = embedded::start(embedded_options().config_file(file));
  ASSERT_TRUE(server.has_value()) << server.error().message();
  EXPECT_NE(server->port(), 0);
  EXPECT_NE(server->http_port(), 0);
  EXPECT_EQ(server->in_process_url(), "inproc://filed");
}

}  // namespace
}  // namespace tern::server
