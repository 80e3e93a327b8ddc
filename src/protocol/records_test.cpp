// The records and lines of the protocol: INFO, CONNECT, API errors, ack subjects, writers.
#include <gtest/gtest.h>

#include <tern/codec/json.hpp>

#include "protocol/ack_subject.hpp"
#include "protocol/connect.hpp"
#include "protocol/info.hpp"
#include "protocol/jetstream_error.hpp"
#include "protocol/writer.hpp"

namespace tern::protocol {
namespace {

// Core 1.1: the fields of a bare server, and the blank before CR LF.
TEST(info, writes_what_is_always_there_and_leaves_out_the_rest) {
  server_info info;
  info.server_id = "NABC";
  info.server_name = "NABC";
  info.version = std::string(compatible_version);
  info.go = "go1.25";
  info.host = "127.0.0.1";
  info.port = 4222;
  info.headers = true;
  info.max_payload = 1048576;
  info.client_id = 5;
  std::string out;
  append_info(out, info);
  EXPECT_EQ(out, R"(INFO {"server_id":"NABC","server_name":"NABC","version":"2.15.1","proto":1,"go":"go1.25",)"
                 R"("host":"127.0.0.1","port":4222,"headers":true,"max_payload":1048576,"client_id":5} )"
                 "\r\n");
}

TEST(info, reads_back_and_ignores_what_it_does_not_know) {
  const auto info = read_info(R"({"server_id":"N","max_payload":-1,"connect_urls":["a:1","b:2"],"future":[{}]} )");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->max_payload, -1);
  EXPECT_EQ(info->connect_urls, (std::vector<std::string>{"a:1", "b:2"}));
}

// Core 1.2
TEST(connect, merges_onto_verbose_pedantic_and_echo) {
  const auto options = read_connect("{}");
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->verbose && options->pedantic && options->echo);
  const auto other =
      read_connect(R"({"VERBOSE":false,"echo":null,"Pedantic":true,"pedantic":false,"x":{},"protocol":-1})");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->verbose);
  EXPECT_TRUE(other->echo);
  EXPECT_FALSE(other->pedantic);
  EXPECT_EQ(other->protocol, -1);
  EXPECT_FALSE(other->headers);
}

TEST(connect, merges_onto_what_an_earlier_one_said) {
  const auto first = read_connect(R"({"verbose":false,"headers":true,"name":"one"})");
  ASSERT_TRUE(first);
  const auto second = read_connect(R"({"echo":false,"name":"two"})", *first);
  ASSERT_TRUE(second);
  EXPECT_TRUE(!second->verbose && second->headers && !second->echo);
  EXPECT_EQ(second->name, "two");
}

TEST(connect, replaces_text_that_is_no_utf_8) {
  const auto name_of = [](std::string text) {
    const auto read = read_connect("{\"name\":\"" + text + "\"}");
    return read ? read->name : "refused";
  };
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(name_of("a\xFF\xFE"), "a" + bad + bad);
  EXPECT_EQ(name_of("\xC3\xA9\xC3"), "\xC3\xA9" + bad);
  EXPECT_EQ(name_of("\xED\xA0\x80"), bad + bad + bad);
  EXPECT_EQ(name_of("\\ud800x\\uDC00"), bad + "x" + bad);
  EXPECT_EQ(name_of("\\ud800\\ud83d\\ude00"), bad + "\xF0\x9F\x98\x80");
  EXPECT_EQ(name_of("\\\\ud800\xFF"), "\\ud800" + bad);
  EXPECT_EQ(name_of("\\ud80"), "refused");
  EXPECT_EQ(name_of("\xFF\t"), "refused");
}

TEST(connect, refuses_broken_json_and_wrong_types) {
  for (const char* text : {"", "{", "{\"verbose\":\"no\"}", "[]", "{} x", "x", "{\"user\":1}", "{\"protocol\":1.5}"}) {
    EXPECT_FALSE(read_connect(text)) << text;
  }
}

TEST(connect, writes_what_a_client_sends) {
  connect_options options;
  options.verbose = false;
  options.pedantic = false;
  options.user = "u";
  std::string out;
  append_connect(out, options);
  EXPECT_EQ(out, R"(CONNECT {"verbose":false,"pedantic":false,"echo":true,"tls_required":false,"user":"u","lang":"",)"
                 R"("version":"","protocol":0,"headers":false,"no_responders":false})"
                 "\r\n");
}

