#include "protocol/server_parser.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tern::protocol {
namespace {

// Writes down what it is told, one line per event.
struct recorder {
  std::vector<std::string> events;
  std::size_t max_payload = 1024 * 1024;
  bool headers = true;
  std::string pause_at;  // event that asks for a pause
  bool let_through = true;
  int moved = 0;

  verdict note(std::string event) {
    events.push_back(std::move(event));
    return events.back() == pause_at ? verdict::pause : verdict::go_on;
  }
  verdict on_connect(std::string_view json) { return note("CONNECT " + std::string(json)); }
  verdict on_publish_start(const message_head& head) {
    if (head.with_header && !headers) return verdict::bad_argument;
    if (head.total_size > max_payload) return verdict::payload_too_large;
    return note("start " + std::string(head.subject) + ' ' + std::to_string(head.total_size));
  }
  verdict on_publish(const message_frame& message) {
    EXPECT_EQ(message.body.size(), message.total_size);
    EXPECT_TRUE(message.body_and_crlf().ends_with("\r\n"));
    std::string event = message.with_header ? "HPUB " : "PUB ";
    event.append(message.subject).append(" [").append(message.reply).append("] ");
    event.append(message.header()).append("|").append(message.payload());
    if (message.buffer != nullptr) {
      const std::string taken = std::move(*message.buffer);
      EXPECT_EQ(taken.size(), message.total_size + 2);
      ++moved;
    }
    return note(event);
  }
  verdict on_subscribe(std::string_view subject, std::string_view queue, std::string_view sid) {
    return note("SUB " + std::string(subject) + " [" + std::string(queue) + "] " + std::string(sid));
  }
  verdict on_unsubscribe(std::string_view sid, std::uint64_t max) {
    return note("UNSUB " + std::string(sid) + ' ' + std::to_string(max));
  }
  verdict on_ping() { return note("PING"); }
  verdict on_pong() { return note("PONG"); }
  verdict on_ok() { return note("+OK"); }
  verdict on_error(std::string_view text) { return note("-ERR " + std::string(text)), verdict::stop; }
  verdict on_info(std::string_view json) { return note("INFO " + std::string(json)); }
  bool on_gated_operation(char first) {
    note(std::string("gated ") + first);
    return let_through;
  }
};

using events = std::vector<std::string>;

parse_outcome feed(server_parser& parser, recorder& handler, std::string_view bytes) {
  return parser.consume(bytes, handler);
}

struct outcome_and_events {
  parse_outcome outcome;
  events seen;
};

outcome_and_events parse(std::string_view bytes, std::size_t max_control_line = max_control_line_default) {
  server_parser parser(max_control_line);
  recorder handler;
  const parse_outcome outcome = feed(parser, handler, bytes);
  return {outcome, handler.events};
}

TEST(server_parser, reads_operations_in_any_case_with_any_blanks) {
  const auto [outcome, seen] = parse(
      "sub  foo   q  9 \r\nPUB  foo   r   1  \r\nx\r\nHpUb foo  \t r 12\t 13 \r\nNATS/1.0\r\n\r\ny\r\nping\r\nunsub 9 "
      "3\r\nUNSUB 1 x\r\nconnect\t{\"a\":1} \nCONNECT{}\r\nPiNg anything goes\r\n+ok too\r\nPONG\r\nINFO{}\r\n");
  EXPECT_EQ(outcome, parse_outcome::more);
  EXPECT_EQ(seen, (events{"SUB foo [q] 9", "start foo 1", "PUB foo [r] |x", "start foo 13",
                          "HPUB foo [r] NATS/1.0\r\n\r\n|y", "PING", "UNSUB 9 3", "UNSUB 1 0", "CONNECT {\"a\":1} ",
                          "CONNECT {}", "PING", "+OK", "PONG", "INFO {}"}));
}

TEST(server_parser, ends_control_lines_at_a_bare_lf) {
  const auto [outcome, seen] = parse("SUB foo 1\nPUB foo 1\nx\r\nPING\nUNSUB 1\n");
  EXPECT_EQ(outcome, parse_outcome::more);
  EXPECT_EQ(seen, (events{"SUB foo [] 1", "start foo 1", "PUB foo [] |x", "PING", "UNSUB 1 0"}));
}

// Core 2: what is no operation, or has no blank where one must be.
TEST(server_parser, tells_unknown_operations) {
  for (const char* text : {"FOO bar\r\n",
                           "\r\n",
                           " PING\r\n",
                           "MSG foo 1 1\r\nx\r\n",
                           "RS+ $G foo\r\n",
                           "LS+ foo\r\n",
                           "A+ x\r\n",
                           "PUBfoo 1\r\n",
                           "SUB\r\nPING\r\n",
                           "+NO\r\n",
                           "-ERR\r\nPING\r\n",
                           "GET / HTTP/1.1\r\n",
                           "HMSG foo 1 12 12\r\n",
                           "UNSUB\r\n",
                           "PUB foo 3\r\nabcd\r\n",
                           "PUB foo 1\r\nx\n\n",
                           "PUB foo 1\r\nx\rX",
                           "HPUB\r\n",
                           "X",
                           "UNS\r\n"}) {
    EXPECT_EQ(parse(text).outcome, parse_outcome::unknown_operation) << text;
  }
}

TEST(server_parser, tells_wrong_arguments) {
  for (const char* text : {"SUB \t \r\n", "SUB foo\r\n", "SUB foo q 1 2\r\n", "PUB foo\r\n", "PUB \r\n",
                           "PUB a b c d\r\n", "UNSUB 1 2 3\r\n", "UNSUB \r\n", "HPUB foo 12\r\n", "HPUB foo 13 12\r\n",
                           "HPUB foo -1 12\r\n", "HPUB foo 1 x\r\n", "PUB foo x\r\n", "PUB foo -1\r\n",
                           "PUB foo +1\r\n", "PUB foo 1.5\r\n", "PUB foo 1234567890\r\n", "HPUB a b 1 2 3\r\n"}) {
    EXPECT_EQ(parse(text).outcome, parse_outcome::bad_argument) << text;
  }
  EXPECT_EQ(parse("PUB foo 000000003\r\nabc\r\n").seen.back(), "PUB foo [] |abc");
  EXPECT_EQ(parse("HPUB foo 0 0\r\n\r\n").seen.back(), "HPUB foo [] |");
}

TEST(server_parser, delivers_what_came_before_a_bad_line) {
  const auto [outcome, seen] = parse("SUB foo 1\r\nPUB foo 1\r\na\r\nBAD\r\n");
  EXPECT_EQ(outcome, parse_outcome::unknown_operation);
  EXPECT_EQ(seen, (events{"SUB foo [] 1", "start foo 1", "PUB foo [] |a"}));
}

TEST(server_parser, takes_payloads_that_look_like_protocol) {
  EXPECT_EQ(parse("PUB foo 16\r\nPUB foo 1\r\nx\r\n..\r\nPING\r\n").seen,
            (events{"start foo 16", "PUB foo [] |PUB foo 1\r\nx\r\n..", "PING"}));
}

// The whole behaviour is that of the bytes, however they are cut.
constexpr std::string_view transcript =
    "CONNECT {\"verbose\":false}\r\nPING\r\nSUB foo.* q 12\r\nPUB foo.bar 5\r\nhello\r\nPUB foo.bar _INBOX.1 0\r\n\r\n"
    "HPUB a.b reply 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nxy\r\nhpub a 12 12\r\nNATS/1.0\r\n\r\n\r\nUNSUB 12 "
    "5\r\nPONG\r\n+OK\r\n"
    "pub \t x  \t 1 \nz\r\nSUB a\t1\nINFO {\"a\":1} \r\nUNSUB 12\r\nPUB \xC3\xBC 2\r\n\r\n\r\nPING\r\n";

TEST(server_parser, gives_the_same_events_for_every_cut) {
  const events expected = parse(transcript).seen;
  ASSERT_EQ(expected.size(), 22u);
  for (std::size_t first = 0; first <= transcript.size(); ++first) {
    for (const std::size_t length :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, transcript.size()}) {
      server_parser parser;
      recorder handler;
      // A copy per piece, so that a view into an earlier piece is caught by the address sanitizer.
      EXPECT_EQ(feed(parser, handler, std::string(transcript.substr(0, first))), parse_outcome::more);
      for (std::size_t at = first; at < transcript.size(); at += length) {
        EXPECT_EQ(feed(parser, handler, std::string(transcript.substr(at, length))), parse_outcome::more);
      }
      ASSERT_EQ(handler.events, expected) << first << ' ' << length;
      EXPECT_TRUE(parser.at_operation_start());
    }
  }
}

