// For tests: a connection over an in-process pipe with a paused clock, and the other end of the pipe as a script.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/connection.hpp>

#include "client/connect_on.hpp"
#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

namespace tern::client {

// Greets, answers PING, and keeps what it reads. Everything else is sent by the test.
class fake_peer {
 public:
  fake_peer(runtime::transport& network, std::string name) : name_(std::move(name)) { listen(network); }

  void listen(runtime::transport& network) {
    auto listening =
        network.listen({.host = name_, .in_process = true},
                       [this](std::unique_ptr<runtime::byte_stream> stream) { accept(std::move(stream)); });
    ASSERT_TRUE(listening.has_value()) << listening.error().message();
    listener_ = *std::move(listening);
  }
  void stop_listening() { listener_.reset(); }

  void send(std::string_view text) {
    ASSERT_NE(stream_, nullptr);
    stream_->write({&text, 1});
  }
  void message(std::string_view subject, std::string_view sid, std::string_view reply, std::string_view payload) {
    std::string line = "MSG " + std::string(subject) + " " + std::string(sid);
    if (!reply.empty()) line += " " + std::string(reply);
    send(line + " " + std::to_string(payload.size()) + "\r\n" + std::string(payload) + "\r\n");
  }
  void header_message(std::string_view subject, std::string_view sid, std::string_view block,
                      std::string_view payload = {}) {
    send("HMSG " + std::string(subject) + " " + std::string(sid) + " " + std::to_string(block.size()) + " " +
         std::to_string(block.size() + payload.size()) + "\r\n" + std::string(block) + std::string(payload) + "\r\n");
  }
  void cut() {
    if (stream_) stream_->close();
    stream_.reset();
  }
  bool has_client() const { return stream_ != nullptr; }

  // What came since the last take(), PINGs that were answered included.
  std::string take() { return std::exchange(text_, {}); }
  const std::string& text() const { return text_; }
  int accepted() const { return accepted_; }

  bool answers_pings = true;
  bool greets = true;
  std::string info =
      R"(INFO {"server_id":"N","server_name":"fake","version":"2.15.1","headers":true,"max_payload":1048576} )";

 private:
  void accept(std::unique_ptr<runtime::byte_stream> stream) {
    ++accepted_;
    unread_.clear();
    stream_ = std::move(stream);
    stream_->on_readable([this] { read(); });
    if (greets) send(info + "\r\n");
  }
  void read() {
    char buffer[65536];
    while (stream_ != nullptr) {
      const auto got = stream_->read(buffer);
      if (got.state != runtime::io_state::done) {
        if (got.state != runtime::io_state::would_block) stream_.reset();
        return;
      }
      text_.append(buffer, got.bytes);
      unread_.append(buffer, got.bytes);
      std::size_t end;
      while ((end = unread_.find("\r\n")) != std::string::npos) {
        if (answers_pings && unread_.substr(0, end) == "PING") send("PONG\r\n");
        unread_.erase(0, end + 2);
      }
    }
  }

  std::string name_;
  std::unique_ptr<runtime::listener> listener_;
  std::unique_ptr<runtime::byte_stream> stream_;
  std::string text_;
  std::string unread_;
  int accepted_ = 0;
};

class client_test : public ::testing::Test {
 protected:
  client_test() { peer = std::make_unique<fake_peer>(*network, "server"); }
  ~client_test() override {
    nats = connection();
    loop.run_ready();
  }

  options settings() {
    return options("inproc://server").reconnect_jitter(0).on_event([this](const connection_event& event) {
      events.push_back(event);
    });
  }
  void connect() { connect(settings()); }
  void connect(const options& with) {
    auto connecting = connect_on(loop, *network, with);
    loop.run_ready();
    ASSERT_TRUE(connecting.done());
    auto connected = connecting.get();
    ASSERT_TRUE(connected.has_value()) << connected.error().message();
    nats = *std::move(connected);
    peer->take();
  }
  void run() { loop.run_ready(); }
  // Timer by timer, so that what a timer starts happens at its own time.
  void advance(nanoseconds by) {
    const auto until = clock.now() + by;
    run();
    while (const auto due = loop.next_deadline()) {
      if (*due > until) break;
      clock.advance_to(*due);
      run();
    }
    clock.advance_to(until);
    run();
  }
  bool saw(connection_event::kind what) const {
    return std::any_of(events.begin(), events.end(), [&](const auto& event) { return event.what == what; });
  }
  // The subscription id and the reply subject of the last SUB or PUB line that holds `text`.
  static std::vector<std::string> words_of_line(const std::string& all, std::string_view text) {
    const auto at = all.rfind(text);
    if (at == std::string::npos) return {};
    auto begin = all.rfind('\n', at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    const auto end = all.find("\r\n", at);
    std::vector<std::string> words;
    std::string word;
    for (const char letter : all.substr(begin, end - begin) + " ") {
      if (letter != ' ') {
        word += letter;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
    return words;
  }

  runtime::paused_clock clock{from_unix_nanoseconds(1'790'000'000'000'000'000)};
  runtime::seeded_random random{7};
  runtime::shard loop{clock, random};
  runtime::pipe_network pipes;
  std::unique_ptr<runtime::transport> network = pipes.make_transport(loop);
  std::unique_ptr<fake_peer> peer;
  std::vector<connection_event> events;
  connection nats;
};

}  // namespace tern::client
