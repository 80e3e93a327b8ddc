#include "message_view.hpp"

#include <gtest/gtest.h>

namespace tern::command {
namespace {

client::message with_headers() {
  client::message out;
  out.assign("a.b", "reply.to", "NATS/1.0\r\nX: y\r\nX: z\r\n\r\n", "hello");
  return out;
}

TEST(received_messages, are_shown_as_the_nats_command_shows_them) {
  EXPECT_EQ(describe_message(with_headers(), 1, message_style::full),
            "[#1] Received on \"a.b\" with reply \"reply.to\"\nX: y\nX: z\n\nhello\n\n");
  EXPECT_EQ(describe_message(client::message("a.c", "", ""), 2, message_style::full),
            "[#2] Received on \"a.c\"\nnil body\n\n");
}

TEST(received_messages, may_be_their_headers_or_their_payload_alone) {
  EXPECT_EQ(describe_message(with_headers(), 1, message_style::headers_only),
            "[#1] Received on \"a.b\" with reply \"reply.to\"\nX: y\nX: z\n\n");
  EXPECT_EQ(describe_message(with_headers(), 1, message_style::raw), "hello\n");
}

TEST(received_messages, are_one_json_object_a_line) {
  EXPECT_EQ(describe_message(with_headers(), 1, message_style::json),
            "{\"subject\":\"a.b\",\"reply\":\"reply.to\",\"headers\":{\"X\":[\"y\",\"z\"]},\"payload\":\"hello\"}\n");
  EXPECT_EQ(message_as_json(client::message("a", "", "\xff\x01")), R"({"subject":"a","payload_base64":"/wE="})");
}

TEST(received_messages, of_a_stream_tell_their_place) {
  const client::message stored("orders.1", "$JS.ACK.ORDERS.work.2.17.5.1767366245000000007.3", "x");
  EXPECT_EQ(
      message_as_json(stored),
      R"({"subject":"orders.1","reply":"$JS.ACK.ORDERS.work.2.17.5.1767366245000000007.3","payload":"x",)"
      R"("jetstream":{"stream":"ORDERS","consumer":"work","stream_seq":17,"consumer_seq":5,"delivered":2,"pending":3,)"
      R"("time":"2026-01-02T15:04:05.000000007Z"}})");
}

TEST(text_payloads, are_told_from_other_bytes) {
  for (const char* good : {"", "plain", "µ", "€", "\xf0\x9f\x90\xa6"}) EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad :
       {"\x80", "\xc0\xaf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "a\xf0\x9f\x90"})
    EXPECT_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace tern::command