TEST(server_parser, gives_the_same_outcome_for_every_cut_of_broken_input) {
  for (const std::string text :
       {"PUB foo 3\r\nabcd\r\n", "PUB foo 1\r\nx\rX\r\n", "SUB foo\r\n", "PUB foo x\r\n", "PINX\r\n", "-ERR 'x'\r\n",
        "HPUB foo 13 12\r\n", "SUB aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\r\n",
        "PUB foo 17\r\n0123456789abcdefg\r\n"}) {
    const auto run = [&](std::size_t first) {
      server_parser parser(40);
      recorder handler;
      handler.max_payload = 16;
      parse_outcome outcome = feed(parser, handler, std::string(text.substr(0, first)));
      if (outcome == parse_outcome::more) outcome = feed(parser, handler, std::string(text.substr(first)));
      return std::pair(outcome, handler.events);
    };
    const auto whole = run(text.size());
    EXPECT_NE(whole.first, parse_outcome::more) << text;
    for (std::size_t first = 0; first < text.size(); ++first) EXPECT_EQ(run(first), whole) << text << ' ' << first;
  }
}

// Core 2: the limit holds for the argument part; blanks inside and behind count, CR does not.
TEST(server_parser, bounds_the_control_line) {
  const auto line = [](std::string_view operation, std::size_t letters, std::string_view rest) {
    return std::string(operation) + std::string(letters, 'a') + std::string(rest);
  };
  EXPECT_EQ(parse(line("SUB ", 4094, " 1\r\n")).outcome, parse_outcome::more);
  EXPECT_EQ(parse(line("SUB ", 4095, " 1\r\n")).outcome, parse_outcome::control_line_too_long);
  EXPECT_EQ(parse(line("PUB ", 509, "  0\r\n\r\n"), 512).outcome, parse_outcome::more);
  EXPECT_EQ(parse(line("PUB ", 510, "  0\r\n\r\n"), 512).outcome, parse_outcome::control_line_too_long);
  EXPECT_EQ(parse(line("CONNECT ", 513, "\r\n"), 512).outcome, parse_outcome::control_line_too_long);
  EXPECT_EQ(parse(line("INFO ", 513, "\r\n"), 512).outcome, parse_outcome::control_line_too_long);
  EXPECT_EQ(parse(line("-ERR ", 513, "\r\n"), 512).outcome, parse_outcome::control_line_too_long);
  EXPECT_EQ(parse(line("PING ", 5000, "\r\n"), 512).seen, (events{"PING"}));
  // Blanks between the operation and its arguments do not count.
  EXPECT_EQ(parse("SUB " + std::string(600, ' ') + "a 1\r\n", 512).outcome, parse_outcome::more);
}

