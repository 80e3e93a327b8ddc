// What becomes of a delivery: replies, policies, cap and dead letter, delayed copies, settlement. (service 6, 7, 9, 10)
#include "testing/service_fixture.hpp"

#include <boost/asio/awaitable.hpp>

namespace tern::testing {
namespace {

using namespace std::chrono_literals;
using namespace tern::service;

outcome always_retry(const order&) { return retry(); }

class delivery : public service_test {
 protected:
  std::size_t in_doubt() {
    return static_cast<std::size_t>(world_.broker().consumer_info("ORDERS", "packing").num_ack_pending);
  }
};

// --- replies (7) ---

TEST_F(delivery, replies_go_into_the_stream_that_takes_them_once_per_input) {
  world_.broker().stream("RECEIPTS", {"receipts"});
  auto app = start(packing([](const order& what) { return receipt{what.id}; }).reply<receipt>("receipts"));
  EXPECT_TRUE(app.logged(log_level::info, "replies go into a stream"));
  client::headers headers;
  headers.add("traceparent", "00-aa-bb-01").add("Nats-Msg-Id", "input");
  app.drop_settlements(1);
  publish(1, headers);
  world_.advance(30s);  // the acknowledgement was lost: again
  app.subscriber("packing").assert_outcomes({"ack", "ack"});
  const auto stored = world_.broker().stored("RECEIPTS");
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored.front().headers.get("Nats-Msg-Id"), "ORDERS:1:packing");
  EXPECT_EQ(stored.front().headers.get("traceparent"), "00-aa-bb-01");
}

TEST_F(delivery, a_route_that_is_pinned_to_a_stream_needs_one) {
  auto started = world_.try_start(make(packing([](const order& what) { return receipt{what.id}; })
                                           .reply<receipt>("receipts")
                                           .reply_over(reply_route::stream)));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), errc::invalid_options);
}

