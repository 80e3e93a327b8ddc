// Batches, workers, lanes, and what a busy subscription leaves with the server. (service 8, 14, 17)
#include "testing/service_fixture.hpp"

#include <boost/asio/awaitable.hpp>

namespace tern::testing {
namespace {

using namespace std::chrono_literals;
using namespace tern::service;

class batches : public service_test {
 protected:
  template <class Handler>
  static auto packing_batches(Handler handler, std::size_t size) {
    return packing(std::move(handler)).batch(size);
  }
};

TEST_F(batches, are_never_larger_than_asked_and_keep_the_order) {
  for (std::uint64_t id = 1; id <= 7; ++id) publish(id);
  std::vector<std::uint64_t> ids;
  auto app = start(packing_batches(
      [&](std::span<const order> all) {
        for (const auto& each : all) ids.push_back(each.id);
      },
      3));
  world_.advance(1s);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(app.subscriber("packing").batch_sizes(), (std::vector<std::size_t>{3, 3, 1}));
  EXPECT_EQ(world_.broker().consumer_info("ORDERS", "packing").ack_floor.stream_seq, 7u);
}

TEST_F(batches, one_outcome_settles_all) {
  for (std::uint64_t id = 1; id <= 3; ++id) publish(id);
  auto app = start(packing_batches([](std::span<const order>) { return drop(); }, 10));
  world_.advance(1s);
  app.subscriber("packing").assert_outcomes({"drop", "drop", "drop"});
}

TEST_F(batches, one_outcome_each_by_place_and_the_missing_ones_are_retried) {
  for (std::uint64_t id = 1; id <= 3; ++id) publish(id);
  int calls = 0;
  auto app = start(packing_batches(
      [&](std::span<const order> all) -> boost::asio::awaitable<std::vector<outcome>> {
        co_await sleep_for(0ns);
        std::vector<outcome> each;
        each.push_back(++calls == 1 ? retry_after(10s) : ack());
        if (all.size() > 1) each.push_back(drop());
        co_return each;
      },
      10));
  world_.advance(1s);
  auto outcomes = app.subscriber("packing").outcomes();
  ASSERT_GE(outcomes.size(), 4u);
  EXPECT_EQ((texts{outcomes[0], outcomes[1], outcomes[2], outcomes[3]}),
            (texts{"retry_after(10s)", "drop", "retry", "ack"}));
  EXPECT_TRUE(app.logged(log_level::warn, "returned 2 outcomes for a batch of 3"));
  world_.advance(10s);
  EXPECT_EQ(app.subscriber("packing").attempts(1), 2u);
}

TEST_F(batches, what_cannot_be_decoded_is_settled_alone) {
  publish(1);
  world_.broker().publish("orders.new", "not json");
  publish(3);
  std::vector<std::uint64_t> ids;
  auto app = start(packing_batches(
      [&](std::span<const order> all) {
        for (const auto& each : all) ids.push_back(each.id);
        return ack();
      },
      10));
  world_.advance(1s);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(app.subscriber("packing").settlements(), (texts{"acked", "terminated", "acked"}));
  EXPECT_EQ(app.subscriber("packing").batch_sizes(), std::vector<std::size_t>{2});
}

TEST_F(batches, on_core_end_when_full_or_when_the_linger_time_is_over) {
  auto app = start(core_packing([](std::span<const order>) {}).batch(3).linger(10ms));
  for (std::uint64_t id = 1; id <= 5; ++id) publish_core(id);
  EXPECT_EQ(app.subscriber("packing").batch_sizes(), std::vector<std::size_t>{3});
  world_.advance(10ms);
  EXPECT_EQ(app.subscriber("packing").batch_sizes(), (std::vector<std::size_t>{3, 2}));
}

TEST_F(batches, go_on_when_their_consumer_was_deleted) {
  auto app = start(packing_batches([](std::span<const order>) {}, 10));
  world_.advance(1s);
  world_.broker().delete_consumer("ORDERS", "packing");
  world_.advance(10s);
  publish(1);
  world_.advance(10s);
  app.subscriber("packing").assert_outcomes({"ack"});
  app.assert_running();
}

using workers = service_test;

TEST_F(workers, one_at_a_time_in_order_is_the_default) {
  auto app = start(packing([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(1s); }));
  for (std::uint64_t id = 1; id <= 3; ++id) publish(id);
  app.subscriber("packing").assert_outcomes({"running"});
  world_.advance(3s);
  EXPECT_EQ(app.subscriber("packing").received<order>().back().id, 3u);
  app.subscriber("packing").assert_outcomes({"ack", "ack", "ack"});
}

TEST_F(workers, so_many_handlers_at_once_and_no_more) {
  auto app = start(packing([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(1s); }).workers(3));
  for (std::uint64_t id = 1; id <= 5; ++id) publish(id);
  app.subscriber("packing").assert_outcomes({"running", "running", "running"});
  EXPECT_EQ(app.counters("packing").in_flight, 3u);
  world_.advance(1s);
  app.subscriber("packing").assert_outcomes({"ack", "ack", "ack", "running", "running"});
}

TEST_F(workers, a_busy_subscription_leaves_the_rest_with_the_server) {
  auto app = start(packing([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(1s); }));
  for (std::uint64_t id = 1; id <= 100; ++id) publish(id);
  EXPECT_LE(world_.broker().consumer_info("ORDERS", "packing").num_ack_pending, 4);
}

TEST_F(workers, messages_of_one_key_stay_in_order_while_others_pass) {
  texts ended;
  auto app = start(packing([&](const order& what) -> boost::asio::awaitable<void> {
                     co_await sleep_for(what.id == 1 ? 10s : 1s);
                     ended.push_back(std::to_string(what.id));
                   }).workers_by_key(4));
  client::headers slow, quick;
  slow.add("nats-partition-key", "slow");
  quick.add("nats-partition-key", "a quick one");
  publish(1, slow);
  publish(2, slow);
  publish(3, quick);
  world_.advance(5s);
  EXPECT_EQ(ended, texts{"3"});
  world_.advance(10s);
  EXPECT_EQ(ended, (texts{"3", "1", "2"}));
}

}  // namespace
}  // namespace tern::testing