TEST(server_parser, bounds_a_line_that_is_still_incomplete) {
  server_parser parser(512);
  recorder handler;
  EXPECT_EQ(feed(parser, handler, "SUB " + std::string(512, 'a') + "\r"), parse_outcome::more);
  EXPECT_LE(parser.buffered(), 2048u);
  EXPECT_EQ(feed(parser, handler, "a"), parse_outcome::control_line_too_long);
  server_parser endless(512);
  EXPECT_EQ(feed(endless, handler, "SUB " + std::string(100'000, 'a')), parse_outcome::control_line_too_long);
  EXPECT_LE(endless.buffered(), 2048u);
}

// Core 2: the size is checked when the control line has been read; the payload is not waited for.
TEST(server_parser, asks_about_the_payload_before_it_comes) {
  server_parser parser;
  recorder handler;
  handler.max_payload = 16;
  EXPECT_EQ(feed(parser, handler, "PUB foo 16\r\n0123456789abcdef\r\n"), parse_outcome::more);
  EXPECT_EQ(feed(parser, handler, "HPUB foo 12 17\r\n"), parse_outcome::payload_too_large);
  handler.headers = false;
  server_parser other;
  EXPECT_EQ(feed(other, handler, "HPUB foo 12 12\r\n"), parse_outcome::bad_argument);
}

TEST(server_parser, gathers_a_large_payload_and_lets_the_handler_keep_it) {
  server_parser parser;
  recorder handler;
  const std::string payload(300'000, 'x');
  const std::string text = "PUB foo r 300000\r\n" + payload + "\r\nPING\r\n";
  for (std::size_t at = 0; at < text.size(); at += 65536) {
    ASSERT_EQ(feed(parser, handler, text.substr(at, 65536)), parse_outcome::more);
  }
  EXPECT_EQ(handler.events, (events{"start foo 300000", "PUB foo [r] |" + payload, "PING"}));
  EXPECT_EQ(handler.moved, 1);
  EXPECT_LE(parser.buffered(), 4096u);
}

TEST(server_parser, holds_no_more_than_was_sent_for_an_announced_payload) {
  server_parser parser;
  recorder handler;
  handler.max_payload = 999'999'999;
  EXPECT_EQ(feed(parser, handler, "PUB foo 999999999\r\nabc"), parse_outcome::more);
  EXPECT_LE(parser.buffered(), 2u * 1024 * 1024);
}

// Core 2: a CR in the arguments of SUB and UNSUB separates, as for the peer; in a subject it would break MSG lines.
TEST(server_parser, takes_no_carriage_return_into_a_published_subject) {
  for (const char* text :
       {"PUB a\rb 1\r\nx\r\n", "PUB a\r 1\r\nx\r\n", "PUB a \r 1\r\nx\r\n", "PUB a 1\r\r\nx\r\n",
        "PUB a b\rc 1\r\nx\r\n", "HPUB a 1 1\r\r\nx\r\n", "HPUB a\rb 1 1\r\nx\r\n", "HPUB a b 1\r 1\r\nx\r\n"})
    EXPECT_EQ(parse(text).outcome, parse_outcome::bad_argument) << text;
  EXPECT_EQ(parse("SUB a\r1\r\nUNSUB 1\r\r\n").seen, (events{"SUB a [] 1", "UNSUB 1 0"}));
}

TEST(server_parser, shows_the_arguments_as_they_were_sent) {
  struct : recorder {
    std::string lines;
    verdict on_publish_start(const message_head& head) { return lines.append(head.line).append("|"), verdict::go_on; }
    verdict on_publish(const message_frame& message) { return lines.append(message.line).append("|"), verdict::go_on; }
  } handler;
  for (const std::size_t piece : {1, 9, 100}) {
    server_parser parser;
    handler.lines.clear();
    const std::string_view text = "PUB  a \t r 01 \r\nx\r\n";
    for (std::size_t at = 0; at < text.size(); at += piece)
      ASSERT_EQ(parser.consume(text.substr(at, piece), handler), parse_outcome::more);
    EXPECT_EQ(handler.lines, "a \t r 01 |a \t r 01 |") << piece;
  }
}

// Core 1.3
TEST(server_parser, shows_operations_to_the_gate_while_it_is_closed) {
  server_parser parser;
  recorder handler;
  parser.close_gate();
  EXPECT_EQ(feed(parser, handler, "CONNECT {}\r\nconnect {}\r\n"), parse_outcome::more);
  handler.let_through = false;
  EXPECT_EQ(feed(parser, handler, "xyz\r\n"), parse_outcome::stopped);
  EXPECT_EQ(handler.events, (events{"CONNECT {}", "CONNECT {}", "gated x"}));
}

TEST(server_parser, pauses_behind_an_operation) {
  server_parser parser;
  recorder handler;
  handler.pause_at = "CONNECT {}";
  const std::string_view text = "CONNECT {}\r\nSUB a 1\r\nPING\r\n";
  EXPECT_EQ(feed(parser, handler, text), parse_outcome::paused);
  EXPECT_EQ(handler.events, (events{"CONNECT {}"}));
  EXPECT_EQ(parser.taken(), 12u);
  EXPECT_EQ(feed(parser, handler, text.substr(parser.taken())), parse_outcome::more);
  EXPECT_EQ(handler.events, (events{"CONNECT {}", "SUB a [] 1", "PING"}));
}

TEST(server_parser, stops_at_an_error_of_the_client) {
  const auto [outcome, seen] = parse("-ERR 'x'\r\nPING\r\n");
  EXPECT_EQ(outcome, parse_outcome::stopped);
  EXPECT_EQ(seen, (events{"-ERR 'x'"}));
}

// The lines that nats-server 2.15.1 logs for the same input.
TEST(server_parser, words_its_faults_as_the_peer_does) {
  const auto line = [](std::string_view text) {
    server_parser parser;
    recorder handler;
    feed(parser, handler, text);
    return parser.fault().log_line("Client");
  };
  EXPECT_EQ(line("FOO\r\n"), R"(Client parser ERROR, state=0, i=0: proto='"FOO\r"...')");
  EXPECT_EQ(line("+NO\r\n"), R"(Client parser ERROR, state=1, i=1: proto='"NO\r"...')");
  EXPECT_EQ(line("-ERR\r\n"), R"(Client parser ERROR, state=7, i=4: proto='"\r"...')");
  EXPECT_EQ(line("CONNECX"), R"(Client parser ERROR, state=15, i=6: proto='""...')");
  EXPECT_EQ(line("PUBX"), R"(Client parser ERROR, state=31, i=3: proto='""...')");
  EXPECT_EQ(line("UNSUB\r\n"), R"(Client parser ERROR, state=63, i=5: proto='"\r"...')");
  EXPECT_EQ(line("PUB a 1\r\nxx\r\n"), R"(Client parser ERROR, state=41, i=10: proto='"x\r"...')");
  EXPECT_EQ(line("PUB a 1\r\nx\rX"), R"(Client parser ERROR, state=42, i=11: proto='""...')");
  EXPECT_EQ(line("PUB a 1\r\nxYabcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl\r\n"),
            R"(Client parser ERROR, state=41, i=10: proto='"Yabcdefghijklmnopqrstuvwxyz01234"...')");
  EXPECT_EQ(line("PUB a x\r\n"), R"(processPub Bad or Missing Size: "a x")");
  EXPECT_EQ(line("PUB a b c d\r\n"), R"(processPub Parse Error: "a b c d")");
  EXPECT_EQ(line("HPUB a 1 x\r\n"), R"(processHeaderPub Bad or Missing Total Size: "a 1 x")");
  EXPECT_EQ(line("HPUB a -1 2\r\n"), R"(processHeaderPub Bad or Missing Header Size: "a -1 2")");
  EXPECT_EQ(line("HPUB a 3 2\r\n"), R"(processHeaderPub Header Size larger then TotalSize: "a 3 2")");
  EXPECT_EQ(line("PUB a 1\r\r\n"), R"(processPub Parse Error: "a 1\r")");
  EXPECT_EQ(line("SUB a\r\n"), R"(processSub Parse Error: "a")");
  EXPECT_EQ(line("UNSUB 1 2 3\r\n"), R"(processUnsub Parse Error: "1 2 3")");
}

}  // namespace
}  // namespace tern::protocol
