// For tests of this room: an engine on a simulated machine whose power can be cut, one account, and a client.
#pragma once

#include "jetstream/engine.hpp"
#include "jetstream/test_harness.hpp"
#include "routing/account.hpp"
#include "storage/store_fixture.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class machine_harness {
 public:
  explicit machine_harness(std::uint64_t seed = 1) : machine_(seed) { start(); }
  ~machine_harness() { end_life(); }

  void crash(runtime::crash_loss loss = runtime::crash_loss::all_unsynced) {
    machine_.disk_state.crash(loss);
    end_life();
    machine_.stop();
    start();
  }
  void restart() {
    engine_->shutdown();
    turn();
    if (auto closed = machine_.messages->close(); !closed) warnings.push_back(closed.error().message());
    end_life();
    machine_.stop();
    start();
  }

  // Time in which the machine is off: what was due then was missed.
  void pass_without_power(nanoseconds by) {
    machine_.disk_state.crash(runtime::crash_loss::all_unsynced);
    end_life();
    machine_.stop();
    machine_.clock.advance_to(now() + by);
    start();
  }

  std::vector<std::string> warnings;

  routing::account& account() { return *account_; }
  engine& jetstream() { return *engine_; }
  time_point now() { return machine_.clock.now(); }

  // A loop turn and what follows from it, until the disk rests.
  void turn() {
    for (int rounds = 0; rounds < 32; ++rounds) {
      machine_.loop->refresh_now();
      machine_.loop->timers().run_due(now());
      machine_.one_turn();
      account_->end_turn();
    }
  }
  void advance(nanoseconds by) {
    const time_point until = now() + by;
    turn();
    for (auto due = machine_.loop->timers().earliest(); due && *due <= until;
         due = machine_.loop->timers().earliest()) {
      machine_.clock.advance_to(*due);
      turn();
    }
    machine_.clock.advance_to(until);
    turn();
  }

  void publish(std::string_view subject, std::string_view payload, std::string_view headers = {},
               std::string_view reply = {}) {
    account_->publish({.subject = subject, .reply = reply, .headers = headers, .payload = payload});
  }
  std::string request(std::string_view subject, std::string_view payload = {}, std::string_view headers = {}) {
    const std::string inbox = "_INBOX.test." + std::to_string(++inboxes_);
    publish(subject, payload, headers, inbox);
    turn();
    std::string answer;
    std::erase_if(client_.messages, [&](captured_message& one) {
      if (one.subject != inbox) return false;
      answer = std::move(one.payload);
      return true;
    });
    return answer;
  }
  std::string api(std::string_view operation, std::string_view body = {}) {
    return request("$JS.API." + std::string(operation), body);
  }

 private:
  void start() {
    auto options = storage::testing::small_options();
    options.segment_bytes = 64 << 10;
    options.journal_bytes = 256 << 10;
    const auto started = machine_.start(options);
    if (!started) throw std::runtime_error(started.error().message());
    account_ = std::make_unique<routing::account>("$G", 1);
    environment_ = std::make_unique<environment>(
        environment{.settings = {.server_name = "test", .server_id = "NTEST"},
                    .store = *machine_.messages,
                    .timers = machine_.loop->timers(),
                    .ids = ids_,
                    .now = [this] { return now(); },
                    .warn = [this](std::string line) { warnings.push_back(std::move(line)); }});
    engine_ = std::make_unique<engine>(*environment_);
    engine_->attach(*account_);
    engine_->recover();
    account_->subscribe(client_, "_INBOX.>");
  }
  void end_life() {
    engine_.reset();
    environment_.reset();
    account_.reset();
  }

  storage::testing::simulated_machine machine_;
  nuid_source ids_{7};
  std::unique_ptr<routing::account> account_;
  std::unique_ptr<environment> environment_;
  std::unique_ptr<engine> engine_;
  capturing_receiver client_;
  std::uint64_t inboxes_ = 0;
};

}  // namespace tern::jetstream
