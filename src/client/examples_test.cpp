// The examples of the public headers, compiled as they stand there, over a peer that answers nothing.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <tern/client/jetstream.hpp>

#include "client/fake_peer.hpp"

namespace tern::client {
namespace {

using examples_test = client_test;

TEST_F(examples_test, connection_publish_and_subscribe) {
  connect();
  headers with;
  with.add("Nats-Msg-Id", "order-17").add("X-Tenant", "acme");
  auto sent = nats.publish("orders.placed", R"({"id":"o-1"})", with);
  EXPECT_TRUE(sent.has_value());
  std::string seen;
  auto subscription = nats.subscribe(
      "orders.*", [&](message&& order) { seen.append(order.subject()).append(": ").append(order.payload()); });
  run();
  peer->message("orders.a", "1", "", "x");
  run();
  EXPECT_EQ(seen, "orders.a: x");
}

TEST_F(examples_test, the_three_faces_of_an_operation) {
  connect();
  int answers = 0;
  nats.request("time", "").then([&](tern::result<message> reply) { answers += !reply; });
  const auto ask = [&]() -> boost::asio::awaitable<void> {
    auto reply = co_await nats.request("time", "");
    answers += !reply;
  };
  boost::asio::co_spawn(loop.context(), ask, boost::asio::detached);
  advance(std::chrono::seconds(10));
  EXPECT_EQ(answers, 2);
}

TEST_F(examples_test, records_are_named_before_they_are_awaited) {
  connect();
  jetstream js(nats);
  bool failed = false;
  const auto make = [&]() -> boost::asio::awaitable<void> {
    stream_config orders{.name = "ORDERS", .subjects = {"orders.>"}};
    auto created = co_await js.create_stream(orders);
    failed = !created;
  };
  boost::asio::co_spawn(loop.context(), make, boost::asio::detached);
  advance(std::chrono::seconds(5));
  EXPECT_TRUE(failed);
}

TEST_F(examples_test, taking_from_a_pull_stream) {
  connect();
  jetstream js(nats);
  auto billing = js.pull_consumer("ORDERS", "billing");
  std::optional<error> last;
  auto opened = billing.messages();
  const auto work = [&]() -> boost::asio::awaitable<void> {
    while (!opened->ended()) {
      auto order = co_await opened->next();
      if (order) {
        (void)order->ack();
      } else {
        last = order.error();
      }
    }
  };
  boost::asio::co_spawn(loop.context(), work, boost::asio::detached);
  run();
  auto closed = nats.close();
  run();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->code(), errc::closed);
}

// Design 3: records in place do not compile where gcc 12 would destroy them twice.
template <class T>
concept creates_in_place = requires(jetstream& js, T&& value) { js.create_stream(std::forward<T>(value)); };
static_assert(creates_in_place<stream_config> == !compiler_destroys_temporaries_twice);
static_assert(creates_in_place<const stream_config&> && creates_in_place<stream_config&>);

}  // namespace
}  // namespace tern::client
