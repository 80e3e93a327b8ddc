// The harness itself: streams, publishing, the clock, faults. (service 20)
#include <tern/testing/harness.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using namespace tern::service;
namespace testing_ = tern::testing;

struct order {
  std::uint64_t id;
  std::string item;
};

app make_shop() {
  return app_builder("shop", "1.0.0")
      .broker(nats("nats://localhost:4222"),
              [](auto& scope) {
                scope.include(subscriber(jetstream("orders.new").stream("ORDERS").durable("packing"),
                                         [](const order&) { return ack(); }));
              })
      .build();
}

}  // namespace

TEST(harness, delivers_what_is_published_and_the_server_takes_the_acknowledgement) {
  testing_::world world;
  world.broker().stream("ORDERS", {"orders.new"});
  auto shop = world.start(make_shop());
  world.broker().publish("orders.new", order{7, "lamp"});

  const auto packing = shop.subscriber("orders.new");
  packing.assert_called_once();
  packing.assert_called_with(order{7, "lamp"});
  packing.assert_outcomes({"ack"});
  EXPECT_EQ(packing.settlements(), std::vector<std::string>{"acked"});
  const auto info = world.broker().consumer_info("ORDERS", "packing");
  EXPECT_EQ(info.num_ack_pending, 0);
  EXPECT_EQ(info.ack_floor.stream_seq, 1u);
  EXPECT_TRUE(shop.shutdown());
}
