// For tests: a pull consumer over the fake peer, and the words that the server says to a pull request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tern/client/jetstream.hpp>

#include "client/fake_peer.hpp"

namespace tern::client {

inline std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

inline constexpr std::string_view next_subject = "PUB $JS.API.CONSUMER.MSG.NEXT.ORDERS.billing";
inline constexpr std::string_view info_subject = "PUB $JS.API.CONSUMER.INFO.ORDERS.billing";

class pull_test : public client_test {
 protected:
  void SetUp() override {
    connect();
    billing = jetstream(nats).pull_consumer("ORDERS", "billing");
  }
  void TearDown() override {
    stream = pull_stream();
    billing = pull_consumer();
  }
  void open(const pull_options& with = {}) {
    auto opened = billing.messages(with);
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    stream = *std::move(opened);
    run();
    const auto words = words_of_line(peer->take(), "SUB _INBOX.");
    ASSERT_EQ(words.size(), 3u);
    inbox = words[1];
    sid = words[2];
  }
  void begin() {
    EXPECT_FALSE(stream.try_next().has_value());
    run();
  }
  void deliver(int count = 1, std::string_view payload = "x") {
    for (int i = 0; i < count; ++i) {
      ++sequence;
      const auto number = std::to_string(sequence);
      peer->message("orders.placed", sid,
                    "$JS.ACK.ORDERS.billing.1." + number + "." + number + ".1790000000000000000.5", payload);
    }
    run();
  }
  void status(std::string_view line, std::string_view fields = "") {
    peer->header_message(inbox, sid, "NATS/1.0 " + std::string(line) + "\r\n" + std::string(fields) + "\r\n");
    run();
  }
  int take(int count) {
    int taken = 0;
    while (taken < count) {
      auto item = stream.try_next();
      if (!item || !*item) break;
      ++taken;
    }
    run();
    return taken;
  }
  errc take_error() {
    auto item = stream.try_next();
    if (!item || item->has_value()) return errc{};
    return item->error().code();
  }
  std::size_t requests() { return count_of(peer->text(), next_subject); }
  void answer_info(std::string_view json) {
    const auto words = words_of_line(peer->text(), info_subject);
    ASSERT_GE(words.size(), 3u);
    peer->message(words[2], reply_sid, "", json);
    run();
  }
  void find_reply_sid() {
    const auto words = words_of_line(peer->text(), ".*");
    if (words.size() == 3 && words[0] == "SUB") reply_sid = words[2];
  }

  pull_consumer billing;
  pull_stream stream;
  std::string inbox;
  std::string sid;
  std::string reply_sid;
  int sequence = 0;
};

}  // namespace tern::client
