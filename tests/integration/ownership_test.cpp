// Lifetimes, as C++ programs need them: handles may go at any moment, messages are values, callbacks run once. The
// numbers are those of nats.c's issues, whose users asked for it.
#include "server_fixture.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class ownership_on : public with_server {
 protected:
  static std::ptrdiff_t threads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }
};

// A natural class: the callback uses members, the members go with the object.
class listener {
 public:
  explicit listener(connection& nats)
      : seen_(std::make_unique<std::uint64_t>(0)),
        subscription_(nats.subscribe("flood", [this](const message& each) { *seen_ += each.payload().size(); })) {}

 private:
  std::unique_ptr<std::uint64_t> seen_;
  result<subscription> subscription_;  // the last member: it goes first
};

TEST_P(ownership_on, an_object_may_go_while_its_callback_is_under_way_735_637) {
  std::atomic<bool> over = false;
  std::thread flooding([&] {
    while (!over) (void)nats.publish("flood", "payload");
  });
  for (int i = 0; i < 200; ++i) {
    const listener here(nats);
    if (i % 10 == 0) must(nats.flush().get());
  }
  over = true;
  flooding.join();
}

TEST_P(ownership_on, a_message_is_a_value_that_outlives_subscription_and_connection_793_794) {
  message kept;
  {
    auto own = must(connection::connect(options(url)).get());
    auto taken = must(own.subscribe("kept"));
    must(own.flush().get());
    headers with;
    with.add("K", "v");
    must(own.publish("kept", "still here", with));
    kept = must(taken.next(5s).get());
  }
  EXPECT_EQ(kept.payload(), "still here");
  EXPECT_EQ(kept.header("K"), "v");
}

TEST_P(ownership_on, the_connection_may_go_before_what_was_made_from_it_924) {
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders"};
  stream(orders);
  consumer_config reader;
  reader.durable_name = "reader";
  must(js.create_consumer("ORDERS", reader).get());
  must(js.publish("orders", "x").get());
  subscription plain;
  ordered_consumer ordered;
  pull_stream pulling;
  jetstream_message order;
  {
    auto own = must(connection::connect(options(url)).get());
    jetstream own_js(own);
    plain = must(own.subscribe("plain"));
    ordered = must(own_js.ordered("ORDERS"));
    must(ordered.next().get());
  }
  EXPECT_EQ(plain.next().get().error().code(), errc::closed);
  EXPECT_EQ(ordered.next().get().error().code(), errc::closed);
  {
    auto own = must(connection::connect(options(url)).get());
    jetstream own_js(own);
    pulling = must(own_js.pull_consumer("ORDERS", "reader").messages());
    order = must(pulling.next().get());
    must(own.close().get());  // consumers and what they brought keep a connection open
  }
  EXPECT_FALSE(pulling.next().get().has_value());
  EXPECT_FALSE(order.ack().has_value());
}

TEST_P(ownership_on, a_subscription_may_end_inside_its_own_callback) {
  std::optional<subscription> once;
  std::atomic<int> calls = 0;
  once = must(nats.subscribe("once", [&](const message&) {
    ++calls;
    once.reset();
  }));
  must(nats.flush().get());
  for (int i = 0; i < 10; ++i) must(nats.publish("once", "x"));
  must(nats.flush().get());
  EXPECT_EQ(calls, 1);
}

TEST_P(ownership_on, a_request_calls_back_exactly_once_however_close_the_answer_is_to_the_timeout_236) {
  auto answering = must(nats.subscribe("race", [&](message&& asked) { (void)nats.publish(asked.reply(), "x"); }));
  must(nats.flush().get());
  constexpr int requests = 2000;
  std::vector<std::atomic<int>> calls(requests);
  for (int i = 0; i < requests; ++i) {
    nats.request("race", "", request_options().timeout(std::chrono::microseconds(i % 400)))
        .then([&calls, i](result<message>) { ++calls[static_cast<std::size_t>(i)]; });
  }
  must(nats.flush().get());
  must(nats.request("race", "").get());
  must(nats.close().get());
  for (int i = 0; i < requests; ++i) ASSERT_EQ(calls[static_cast<std::size_t>(i)], 1) << i;
}

TEST_P(ownership_on, a_hundred_subscriptions_and_requests_need_no_thread_of_their_own_28_449) {
  const auto before = threads();
  std::vector<subscription> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(must(nats.subscribe("many." + std::to_string(i), [](const message&) {})));
  }
  std::atomic<int> answered = 0;
  for (int i = 0; i < 100; ++i) {
    nats.request("nobody", "").then([&](result<message>) { ++answered; });
  }
  must(nats.flush().get());
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(answered, 100);
}

INSTANTIATE_TEST_SUITE_P(servers, ownership_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
