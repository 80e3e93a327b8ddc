#include "jetstream/stream/publish_headers.hpp"

#include <gtest/gtest.h>

namespace tern::jetstream {
namespace {

TEST(publish_headers, finds_names_exactly_and_at_line_starts) {  // jetstream 5.4
  const auto found = publish_headers::read(
      "NATS/1.0\r\nX-Nats-Msg-Id: no\r\nnats-msg-id: no\r\nNats-Msg-Id-2: no\r\nNats-Msg-Id:  a b \r\n\r\n");
  EXPECT_EQ(found.message_id, "a b ");
  EXPECT_FALSE(found.has_status);
}

TEST(publish_headers, an_empty_value_counts_as_absent) {
  const auto found = publish_headers::read("NATS/1.0\r\nNats-Rollup:\r\nNats-TTL:   \r\n\r\n");
  EXPECT_TRUE(found.rollup.empty());
  EXPECT_TRUE(found.time_to_live.empty());
}

TEST(publish_headers, the_first_of_two_fields_counts) {
  EXPECT_EQ(publish_headers::read("NATS/1.0\r\nNats-Msg-Id: a\r\nNats-Msg-Id: b\r\n\r\n").message_id, "a");
  EXPECT_TRUE(publish_headers::read("NATS/1.0\r\nNats-Rollup:\r\nNats-Rollup: sub\r\n\r\n").rollup.empty());
}

TEST(publish_headers, sees_a_status_and_request_info) {
  const auto found = publish_headers::read("NATS/1.0 503\r\nNats-Request-Info: {}\r\nA: b\r\n\r\n");
  EXPECT_TRUE(found.has_status);
  EXPECT_TRUE(found.has_request_info);
  EXPECT_EQ(storable_headers("NATS/1.0 503\r\nNats-Request-Info: {}\r\nA: b\r\n\r\n"), "NATS/1.0\r\nA: b\r\n\r\n");
  EXPECT_EQ(storable_headers("NATS/1.0 503\r\n\r\n"), "");
}

TEST(publish_headers, any_bytes_are_read_without_harm) {
  for (const std::string_view block :
       {"", "NATS/1.0", "NATS/1.0\r\n", "NATS/1.0\r\nNats-Msg-Id", "\r\n\r\n:", "Nats-"}) {
    EXPECT_TRUE(publish_headers::read(block).message_id.empty());
  }
}

TEST(publish_headers, reads_the_forms_of_a_time_to_live) {  // jetstream 5.8
  using std::chrono::seconds;
  EXPECT_EQ(parse_time_to_live("10"), seconds(10));
  EXPECT_EQ(parse_time_to_live("1h30m"), seconds(5400));
  EXPECT_EQ(parse_time_to_live("1500ms"), seconds(1));
  EXPECT_EQ(parse_time_to_live("NEVER"), seconds(0));
  for (const std::string_view bad : {"", "0", "-1", "0s", "999ms", "abc", "1.5", "99999999999999999999"})
    EXPECT_FALSE(parse_time_to_live(bad)) << bad;
}

}  // namespace
}  // namespace tern::jetstream
