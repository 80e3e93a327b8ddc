// What the payments service promises, against the real engine in memory, under a paused clock: 30 s pass in no time.
#include "payments.hpp"

#include <tern/testing/harness.hpp>

#include <gtest/gtest.h>

namespace payments {
namespace {

using namespace std::chrono_literals;
using tern::service::health_status;
using tern::service::log_level;
using tern::testing::test_app;
using tern::testing::world;
using texts = std::vector<std::string>;

// A world with both streams, one bank, and one instance of the service; more instances share the bank.
class payments_service : public testing::Test {
 protected:
  payments_service() {
    world_.broker().stream("PAYMENTS", {"payments.authorized"}).stream("PAYMENTS_DEAD", {"payments.dead"});
    with_.bank = bank_;
  }

  test_app start() { return world_.start(make_app(with_)); }
  void pay(std::uint64_t id, const std::string& card, std::uint64_t cents = 1250) {
    world_.broker().publish("payments.authorized", payment{id, card, cents});
  }
  static texts attempts(const test_app& app, const std::string& subscription = "capture") {
    texts all;
    for (const auto& each : app.subscriber(subscription).deliveries()) all.push_back(std::to_string(each.attempt));
    return all;
  }

  std::shared_ptr<bank> bank_ = std::make_shared<bank>();
  settings with_;
  world world_;
};

// --- the five answers (service 21.1 to 21.5) ---

TEST_F(payments_service, a_payment_is_captured_published_and_acknowledged) {
  auto app = start();
  pay(1, "4111");

  const auto capture = app.subscriber("capture");
  capture.assert_called_once();
  capture.assert_called_with(payment{1, "4111", 1250});
  capture.assert_outcomes({"ack"});
  EXPECT_EQ(capture.settlements(), texts{"acked"});
  app.assert_published_once("payments.captured", captured{1, 1250});
  const auto consumer = world_.broker().consumer_info("PAYMENTS", "capture");
  EXPECT_EQ(consumer.ack_floor.stream_seq, 1u);
  EXPECT_EQ(consumer.num_ack_pending, 0);
}

TEST_F(payments_service, the_dashboard_is_told_that_core_has_nothing_to_acknowledge) {
  auto app = start();
  pay(1, "4111");

  const auto refresh = app.subscriber("refresh");
  refresh.assert_called_with(captured{1, 1250});
  EXPECT_EQ(refresh.settlements(), texts{"unsupported"});
  EXPECT_TRUE(app.logged(log_level::warn, "settle failed"));
  app.assert_running();
}

TEST_F(payments_service, a_busy_bank_is_asked_again_after_30_seconds) {
  auto app = start();
  pay(1, "busy-once");

  const auto capture = app.subscriber("capture");
  capture.assert_outcomes({"retry_after(30s)"});
  EXPECT_TRUE(app.published("payments.captured").empty());
  world_.advance(29s);
  capture.assert_called_once();
  world_.advance(1s);
  capture.assert_outcomes({"retry_after(30s)", "ack"});
  EXPECT_EQ(attempts(app), (texts{"1", "2"}));
  app.assert_published_once("payments.captured", captured{1, 1250});
  EXPECT_TRUE(app.logged(log_level::info, "seen before payment=1 delivered=2"));
}

TEST_F(payments_service, an_unavailable_bank_is_asked_again_at_once) {
  auto app = start();
  pay(1, "unavailable-twice");
  app.subscriber("capture").assert_outcomes({"retry", "retry", "ack"});
  EXPECT_EQ(attempts(app), (texts{"1", "2", "3"}));
  app.assert_published_once("payments.captured", captured{1, 1250});
}

TEST_F(payments_service, a_declined_card_is_never_tried_again) {
  auto app = start();
  pay(1, "declined");
  world_.advance(10min);
  app.subscriber("capture").assert_outcomes({"drop"});
  EXPECT_EQ(app.subscriber("capture").settlements(), texts{"terminated"});
  EXPECT_TRUE(app.published("payments.captured").empty());
  EXPECT_TRUE(app.logged(log_level::warn, "card declined"));
}

TEST_F(payments_service, what_is_no_payment_never_reaches_the_handler) {
  auto app = start();
  world_.broker().publish("payments.authorized", R"({"id":1,"card":)");
  world_.advance(10min);
  const auto capture = app.subscriber("capture");
  capture.assert_not_called();
  capture.assert_outcomes({"decode_failed"});
  EXPECT_EQ(capture.settlements(), texts{"terminated"});
  EXPECT_TRUE(app.logged(log_level::warn, "could not be decoded"));
}

// --- time and trouble (21.6 to 21.10) ---

TEST_F(payments_service, an_answer_slower_than_the_ack_wait_brings_the_payment_twice) {
  with_.workers = 2;
  auto app = start();
  pay(1, "slow-once");
  world_.advance(60s);
  EXPECT_EQ(attempts(app), (texts{"1", "2"}));
  app.subscriber("capture").assert_outcomes({"running", "ack"});
  world_.advance(1s);
  app.subscriber("capture").assert_outcomes({"ack", "ack"});
  EXPECT_EQ(bank_->calls(1), 2);
  EXPECT_EQ(bank_->charged_cents(), 1250u);
}

TEST_F(payments_service, keeping_alive_makes_the_server_wait) {
  with_.keep_alive = true;
  auto app = start();
  pay(1, "slow-once");
  world_.advance(2min);
  app.subscriber("capture").assert_outcomes({"ack"});
  app.assert_published_once("payments.captured", captured{1, 1250});
}

TEST_F(payments_service, an_exception_stops_the_service_and_leaves_the_payment_to_another) {
  auto app = start();
  pay(1, "throws-once");
  ASSERT_TRUE(app.run_result());
  EXPECT_EQ(app.run_result()->code(), tern::errc::handler_failed);
  EXPECT_EQ(app.health().status, health_status::failed);
  app.subscriber("capture").assert_outcomes({"threw"});
  EXPECT_EQ(app.subscriber("capture").settlements(), texts{"unsettled"});

  auto another = start();
  another.subscriber("capture").assert_not_called();
  world_.advance(60s);
  another.subscriber("capture").assert_outcomes({"ack"});
  EXPECT_EQ(attempts(another), texts{"2"});
}

TEST_F(payments_service, a_capture_that_cannot_be_published_is_repeated_and_charged_once) {
  auto app = start();
  app.fail_next_publish("payments.captured", tern::error(tern::errc::disconnected, "injected"));
  pay(1, "4111");
  app.subscriber("capture").assert_outcomes({"retry", "ack"});
  app.assert_published_once("payments.captured", captured{1, 1250});
  EXPECT_EQ(bank_->calls(1), 2);
  EXPECT_EQ(bank_->charged_cents(), 1250u);
}

TEST_F(payments_service, after_five_attempts_a_payment_goes_to_the_dead_letters) {
  auto app = start();
  tern::client::headers headers;
  headers.add("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  const std::string bytes = R"({"id":1,"card":"always-busy","amount_cents":5})";
  world_.broker().publish("payments.authorized", bytes, headers);
  world_.advance(10min);

  app.subscriber("capture").assert_called(5);
  EXPECT_EQ(app.subscriber("capture").outcomes().back(), "drop");
  const auto dead = world_.broker().stored("PAYMENTS_DEAD");
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead.front().payload, bytes);
  EXPECT_EQ(dead.front().headers.get("traceparent"), headers.get("traceparent"));
  EXPECT_EQ(dead.front().headers.get("Tern-Dead-Reason"), "attempts");
  EXPECT_EQ(dead.front().headers.get("Tern-Dead-Attempts"), "5");
}

TEST_F(payments_service, a_dead_letter_that_cannot_be_published_is_not_lost) {
  auto app = start();
  app.fail_next_publish("payments.dead", tern::error(tern::errc::no_stream_for_subject, "injected"));
  pay(1, "always-busy");
  world_.advance(4 * 30s);
  app.subscriber("capture").assert_called(5);
  EXPECT_EQ(app.subscriber("capture").outcomes().back(), "retry_after(1s)");
  EXPECT_TRUE(world_.broker().stored("PAYMENTS_DEAD").empty());
  world_.advance(1s);
  EXPECT_EQ(world_.broker().stored("PAYMENTS_DEAD").size(), 1u);
  world_.advance(10min);
  EXPECT_EQ(world_.broker().stored("PAYMENTS_DEAD").size(), 1u);
}

TEST(payments_world, a_bank_that_never_answers_is_found_as_a_loop_when_nothing_caps_it) {
  world small(tern::testing::world_options().step_budget(500));
  small.broker().stream("PAYMENTS", {"payments.authorized"});
  settings with;
  with.capped = false;
  auto app = small.start(make_app(with));
  try {
    small.broker().publish("payments.authorized", payment{1, "always-unavailable", 5});
    FAIL() << "it became quiet";
  } catch (const tern::testing::not_quiescent& found) {
    EXPECT_NE(std::string(found.what()).find("capture"), std::string::npos) << found.what();
  }
}

// --- crashes, replicas, start and end (21.11 to 21.14) ---

TEST_F(payments_service, a_crash_between_publishing_and_acknowledging_repeats_the_capture_on_core) {
  auto app = start();
  app.drop_settlements(1);
  pay(1, "4111");
  app.crash();
  auto another = start();
  world_.advance(60s);
  EXPECT_EQ(app.published("payments.captured").size() + another.published("payments.captured").size(), 2u);
  EXPECT_EQ(another.subscriber("refresh").calls(), 1u);
  EXPECT_EQ(bank_->charged_cents(), 1250u);
}

TEST_F(payments_service, a_crash_between_publishing_and_acknowledging_is_invisible_in_a_stream) {
  world_.broker().stream("CAPTURED", {"payments.captured"});
  auto app = start();
  app.drop_settlements(1);
  pay(1, "4111");
  app.crash();
  auto another = start();
  world_.advance(60s);
  another.subscriber("capture").assert_outcomes({"ack"});
  const auto stored = world_.broker().stored("CAPTURED");
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored.front().headers.get("Nats-Msg-Id"), "PAYMENTS:1:capture");
}

TEST_F(payments_service, two_instances_share_the_work_and_capture_each_payment_once) {
  auto one = start();
  auto two = start();
  for (std::uint64_t id = 1; id <= 100; ++id) pay(id, "4111", 1);
  const auto of_one = one.subscriber("capture").calls();
  const auto of_two = two.subscriber("capture").calls();
  EXPECT_EQ(of_one + of_two, 100u);
  EXPECT_GT(of_one, 0u);
  EXPECT_GT(of_two, 0u);
  EXPECT_EQ(bank_->charged_cents(), 100u);
}

TEST_F(payments_service, a_shutdown_finishes_what_runs_and_hands_the_rest_to_others_at_once) {
  auto app = start();
  pay(1, "slow-once");
  pay(2, "4111");
  pay(3, "4111");
  auto other = start();
  other.subscriber("capture").assert_not_called();  // the first instance has them
  app.begin_shutdown();
  EXPECT_FALSE(app.shut_down());
  other.subscriber("capture").assert_outcomes({"ack", "ack"});
  with_.keep_alive = true;
  world_.advance(59s);
  EXPECT_FALSE(app.shut_down());
  world_.advance(2s);
  EXPECT_TRUE(app.shutdown());
  app.subscriber("capture").assert_outcomes({"ack"});
  EXPECT_EQ(app.health().status, health_status::stopped);
}

TEST(payments_world, without_its_stream_the_service_does_not_start_and_the_bank_is_closed) {
  world empty;
  empty.broker().stream("PAYMENTS_DEAD", {"payments.dead"});
  auto opened = std::make_shared<bank>();
  const std::weak_ptr<bank> alive = opened;
  settings with;
  with.bank = std::move(opened);
  auto started = empty.try_start(make_app(with));
  with.bank.reset();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), tern::errc::subscribe_failed);
  EXPECT_EQ(started.error().api_code(), 10059);
  EXPECT_NE(started.error().message().find("capture"), std::string::npos);
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace payments
