#include "jetstream/consumer/ack_body.hpp"

#include "jetstream/consumer/pull_request.hpp"

#include <gtest/gtest.h>

namespace tern::jetstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ack_body, knows_the_words_of_jetstream_14) {
  for (const auto* text : {"", "+ACK", "+OK"}) EXPECT_EQ(parse_ack_body(text).kind, ack_kind::ack) << text;
  EXPECT_EQ(parse_ack_body("+WPI").kind, ack_kind::progress);
  for (const auto* text : {"+ack", "+ACK ", "+ACKX", "+WPI now", "{\"ack\":true}", "garbage"}) {
    EXPECT_EQ(parse_ack_body(text).kind, ack_kind::unknown) << text;
  }
}

TEST(ack_body, reads_the_delay_of_a_nak_in_both_forms) {
  EXPECT_FALSE(parse_ack_body("-NAK").has_delay);
  EXPECT_EQ(parse_ack_body("-NAK {\"delay\": 5000000000}").delay, seconds(5));
  EXPECT_EQ(parse_ack_body("-NAK 10s").delay, seconds(10));
  EXPECT_EQ(parse_ack_body("-NAK250ms").delay, milliseconds(250));
  EXPECT_EQ(parse_ack_body("-NAK   300ms  ").delay, milliseconds(300));
}

TEST(ack_body, takes_a_nak_without_a_usable_delay_for_a_plain_one) {
  for (const auto* text : {"-NAK {\"delay\":\"5s\"}", "-NAK {\"delay\":", "-NAK 5", "-NAK soon"}) {
    const ack_body body = parse_ack_body(text);
    EXPECT_EQ(body.kind, ack_kind::nak) << text;
    EXPECT_FALSE(body.has_delay) << text;
    EXPECT_TRUE(body.bad_delay) << text;
  }
  for (const auto* text : {"-NAK {\"delay\":0}", "-NAK {\"delay\":-1000000000}", "-NAK {}"}) {
    EXPECT_FALSE(parse_ack_body(text).has_delay) << text;
    EXPECT_FALSE(parse_ack_body(text).bad_delay) << text;
  }
}

TEST(ack_body, gives_the_argument_of_next_and_term) {
  EXPECT_EQ(parse_ack_body("+NXT 5").argument, " 5");
  EXPECT_EQ(parse_ack_body("+TERM  no such order ").argument, "no such order");
  EXPECT_EQ(parse_ack_body("+TERMx").argument, "x");
  EXPECT_EQ(parse_ack_body("+TERM").argument, "");
}

TEST(ack_numbers, are_the_first_three_tokens) {
  const auto numbers = parse_ack_numbers("2.17.33.1767225600000000001.5");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->deliveries, 2u);
  EXPECT_EQ(numbers->stream_sequence, 17u);
  EXPECT_EQ(numbers->consumer_sequence, 33u);
}

TEST(ack_numbers, do_not_parse_when_they_are_none) {
  for (const auto* text : {"", "1", "1.2", "1.x.3.4.5", "1.2.-3", "..", "1.99999999999999999999.3", "1..3"}) {
    EXPECT_FALSE(parse_ack_numbers(text)) << text;
  }
}

TEST(pull_request, is_a_number_an_object_or_one_message) {
  EXPECT_EQ(parse_pull_request("")->request.batch, 1);
  EXPECT_EQ(parse_pull_request("  2\t")->request.batch, 2);
  EXPECT_EQ(parse_pull_request("-3")->request.batch, -3);
  EXPECT_EQ(parse_pull_request("five")->request.batch, 1);
  EXPECT_EQ(parse_pull_request("2.5")->request.batch, 1);
  EXPECT_EQ(parse_pull_request("[3]")->request.batch, 1);
  EXPECT_EQ(parse_pull_request("99999999999999999999")->request.batch, 1);
  EXPECT_FALSE(parse_pull_request("7")->json);
  const auto object = parse_pull_request("{\"Batch\":2,\"future\":{\"a\":[1]},\"EXPIRES\":100000000}");
  ASSERT_TRUE(object) << object.error().message();
  EXPECT_TRUE(object->json);
  EXPECT_EQ(object->request.batch, 2);
  EXPECT_EQ(object->request.expires, milliseconds(100));
  EXPECT_EQ(parse_pull_request("{}")->request.batch, 0);
}

TEST(pull_request, says_what_is_wrong_with_it) {
  EXPECT_FALSE(parse_pull_request("{\"batch\":"));
  EXPECT_FALSE(parse_pull_request("{\"batch\":1,\"expires\":9223372036854775808}"));
  const auto large = parse_pull_request("{\"batch\":1,\"expires\":1000000000,\"idle_heartbeat\":500000001}");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().context(), "heartbeat value too large");
  EXPECT_TRUE(parse_pull_request("{\"batch\":1,\"expires\":1000000000,\"idle_heartbeat\":500000000}"));
  EXPECT_FALSE(parse_pull_request("{\"batch\":1,\"idle_heartbeat\":100000000}"));
  EXPECT_TRUE(parse_pull_request("{\"batch\":1,\"expires\":200,\"idle_heartbeat\":-5}"));
}

}  // namespace
}  // namespace tern::jetstream
