#include "client/server_list.hpp"

#include <gtest/gtest.h>

namespace tern::client {
namespace {

TEST(server_url, takes_every_part_and_defaults_the_rest) {
  const auto full = parse_server_url("nats://al%40ice:s:ecret@example.com:4333");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->at.host, "example.com");
  EXPECT_EQ(full->at.port, 4333);
  EXPECT_EQ(full->user, "al@ice");
  EXPECT_EQ(full->password, "s:ecret");
  EXPECT_EQ(parse_server_url("localhost")->at.port, 4222);
  EXPECT_EQ(parse_server_url("nats://tok@h")->token, "tok");
  EXPECT_EQ(parse_server_url("[::1]:5000")->at.host, "::1");
  EXPECT_TRUE(parse_server_url("inproc://broker")->at.in_process);
}

TEST(server_url, knows_tls_and_websockets) {
  EXPECT_EQ(parse_server_url("tls://h")->scheme, server_scheme::tls);
  EXPECT_EQ(parse_server_url("tls://h")->at.port, 4222);
  EXPECT_EQ(parse_server_url("ws://h")->at.port, 80);
  const auto secure = parse_server_url("wss://u:p@h/a/b");
  ASSERT_TRUE(secure);
  EXPECT_EQ(secure->scheme, server_scheme::wss);
  EXPECT_EQ(secure->at.port, 443);
  EXPECT_EQ(secure->path, "/a/b");
  EXPECT_EQ(secure->user, "u");
  EXPECT_EQ(parse_server_url("unix:///run/tern.sock")->at.host, "/run/tern.sock");
}

TEST(server_url, refuses_what_it_cannot_dial) {
  for (const auto* url : {"", "nats://", "http://h", "h:0", "h:70000", "h:x", "[::1", "[::1]x", "ws://h/a b"}) {
    EXPECT_EQ(parse_server_url(url).error().code(), errc::invalid_options) << url;
  }
}

TEST(server_list, pauses_double_up_to_the_longest_and_jitter_stays_within_its_fraction) {
  runtime::seeded_random random(1);
  options::values with;
  with.reconnect_jitter = 0.25;
  auto list = server_list::make(with, random);
  ASSERT_TRUE(list);
  nanoseconds expected = with.reconnect_first;
  for (int round = 0; round < 12; ++round) {
    const auto pause = list->pause(random);
    EXPECT_GE(pause, expected * 3 / 4);
    EXPECT_LE(pause, expected * 5 / 4);
    EXPECT_TRUE(list->advance());
    expected = std::min(expected * 2, with.reconnect_longest);
  }
  list->connected();
  EXPECT_LE(list->pause(random), with.reconnect_first * 5 / 4);
}

TEST(server_list, learns_servers_and_forgets_those_no_longer_told) {
  runtime::seeded_random random(1);
  options::values with;
  with.urls = {"nats://u:p@a:1"};
  auto list = server_list::make(with, random);
  list->discovered({"a:1", "b:2", "c:3"});
  EXPECT_EQ(list->size(), 3u);
  list->advance();
  EXPECT_EQ(list->current().at.host, "b");
  EXPECT_EQ(list->current().user, "u");
  list->discovered({"a:1"});
  EXPECT_EQ(list->size(), 2u) << "the current one stays";
  list->advance();
  list->discovered({"a:1"});
  EXPECT_EQ(list->size(), 1u);
}

}  // namespace
}  // namespace tern::client
