// The payments list of service 21 against real servers: each scenario is played in process under the paused clock, and
// against nats-server or ternd in real time, and has to come out the same. Delays are scaled down; nothing sleeps, each
// step waits for what must happen. A server that cannot be found is a failure.
#include "examples/payments/payments.hpp"

#include <tern/testing/harness.hpp>
#include <tern/testing/server_process.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>

namespace payments {
namespace {

using namespace std::chrono_literals;
using tern::testing::server_process;
using tern::testing::test_app;
using tern::testing::world;
using tern::testing::world_options;

// One scenario's stage: a world with fresh streams, one bank, and what is remembered for the comparison.
class stage {
 public:
  explicit stage(const world_options& where) : world_(where) {
    for (const char* name : {"PAYMENTS", "PAYMENTS_DEAD", "CAPTURED"}) delete_stream(name);
    broker().stream("PAYMENTS", {"payments.authorized"}).stream("PAYMENTS_DEAD", {"payments.dead"});
    with.bank = bank_;
    with.ack_wait = 1s;
  }
  ~stage() {
    for (auto& each : apps_) {
      if (!each.shut_down()) (void)each.shutdown();
    }
  }

  tern::testing::broker broker() { return world_.broker(); }
  test_app& start() { return apps_.emplace_back(world_.start(make_app(with))); }
  tern::result<test_app> try_start() { return world_.try_start(make_app(with)); }
  void delete_stream(const std::string& name) {
    if (world_.broker().has_stream(name)) world_.broker().delete_stream(name);
  }
  void pay(std::uint64_t id, const std::string& card) {
    broker().publish("payments.authorized", payment{id, card, 1250});
  }
  // How many deliveries of the subscription have ended, over all instances.
  std::size_t ended(const std::string& subscription) const {
    std::size_t count = 0;
    for (const auto& app : apps_) {
      for (const auto& each : app.subscriber(subscription).deliveries()) count += each.ended ? 1 : 0;
    }
    return count;
  }
  void wait_for(const std::string& subscription, std::size_t deliveries) {
    if (!world_.wait_until([&] { return ended(subscription) >= deliveries; }))
      story_ += "too few deliveries of " + subscription + "\n";
  }
  void wait_until(const std::function<bool()>& condition) {
    if (!world_.wait_until(condition)) story_ += "something did not happen\n";
  }

  void tell(std::string line) { story_ += std::move(line) + "\n"; }
  void tell_about(const test_app& app, const std::string& subscription) {
    for (const auto& each : app.subscriber(subscription).deliveries()) {
      tell(subscription + " attempt " + std::to_string(each.attempt) + " of " + std::to_string(each.stream_sequence) +
           ": " + each.outcome + ", " + each.settlement);
    }
  }
  void tell_about_published(const test_app& app) {
    for (const auto& each : app.published("payments.captured")) tell("published " + each.payload);
  }
  void tell_about_consumer() {
    // Settlements are on their way to the server, which answers in order.
    const auto info = broker().consumer_info("PAYMENTS", "capture");
    tell("consumer: acknowledged to " + std::to_string(info.ack_floor.stream_seq) + ", " +
         std::to_string(info.num_ack_pending) + " in doubt, " + std::to_string(info.num_pending) + " to come");
  }
  void tell_about_bank() { tell("charged " + std::to_string(bank_->charged_cents())); }
  std::string story() const { return story_; }

  settings with;