TEST_F(delivery, a_core_request_is_answered_at_its_inbox) {
  auto app = start(core_packing([](const order& what) { return receipt{what.id}; }).reply<receipt>());
  const auto answer = world_.broker().request("core.orders", codec::to_json(order{5, "lamp"}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->payload(), R"({"order":5})");
  publish_core(6);  // no inbox: handled all the same
  app.subscriber("packing").assert_called(2);
  EXPECT_TRUE(app.logged(log_level::debug, "no inbox"));
  EXPECT_EQ(app.subscriber("packing").settlements(), (texts{"unsupported", "unsupported"}));
}

// --- failure policies (9) ---

TEST_F(delivery, each_policy_for_what_cannot_be_decoded) {
  const auto settled = [&](failure_action action) {
    auto app = start(packing([](const order&) {}).on_decode_failure(action));
    world_.broker().publish("orders.new", "not json");
    auto settlement = app.subscriber("packing").settlements().front();
    (void)app.shutdown();
    world_.broker().delete_consumer("ORDERS", "packing");
    world_.broker().delete_stream("ORDERS");
    world_.broker().stream("ORDERS", {"orders.>"});
    return settlement;
  };
  EXPECT_EQ(settled(failure_action::drop()), "terminated");
  EXPECT_EQ(settled(failure_action::retry_after(10s)), "nacked");
  EXPECT_EQ(settled(failure_action::skip()), "acked");
  EXPECT_EQ(settled(failure_action::fail_fast()), "unsettled");
}

TEST_F(delivery, an_exception_may_be_an_outcome_instead_of_the_end) {
  auto app = start(packing([](const order& what) -> void {
                     if (what.id == 1) throw std::runtime_error("no lamp");
                     throw 42;
                   }).on_panic(failure_action::retry_after(10s)));
  publish(1);
  publish(2);
  app.assert_running();
  app.subscriber("packing").assert_outcomes({"threw", "threw"});
  EXPECT_TRUE(app.logged(log_level::error, "no lamp"));
  EXPECT_EQ(app.counters("packing").threw, 2u);
}

TEST_F(delivery, the_innermost_policy_wins) {
  auto app = world_.start(
      app_builder("shop", "1.0.0")
          .on_decode_failure(failure_action::fail_fast())
          .broker(nats("nats://localhost:4222"),
                  [](auto& scope) {
                    scope.on_decode_failure(failure_action::skip());
                    scope.include(packing([](const order&) {}));
                    scope.include(
                        core_packing([](const order&) {}).name("own").on_decode_failure(failure_action::drop()));
                  })
          .build());
  world_.broker().publish("orders.new", "not json");
  world_.broker().publish("core.orders", "not json");
  EXPECT_EQ(app.subscriber("packing").settlements(), texts{"acked"});
  app.assert_running();
}

// --- cap, dead letter (10) ---

TEST_F(delivery, without_a_dead_letter_subject_the_cap_drops) {
  auto app = start(packing(always_retry).max_attempts(3));
  publish(1);
  app.subscriber("packing").assert_outcomes({"retry", "retry", "drop"});
  EXPECT_TRUE(app.logged(log_level::warn, "attempts are used up"));
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").config.max_deliver, 4);
}

TEST_F(delivery, a_dead_letter_tells_where_it_came_from) {
  world_.broker().stream("DEAD", {"dead"});
  auto app =
      start(packing(always_retry).max_attempts(2).dead_letter("dead").on_decode_failure(failure_action::dead_letter()));
  publish(1);
  world_.broker().publish("orders.new", "not json");
  const auto dead = world_.broker().stored("DEAD");
  ASSERT_EQ(dead.size(), 2u);
  const auto& by_attempts = dead[0].payload == "not json" ? dead[1] : dead[0];
  const auto& by_decode = dead[0].payload == "not json" ? dead[0] : dead[1];
  EXPECT_EQ(by_attempts.headers.get("Tern-Dead-Reason"), "attempts");
  EXPECT_EQ(by_attempts.headers.get("Tern-Dead-Attempts"), "2");
  EXPECT_EQ(by_attempts.headers.get("Tern-Dead-Subject"), "orders.new");
  EXPECT_EQ(by_attempts.headers.get("Tern-Dead-Stream"), "ORDERS");
  EXPECT_EQ(by_attempts.headers.get("Tern-Dead-Sequence"), "1");
  EXPECT_EQ(by_attempts.headers.get("Nats-Msg-Id"), "dlq:ORDERS:1:packing");
  EXPECT_EQ(by_decode.headers.get("Tern-Dead-Reason"), "decode");
  EXPECT_TRUE(by_decode.headers.contains("Tern-Dead-Error"));
  EXPECT_EQ(in_doubt(), 0u);
}

TEST_F(delivery, a_dead_letter_needs_a_stream_unless_it_may_be_lost) {
  auto refused = world_.try_start(make(packing(always_retry).max_attempts(2).dead_letter("dead")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::invalid_options);
  auto app = start(packing(always_retry).max_attempts(2).dead_letter_unconfirmed("dead"));
  publish(1);
  EXPECT_EQ(app.published("dead").size(), 1u);
}

TEST_F(delivery, a_message_that_every_process_dies_with_reaches_the_dead_letters_by_the_server_s_advisory) {
  world_.broker().stream("DEAD", {"dead"});
  const auto registration = [] {
    return packing([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(1h); })
        .max_attempts(2)
        .dead_letter("dead");
  };
  {
    auto first = start(registration());
    publish(1);
    first.crash();
  }
  for (int again = 0; again < 2; ++again) {
    auto next = start(registration());
    world_.advance(30s);
    next.subscriber("packing").assert_called(1);
    next.crash();
  }
  auto last = start(registration());
  world_.advance(40s);
  last.subscriber("packing").assert_not_called();
  const auto dead = world_.broker().stored("DEAD");
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead.front().payload, codec::to_json(order{1, "lamp"}));
  EXPECT_EQ(dead.front().headers.get("Tern-Dead-Attempts"), "3");
  EXPECT_EQ(last.counters("packing").dead_lettered, 1u);
}

TEST_F(delivery, core_has_the_framework_s_delayed_copy) {
  int calls = 0;
  auto app = start(core_packing([&](const order&) { return ++calls < 3 ? retry_after(10s) : ack(); }));
  publish_core(1);
  app.subscriber("packing").assert_outcomes({"retry_after(10s)"});
  EXPECT_EQ(app.subscriber("packing").settlements(), texts{"copied"});
  world_.advance(20s);
  app.subscriber("packing").assert_outcomes({"retry_after(10s)", "retry_after(10s)", "ack"});
  EXPECT_EQ(app.published("core.orders").back().headers.get("Tern-Retry-Count"), "2");
  EXPECT_EQ(app.subscriber("packing").deliveries().back().attempt, 3u);
}

TEST_F(delivery, a_delayed_copy_that_is_not_due_at_the_end_is_lost_and_said) {
  auto app = start(core_packing([](const order&) { return retry_after(10s); }));
  publish_core(1);
  EXPECT_TRUE(app.shutdown());
  EXPECT_TRUE(app.logged(log_level::warn, "delayed copies are lost"));
}

TEST_F(delivery, a_wildcard_has_a_copy_only_where_it_is_told_to) {
  auto app = start(subscriber(core_wildcard("core.*"), [](const order&) { return retry_after(10s); }).name("nowhere"),
                   subscriber(core_wildcard("event.*"), [](const order&) { return retry_after(10s); })
                       .name("somewhere")
                       .retry_to("later"));
  publish_core(1);
  world_.broker().publish("event.x", order{1, "lamp"});
  world_.advance(10s);
  EXPECT_EQ(app.subscriber("nowhere").settlements(), texts{"unsupported"});
  EXPECT_EQ(app.published("later").size(), 1u);
  auto refused = world_.try_start(
      make(subscriber(core_wildcard("x.*"), [](const order&) {}).on_panic(failure_action::retry_after(1s))));
  EXPECT_EQ(refused.error().code(), errc::invalid_options);
}

// --- settlement (6) ---

TEST_F(delivery, backoff_grows_with_the_attempts) {
  auto app = start(packing(always_retry).retry_backoff(1s, 3s));
  publish(1);
  world_.advance(1s + 2s + 3s);
  app.subscriber("packing").assert_outcomes(
      {"retry_after(1s)", "retry_after(2s)", "retry_after(3s)", "retry_after(3s)"});
}

TEST_F(delivery, a_confirmed_acknowledgement_is_waited_for) {
  auto app = start(packing([](const order&) {}).ack_sync());
  publish(1);
  app.subscriber("packing").assert_outcomes({"ack"});
  EXPECT_EQ(app.subscriber("packing").settlements(), texts{"acked"});
  EXPECT_EQ(in_doubt(), 0u);
}

TEST_F(delivery, a_handler_that_takes_too_long_ends_with_the_outcome_of_its_timeout) {
  bool ended = false;
  auto app = start(packing([&](const order&) -> boost::asio::awaitable<void> {
                     co_await sleep_for(1h);
                     ended = true;
                   }).timeout(5s, drop()));
  publish(1);
  world_.advance(5s);
  app.subscriber("packing").assert_outcomes({"drop"});
  EXPECT_FALSE(ended);
  EXPECT_TRUE(app.logged(log_level::warn, "timed out"));
}

TEST_F(delivery, queued_messages_are_kept_alive_as_well) {
  auto app = start(packing([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(50s); }).keep_alive());
  publish(1);
  publish(2);
  publish(3);
  world_.advance(150s);
  app.subscriber("packing").assert_outcomes({"ack", "ack", "ack"});
  for (const auto& each : app.subscriber("packing").deliveries()) EXPECT_EQ(each.attempt, 1u);
}

TEST_F(delivery, explicit_outcomes_on_core_are_warned_about_once_a_minute_and_silence_asks_for_nothing) {
  auto app = start(core_packing([](const order&) { return ack(); }),
                   subscriber(core("core.orders"), [](const order&) {}).name("silent"));
  for (std::uint64_t id = 1; id <= 5; ++id) publish_core(id);
  const auto warnings = [&] {
    return std::count_if(app.logs().begin(), app.logs().end(),
                         [](const auto& each) { return each.text.starts_with("settle failed"); });
  };
  EXPECT_EQ(warnings(), 1);
  world_.advance(1min);
  publish_core(6);
  EXPECT_EQ(warnings(), 2);
  EXPECT_TRUE(app.logged(log_level::warn, "suppressed=4"));
  EXPECT_EQ(app.counters("packing").unsupported_settlements, 6u);
  EXPECT_EQ(app.counters("silent").settle_failures, 0u);
  EXPECT_EQ(app.subscriber("silent").settlements().front(), "none");
}

TEST_F(delivery, work_after_the_settlement_runs_once_and_shutdown_waits_for_it) {
  texts ran;
  auto app = start(packing([&ran](const order&, context& about) {
    const std::string captured = "a text that is long enough to live on the heap";
    about.after(outcome_kind::drop, [&ran]() -> boost::asio::awaitable<void> {
      ran.push_back("drop");
      co_return;
    });
    return ack().and_after([&ran, captured]() -> boost::asio::awaitable<void> {
      co_await sleep_for(10s);
      ran.push_back(captured);
    });
  }));
  publish(1);
  EXPECT_EQ(app.subscriber("packing").settlements(), texts{"acked"});
  app.begin_shutdown();
  EXPECT_FALSE(app.shut_down());
  world_.advance(10s);
  EXPECT_TRUE(app.shutdown());
  EXPECT_EQ(ran, texts{"a text that is long enough to live on the heap"});
}

}  // namespace
}  // namespace tern::testing
