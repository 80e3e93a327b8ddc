// For the tests of this room: an engine over a memory store, one account, a clock that the test moves, and a client
// that publishes, requests and captures.
#pragma once

#include "jetstream/engine.hpp"
#include "routing/account.hpp"
#include "storage/store.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::jetstream {

struct captured_message {
  std::string subject, reply, headers, payload;
};

// Keeps what its subscriptions get.
class capturing_receiver final : public routing::receiver {
 public:
  std::deque<captured_message> messages;

  bool deliver(routing::subscription&, const routing::message& what) override {
    messages.push_back(
        {std::string(what.subject), std::string(what.reply), std::string(what.headers), std::string(what.payload)});
    return true;
  }
};

class test_harness {
 public:
  explicit test_harness(options settings = {})
      : store_(std::move(*storage::store::open(nullptr, {}))),
        account_("$G", 1),
        environment_{.settings = with_names(std::move(settings)),
                     .store = *store_,
                     .timers = timers_,
                     .ids = ids_,
                     .now = [this] { return now_; },
                     .warn = [this](std::string line) { warnings.push_back(std::move(line)); }},
        engine_(std::make_unique<engine>(environment_)) {
    engine_->attach(account_);
    engine_->recover();
    account_.subscribe(client_, "_INBOX.>");
  }
  ~test_harness() { engine_.reset(); }

  std::vector<std::string> warnings;

  routing::account& account() { return account_; }
  engine& jetstream() { return *engine_; }
  environment& surroundings() { return environment_; }
  storage::store& store() { return *store_; }
  time_point now() const { return now_; }

  // The end of a loop turn: commits and what follows from it.
  void turn() {
    for (int rounds = 0; rounds < 16; ++rounds) {
      timers_.run_due(now_);
      store_->commit();
      account_.end_turn();
    }
  }
  void advance(nanoseconds by) {
    const time_point until = now_ + by;
    for (auto due = timers_.earliest(); due && *due <= until; due = timers_.earliest()) {
      if (*due > now_) now_ = *due;
      turn();
    }
    now_ = until;
    turn();
  }

  void publish(std::string_view subject, std::string_view payload, std::string_view headers = {},
               std::string_view reply = {}) {
    account_.publish({.subject = subject, .reply = reply, .headers = headers, .payload = payload});
  }
  // The only answer, or an empty message when there was none.
  captured_message request_message(std::string_view subject, std::string_view payload = {},
                                   std::string_view headers = {}) {
    const std::string inbox = "_INBOX.test." + std::to_string(++inboxes_);
    publish(subject, payload, headers, inbox);
    turn();
    captured_message answer;
    std::erase_if(client_.messages, [&](captured_message& one) {
      if (one.subject != inbox) return false;
      answer = std::move(one);
      return true;
    });
    return answer;
  }
  std::string request(std::string_view subject, std::string_view payload = {}, std::string_view headers = {}) {
    return request_message(subject, payload, headers).payload;
  }
  std::string api(std::string_view operation, std::string_view body = {}) {
    return request("$JS.API." + std::string(operation), body);
  }
  // Everything that came to the inboxes so far.
  std::deque<captured_message> take_messages() { return std::exchange(client_.messages, {}); }

 private:
  static options with_names(options settings) {
    settings.server_name = "test";
    settings.server_id = "NTEST";
    return settings;
  }

  std::unique_ptr<storage::store> store_;
  routing::account account_;
  timer_queue timers_;
  nuid_source ids_{7};
  time_point now_ = from_unix_nanoseconds(1'767'225'600'000'000'000);
  environment environment_;
  std::unique_ptr<engine> engine_;
  capturing_receiver client_;
  std::uint64_t inboxes_ = 0;
};

}  // namespace tern::jetstream
