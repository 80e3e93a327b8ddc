#include "protocol/client_parser.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tern::protocol {
namespace {

struct recorder {
  std::vector<std::string> events;
  verdict note(std::string event) {
    events.push_back(std::move(event));
    return verdict::go_on;
  }
  verdict on_info(std::string_view json) { return note("INFO " + std::string(json)); }
  verdict on_message(const message_frame& message) {
    std::string event = message.with_header ? "HMSG " : "MSG ";
    event.append(message.subject).append(" ").append(message.sid).append(" [").append(message.reply).append("] ");
    return note(event.append(message.header()).append("|").append(message.payload()));
  }
  verdict on_ping() { return note("PING"); }
  verdict on_pong() { return note("PONG"); }
  verdict on_ok() { return note("+OK"); }
  verdict on_error(std::string_view text) { return note("-ERR " + std::string(text)); }
};

using events = std::vector<std::string>;

constexpr std::string_view transcript =
    "INFO {\"server_id\":\"N\"} \r\n+OK\r\nPING\r\nPONG\r\nMSG foo.bar 1 5\r\nhello\r\nMSG a 22 reply 0\r\n\r\n"
    "HMSG a 3 12 14\r\nNATS/1.0\r\n\r\nxy\r\nhmsg a 3 r 12 12\r\nNATS/1.0\r\n\r\n\r\n-ERR 'Stale Connection'\r\n"
    "MSG  a \t 1  1\nz\r\nPING\r\n";

const events expected{"INFO {\"server_id\":\"N\"} ",
                      "+OK",
                      "PING",
                      "PONG",
                      "MSG foo.bar 1 [] |hello",
                      "MSG a 22 [reply] |",
                      "HMSG a 3 [] NATS/1.0\r\n\r\n|xy",
                      "HMSG a 3 [r] NATS/1.0\r\n\r\n|",
                      "-ERR Stale Connection",
                      "MSG a 1 [] |z",
                      "PING"};

TEST(client_parser, gives_the_same_events_for_every_cut) {
  for (std::size_t first = 0; first <= transcript.size(); ++first) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{3}, transcript.size()}) {
      client_parser parser;
      recorder handler;
      EXPECT_EQ(parser.consume(std::string(transcript.substr(0, first)), handler), parse_outcome::more);
      for (std::size_t at = first; at < transcript.size(); at += length) {
        EXPECT_EQ(parser.consume(std::string(transcript.substr(at, length)), handler), parse_outcome::more);
      }
      ASSERT_EQ(handler.events, expected) << first << ' ' << length;
    }
  }
}

TEST(client_parser, refuses_what_no_server_sends) {
  for (const char* text : {"PUB a 1\r\nx\r\n", "SUB a 1\r\n", "CONNECT {}\r\n", "UNSUB 1\r\n", "HPUB a 1 1\r\n", "\r\n",
                           "MSG\r\n", "HMSG\r\n", "MSG a 1 1\r\nxy\r\n"}) {
    client_parser parser;
    recorder handler;
    EXPECT_EQ(parser.consume(text, handler), parse_outcome::unknown_operation) << text;
  }
  for (const char* text : {"MSG a 1\r\n", "MSG a 1 x\r\n", "MSG a 1 b 2 3\r\n", "HMSG a 1 2\r\n", "HMSG a 1 3 2\r\n",
                           "HMSG a 1 x 3\r\n"}) {
    client_parser parser;
    recorder handler;
    EXPECT_EQ(parser.consume(text, handler), parse_outcome::bad_argument) << text;
  }
}

TEST(client_parser, gathers_a_large_message) {
  client_parser parser;
  recorder handler;
  const std::string text = "MSG foo 1 300000\r\n" + std::string(300'000, 'x') + "\r\nPING\r\n";
  for (std::size_t at = 0; at < text.size(); at += 65536) {
    ASSERT_EQ(parser.consume(text.substr(at, 65536), handler), parse_outcome::more);
  }
  ASSERT_EQ(handler.events.size(), 2u);
  EXPECT_EQ(handler.events[0].size(), std::string("MSG foo 1 [] |").size() + 300'000);
}

}  // namespace
}  // namespace tern::protocol