TEST(connect, hides_secrets_in_logs) {
  EXPECT_EQ(
      redact_connect(R"({"user":"u","pass":"s\"x","auth_token" : "t","nkey":"n","sig":"s","jwt":"j","name":"pass"})"),
      R"({"user":"u","pass":"[REDACTED]","auth_token" : "[REDACTED]","nkey":"[REDACTED]","sig":"[REDACTED]",)"
      R"("jwt":"j","name":"pass"})");
  EXPECT_EQ(redact_connect(R"({"pass":12,"a":1})"), R"({"pass":"[REDACTED]","a":1})");
  EXPECT_EQ(redact_connect(R"({"pass":"open)"), R"({"pass":"[REDACTED]")");
}

TEST(jetstream_error, has_the_number_code_and_text_of_the_peer) {
  const auto problem = make_api_error(jetstream_errc::stream_wrong_last_sequence, {{"seq", "7"}});
  EXPECT_EQ(codec::to_json(problem), R"({"code":400,"err_code":10071,"description":"wrong last sequence: 7"})");
  EXPECT_EQ(make_api_error(jetstream_errc::invalid_json, {{"err", "json: unknown field \"x\""}}).description,
            "invalid JSON: json: unknown field \"x\"");
  EXPECT_EQ(describe(jetstream_errc::stream_not_found).http_code, 404);
  EXPECT_EQ(find_jetstream_error(10059)->number, jetstream_errc::stream_not_found);
  EXPECT_EQ(find_jetstream_error(1), nullptr);
  EXPECT_EQ(to_error(problem).api_code(), 10071);
}

// Jetstream 14
TEST(ack_subject, goes_both_ways) {
  ack_subject subject{"", "", "ORDERS", "worker", 1, 22, 33, from_unix_nanoseconds(1'700'000'000'000'000'001), 4};
  std::string text;
  append_ack_subject(text, subject);
  EXPECT_EQ(text, "$JS.ACK.ORDERS.worker.1.22.33.1700000000000000001.4");
  EXPECT_EQ(parse_ack_subject(text), subject);
  std::string prefixed = ack_subject_prefix("ORDERS", "worker");
  append_ack_numbers(prefixed, 1, 22, 33, subject.timestamp, 4);
  EXPECT_EQ(prefixed, text);

  subject.account_hash = "szMpdrwD";
  std::string v2;
  append_ack_subject_v2(v2, subject);
  EXPECT_EQ(v2, "$JS.ACK._.szMpdrwD.ORDERS.worker.1.22.33.1700000000000000001.4");
  EXPECT_EQ(parse_ack_subject(v2), subject);
  EXPECT_EQ(parse_ack_subject(v2 + ".random"), subject);
  subject.domain = "hub";
  EXPECT_EQ(parse_ack_subject("$JS.ACK.hub.szMpdrwD.ORDERS.worker.1.22.33.1700000000000000001.4"), subject);
}

TEST(ack_subject, refuses_other_shapes) {
  for (const char* text : {"", "$JS.ACK", "$JS.ACK.a.b.1.2.3.4", "$JS.ACK.a.b.1.2.3.4.5.6", "$JS.ACK.a.b.x.2.3.4.5",
                           "$JS.ACK.a..1.2.3.4.5", "JS.ACK.a.b.1.2.3.4.5", "$JS.ACK.a.b.1.2.3.4.-5"}) {
    EXPECT_EQ(parse_ack_subject(text), std::nullopt) << text;
  }
}

TEST(writer, writes_lines) {
  std::string out;
  append_message(out, "a.b", "7", "", "", "hello");
  append_message(out, "a", "8", "r", "NATS/1.0\r\n\r\n", "x");
  append_publish(out, "a", "", "", "x");
  append_publish(out, "a", "r", "NATS/1.0\r\n\r\n", "");
  append_subscribe(out, "a.*", "", "1");
  append_subscribe(out, "a.*", "q", 12);
  append_unsubscribe(out, 12);
  append_unsubscribe(out, "12", 100);
  append_error(out, "Stale Connection");
  EXPECT_EQ(out,
            "MSG a.b 7 5\r\nhello\r\nHMSG a 8 r 12 13\r\nNATS/1.0\r\n\r\nx\r\nPUB a 1\r\nx\r\n"
            "HPUB a r 12 12\r\nNATS/1.0\r\n\r\n\r\nSUB a.* 1\r\nSUB a.* q 12\r\nUNSUB 12\r\nUNSUB 12 100\r\n"
            "-ERR 'Stale Connection'\r\n");
}

TEST(writer, writes_decimals) {
  for (std::uint64_t value = 0; value < 100'000; ++value) {
    char digits[decimal_digits_max];
    ASSERT_EQ(std::string(digits, put_decimal(digits, value)), std::to_string(value));
  }
  for (std::uint64_t value = 1; value != 0; value *= 2) {
    for (const std::uint64_t near : {value - 1, value, value + 1, 0 - value}) {
      char digits[decimal_digits_max];
      ASSERT_EQ(std::string(digits, put_decimal(digits, near)), std::to_string(near));
    }
  }
}

TEST(writer, quotes_as_go_does) {
  EXPECT_EQ(quoted("a\"\\\a\b\f\n\r\t\v\x01\x7f"), R"("a\"\\\a\b\f\n\r\t\v\x01\x7f")");
  EXPECT_EQ(quoted("\xC3\xBC\xFF\xC2\xA0\xF0\x9F\x90\xA6"), "\"\xC3\xBC\\xff\\u00a0\xF0\x9F\x90\xA6\"");
}

}  // namespace
}  // namespace tern::protocol
