// Start, end, brokers, publishers, and what happens when the server's side goes away. (service 2, 3, 11, 15, 18)
#include "testing/service_fixture.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace tern::testing {
namespace {

using namespace std::chrono_literals;
using namespace tern::service;

class lifecycle : public service_test {
 protected:
  static void ignore(const order&) {}
  static tern::error refused(result<test_app> started) {
    EXPECT_FALSE(started);
    return started ? tern::error(errc::cancelled, "it started") : started.error();
  }
  texts steps_;
};

TEST_F(lifecycle, hooks_run_in_order_and_each_state_follows_from_the_one_before) {
  auto app =
      world_.start(app_builder("shop", "1.0.0")
                       .on_startup([this](std::monostate) {
                         steps_.push_back("first");
                         return 1;
                       })
                       .on_startup([this](int before) -> boost::asio::awaitable<std::expected<std::string, error>> {
                         steps_.push_back("second");
                         co_return std::to_string(before + 1);
                       })
                       .broker(nats("nats://localhost:4222"),
                               [this](auto& scope) {
                                 scope.include(packing(ignore));
                                 scope.after_startup([this](publisher) { steps_.push_back("broker"); });
                               })
                       .after_startup([this](std::string& state) { steps_.push_back("state " + state); })
                       .on_shutdown([this](std::string&) { steps_.push_back("ending"); })
                       .after_shutdown([this](std::string&) { steps_.push_back("ended"); })
                       .build());
  EXPECT_EQ(steps_, (texts{"first", "second", "broker", "state 2"}));
  EXPECT_EQ(app.health().status, health_status::running);
  EXPECT_TRUE(app.shutdown());
  EXPECT_EQ(steps_.back(), "ended");
  EXPECT_EQ(app.health().status, health_status::stopped);
}

TEST_F(lifecycle, a_start_that_fails_is_undone_and_no_later_hook_runs) {
  auto why = refused(
      world_.try_start(app_builder("shop", "1.0.0")
                           .on_startup([](std::monostate) { return 1; })
                           .broker(nats("nats://localhost:4222"), [](auto& scope) { scope.include(packing(ignore)); })
                           .after_startup([](int&) -> void { throw std::runtime_error("no printer"); })
                           .after_startup([this](int&) { steps_.push_back("later"); })
                           .after_shutdown([this](int&) { steps_.push_back("ended"); })
                           .build()));
  EXPECT_NE(why.message().find("no printer"), std::string::npos);
  EXPECT_TRUE(steps_.empty());
  publish(1);  // the consumer is there, but nobody reads
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").num_waiting, 0);
}

TEST_F(lifecycle, contradictions_are_found_before_anything_is_sent) {
  const auto invalid = [&](auto registration) {
    const auto why = refused(world_.try_start(make(std::move(registration))));
    EXPECT_EQ(why.code(), errc::invalid_options);
    return why.message();
  };
  EXPECT_NE(invalid(subscriber(core(""), ignore)).find("subject must be non-empty"), std::string::npos);
  EXPECT_NE(invalid(subscriber(jetstream("a").stream("OR.DERS"), ignore)).find("stream name"), std::string::npos);
  EXPECT_NE(invalid(subscriber(jetstream("a").stream("ORDERS").ack_wait(0s), ignore)).find("ack_wait"),
            std::string::npos);
  EXPECT_NE(invalid(packing([](std::span<const order>) {}).batch(5).workers_by_key(2)).find("workers_by_key"),
            std::string::npos);
  EXPECT_NE(invalid(packing(ignore).dead_letter("dead")).find("max_attempts"), std::string::npos);
  EXPECT_NE(invalid(subscriber(core("core.*"), ignore)).find("core_wildcard"), std::string::npos);
  EXPECT_NE(invalid(packing(ignore).timeout(1s, drop())).find("coroutine"), std::string::npos);
}

// --- consumers (3) ---

TEST_F(lifecycle, an_existing_consumer_with_other_settings_is_refused_field_by_field_updated_or_bound) {
  (void)start(packing(ignore)).shutdown();
  const auto other = [] {
    return jetstream("orders.new").stream("ORDERS").durable("packing").ack_wait(5s).max_ack_pending(7);
  };
  const auto why = refused(world_.try_start(make(subscriber(other(), ignore))));
  EXPECT_EQ(why.code(), errc::subscribe_failed);
  EXPECT_NE(why.message().find("ack_wait: wanted 5000000000ns, existing 30000000000ns"), std::string::npos)
      << why.message();
  EXPECT_NE(why.message().find("max_ack_pending: wanted 7, existing 1024"), std::string::npos) << why.message();

  (void)start(subscriber(other().bind(), ignore)).shutdown();
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").config.max_ack_pending, 1024);
  (void)start(subscriber(other().update(), ignore)).shutdown();
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").config.max_ack_pending, 7);
}

TEST_F(lifecycle, binding_to_a_consumer_that_does_not_exist_fails) {
  const auto why = refused(
      world_.try_start(make(subscriber(jetstream("orders.new").stream("ORDERS").durable("absent").bind(), ignore))));
  EXPECT_EQ(why.code(), errc::subscribe_failed);
  EXPECT_EQ(why.api_code(), 10014);
}

TEST_F(lifecycle, a_deleted_consumer_is_made_again_or_ends_the_application_or_degrades_it) {
  auto app = start(packing(ignore));
  world_.broker().delete_consumer("ORDERS", "packing");
  world_.advance(1s);
  publish(1);
  app.subscriber("packing").assert_called_once();
  app.assert_running();
  EXPECT_TRUE(app.logged(log_level::error, "subscription ended"));
  (void)app.shutdown();

  auto degrading = start(packing(ignore).on_stream_end(stream_end::degrade));
  world_.broker().delete_consumer("ORDERS", "packing");
  world_.advance(1min);
  EXPECT_EQ(degrading.health().status, health_status::degraded);
  EXPECT_FALSE(degrading.health().ready);
  EXPECT_TRUE(degrading.health().live);
  (void)degrading.shutdown();

  auto failing = start(packing(ignore).on_stream_end(stream_end::fail_fast));
  world_.broker().delete_consumer("ORDERS", "packing");
  world_.advance(1s);
  ASSERT_TRUE(failing.run_result());
  EXPECT_EQ(failing.run_result()->code(), errc::consumer_deleted);
}

// --- brokers and publishers (11, 18) ---

struct audit {};

TEST_F(lifecycle, two_brokers_and_a_slot_that_publishes_across) {
  world_.broker("far").stream("AUDIT", {"audit.log"});
  world_.broker("near").stream("ORDERS", {"orders.>"});
  auto app = world_.start(
      app_builder("shop", "1.0.0")
          .broker("near", nats("nats://near:4222"),
                  [](auto& scope) {
                    scope.include(packing([](const order& what, out<audit> log) -> boost::asio::awaitable<outcome> {
                                    receipt note{what.id};
                                    auto stored = co_await log.publish(note);
                                    co_return stored ? ack() : retry();
                                  }).template out<audit>(into_stream("audit.log").on("far")));
                  })
          .broker("far", nats("nats://far:4222"), [](auto&) {})
          .build());
  world_.broker("near").publish("orders.new", order{3, "lamp"});
  app.subscriber("packing").assert_outcomes({"ack"});
  ASSERT_EQ(world_.broker("far").stored("AUDIT").size(), 1u);
  EXPECT_EQ(world_.broker("far").stored("AUDIT").front().payload, R"({"order":3})");
}

TEST_F(lifecycle, a_publisher_refuses_after_the_end) {
  publisher kept;
  auto app = world_.start(app_builder("shop", "1.0.0")
                              .broker(nats("nats://localhost:4222"),
                                      [&](auto& scope) { scope.after_startup([&](publisher with) { kept = with; }); })
                              .build());
  (void)app.shutdown();
  std::optional<result<published>> done;
  boost::asio::io_context loop;
  receipt value{1};
  boost::asio::co_spawn(loop, kept.publish("x", value),
                        [&](std::exception_ptr, result<published> how) { done = std::move(how); });
  loop.run();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->error().code(), errc::closed);
}