 private:
  std::shared_ptr<bank> bank_ = std::make_shared<bank>(300ms, 1500ms);
  world world_;
  std::deque<test_app> apps_;
  std::string story_;
};

// --- the scenarios ---

void one_payment(stage& on, const std::string& card, std::size_t deliveries, bool captured) {
  auto& app = on.start();
  on.pay(1, card);
  on.wait_for("capture", deliveries);
  if (captured) on.wait_for("refresh", 1);
  on.tell_about(app, "capture");
  on.tell_about(app, "refresh");
  on.tell_about_published(app);
  on.tell_about_bank();
  on.wait_until([&] { return on.ended("capture") == deliveries; });
  (void)app.shutdown();  // confirms the last settlement
  on.tell_about_consumer();
}

void ok(stage& on) { one_payment(on, "4111", 1, true); }
void busy(stage& on) { one_payment(on, "busy-once", 2, true); }
void unavailable(stage& on) { one_payment(on, "unavailable-twice", 3, true); }
void declined(stage& on) { one_payment(on, "declined", 1, false); }

void malformed(stage& on) {
  auto& app = on.start();
  on.broker().publish("payments.authorized", R"({"id":1,"card":)");
  on.wait_for("capture", 1);
  on.tell_about(app, "capture");
  on.tell("calls " + std::to_string(app.subscriber("capture").calls()));
  (void)app.shutdown();
  on.tell_about_consumer();
}

void slow(stage& on) {
  on.with.workers = 2;
  auto& app = on.start();
  on.pay(1, "slow-once");
  on.wait_for("capture", 2);
  on.tell_about(app, "capture");
  on.tell_about_bank();
}

void kept_alive(stage& on) {
  on.with.keep_alive = true;
  one_payment(on, "slow-once", 1, true);
}

void throwing(stage& on) {
  auto& app = on.start();
  on.pay(1, "throws-once");
  on.wait_until([&] { return app.run_result().has_value() && app.subscriber("capture").deliveries().front().ended; });
  on.tell_about(app, "capture");
  on.tell("failed: " + std::to_string(static_cast<int>(app.run_result()->code())));
  auto& another = on.start();
  on.wait_for("capture", 2);
  on.tell_about(another, "capture");
}

void reply_fails(stage& on) {
  auto& app = on.start();
  app.fail_next_publish("payments.captured", tern::error(tern::errc::disconnected, "injected"));
  on.pay(1, "4111");
  on.wait_for("capture", 2);
  on.tell_about(app, "capture");
  on.tell_about_published(app);
  on.tell_about_bank();
}

void dead_letter(stage& on) {
  auto& app = on.start();
  on.pay(1, "always-busy");
  on.wait_for("capture", 5);
  on.tell_about(app, "capture");
  for (const auto& each : on.broker().stored("PAYMENTS_DEAD")) {
    on.tell("dead: " + each.payload);
    for (const auto& [name, value] : each.headers) on.tell("  " + name + ": " + value);
  }
  (void)app.shutdown();
  on.tell_about_consumer();
}

void crash_with_captures_in_a_stream(stage& on) {
  on.broker().stream("CAPTURED", {"payments.captured"});
  auto& app = on.start();
  app.drop_settlements(1);
  on.pay(1, "4111");
  on.wait_for("capture", 1);
  app.crash();
  auto& another = on.start();
  on.wait_for("capture", 2);
  on.tell_about(another, "capture");
  for (const auto& each : on.broker().stored("CAPTURED")) {
    on.tell("stored: " + each.payload + " " + std::string(each.headers.get("Nats-Msg-Id").value_or("")));
  }
}

void two_instances(stage& on) {
  auto& one = on.start();
  auto& two = on.start();
  for (std::uint64_t id = 1; id <= 40; ++id) on.pay(id, "4111");
  on.wait_for("capture", 40);
  on.tell("together " + std::to_string(one.subscriber("capture").calls() + two.subscriber("capture").calls()));
  on.tell(one.subscriber("capture").calls() > 0 && two.subscriber("capture").calls() > 0 ? "both worked"
                                                                                         : "one did it all");
  on.tell_about_bank();
}

void shutdown_hands_back(stage& on) {
  on.with.ack_wait = 30s;
  auto& app = on.start();
  on.pay(1, "slow-once");
  on.pay(2, "4111");
  on.pay(3, "4111");
  on.wait_until([&] { return app.subscriber("capture").deliveries().size() == 1; });
  app.begin_shutdown();
  auto& other = on.start();
  on.wait_for("capture", 3);
  on.tell("first:");
  on.tell_about(app, "capture");
  on.tell("other: " + std::to_string(other.subscriber("capture").calls()));
  on.wait_until([&] { return app.shut_down(); });
}

void missing_stream(stage& on) {
  on.delete_stream("PAYMENTS");
  auto started = on.try_start();
  on.tell(started ? "it started"
                  : "refused: " + std::to_string(static_cast<int>(started.error().code())) + " " +
                        std::to_string(started.error().api_code()));
}

void changed_settings(stage& on) {
  auto& app = on.start();
  (void)app.shutdown();
  on.with.ack_wait = 2s;
  auto started = on.try_start();
  on.tell(started ? "it started" : started.error().message());
}

struct scenario {
  const char* name;
  void (*play)(stage&);
};
constexpr scenario scenarios[] = {
    {"ok", ok},
    {"busy", busy},
    {"unavailable", unavailable},
    {"declined", declined},
    {"malformed", malformed},
    {"slow", slow},
    {"kept_alive", kept_alive},
    {"throwing", throwing},
    {"reply_fails", reply_fails},
    {"dead_letter", dead_letter},
    {"crash_with_captures_in_a_stream", crash_with_captures_in_a_stream},
    {"two_instances", two_instances},
    {"shutdown_hands_back", shutdown_hands_back},
    {"missing_stream", missing_stream},
    {"changed_settings", changed_settings},
};

std::string played(const scenario& which, const world_options& where) {
  stage on(where);
  which.play(on);
  return on.story();
}

// --- the servers ---

// One per program, for all scenarios.
tern::result<std::string> url_of(const std::string& program) {
  static std::map<std::string, server_process> running;
  if (const auto found = running.find(program); found != running.end()) return found->second.url();
  auto started = server_process::start(program);
  if (!started) return std::unexpected(std::move(started).error());
  return running.emplace(program, *std::move(started)).first->second.url();
}

class payments_parity : public testing::TestWithParam<std::tuple<const char*, scenario>> {
 protected:
  static std::string program() {
    if (std::get<0>(GetParam()) == std::string_view("ternd")) return TERN_TERND;
    const char* named = std::getenv("TERN_NATS_SERVER");
    if (named != nullptr && *named != '\0') return named;
    const std::string own = TERN_TOOLS "/venv/bin/nats-server";  // where tools/setup puts it
    return std::ifstream(own).good() ? own : "nats-server";
  }
};

TEST_P(payments_parity, comes_out_as_in_process) {
  const auto url = url_of(program());
  ASSERT_TRUE(url) << url.error().message();
  const scenario& which = std::get<1>(GetParam());
  const std::string in_process = played(which, world_options());
  const std::string live = played(which, world_options().live(*url));
  EXPECT_FALSE(in_process.empty());
  EXPECT_EQ(in_process, live);
}

INSTANTIATE_TEST_SUITE_P(servers, payments_parity,
                         testing::Combine(testing::Values("nats_server", "ternd"), testing::ValuesIn(scenarios)),
                         [](const auto& about) {
                           return std::string(std::get<0>(about.param)) + "_" + std::get<1>(about.param).name;
                         });

}  // namespace
}  // namespace payments