TEST_F(lifecycle, a_lost_connection_comes_back_and_goes_on) {
  auto app = start(packing(ignore));
  publish(1);
  world_.broker().disconnect();
  EXPECT_FALSE(app.health().ready);
  world_.advance(30s);
  world_.broker().reconnect();
  world_.advance(30s);
  EXPECT_TRUE(app.health().ready) << app.health().reason;
  EXPECT_TRUE(app.logged(log_level::warn, "connected again"));
  publish(2);
  world_.advance(1min);
  EXPECT_EQ(app.subscriber("packing").received<order>().back().id, 2u);
}

// --- the end (15) ---

TEST_F(lifecycle, a_shutdown_does_not_wait_longer_than_it_is_told) {
  auto app = world_.start(app_builder("shop", "1.0.0")
                              .broker(nats("nats://localhost:4222"),
                                      [](auto& scope) {
                                        scope.include(packing([](const order&) -> boost::asio::awaitable<void> {
                                          co_await sleep_for(1h);
                                        }));
                                      })
                              .shutdown_timeout(5s)
                              .build());
  publish(1);
  app.begin_shutdown();
  world_.advance(4s);
  EXPECT_FALSE(app.shut_down());
  world_.advance(1s);
  const auto ended = app.shutdown();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), errc::shutdown_timeout);
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").num_ack_pending, 1);
}

TEST_F(lifecycle, it_can_be_described_without_a_server) {
  const std::string text = make(packing(ignore).workers(2).max_attempts(3)).describe();
  EXPECT_NE(text.find("packing  subject orders.new  jetstream ORDERS durable packing  workers 2  max_attempts 3"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace tern::testing
