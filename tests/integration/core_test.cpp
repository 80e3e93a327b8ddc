// Core of the client against both servers: what needs a real one on the other side.
#include "server_fixture.hpp"

#include <atomic>
#include <thread>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class core_on : public with_server {
 protected:
  connection another(const options& with) { return must(connection::connect(with).get()); }
};

TEST_P(core_on, a_request_gathers_answers_until_the_count_a_pause_or_an_empty_one) {
  std::vector<subscription> responders;
  for (int i = 0; i < 3; ++i) {
    responders.push_back(must(nats.subscribe(
        "ask", [this](message&& asked) { EXPECT_TRUE(nats.publish(asked.reply(), "answer").has_value()); })));
  }
  responders.push_back(must(nats.subscribe("list", [this](message&& asked) {
    for (const auto* piece : {"1", "2", "3", ""}) EXPECT_TRUE(nats.publish(asked.reply(), piece).has_value());
  })));
  must(nats.flush().get());
  EXPECT_EQ(must(nats.request_many("ask", "", 2, 5s).get()).size(), 2u);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(must(nats.request_many("ask", "", request_many_options().stall(100ms).patience(30s)).get()).size(), 3u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_EQ(must(nats.request_many("list", "", request_many_options().sentinel().patience(30s)).get()).size(), 3u);
  EXPECT_EQ(must(nats.request_many("ask", "", request_many_options().patience(200ms)).get()).size(), 3u);
  EXPECT_EQ(nats.request_many("nobody", "", request_many_options()).get().error().code(), errc::no_responders);
}

TEST_P(core_on, own_messages_do_not_come_back_without_echo_and_the_inbox_prefix_is_used) {
  auto quiet = another(options(url).no_echo().inbox_prefix("MINE"));
  auto heard = must(quiet.subscribe("echo"));
  must(quiet.flush().get());
  must(quiet.publish("echo", "own"));
  must(nats.publish("echo", "other"));
  must(nats.flush().get());
  EXPECT_EQ(must(heard.next(5s).get()).payload(), "other");
  EXPECT_TRUE(quiet.new_inbox().starts_with("MINE."));
  std::string reply_to;
  auto answering = must(nats.subscribe("who", [&](message&& asked) {
    reply_to = asked.reply();
    EXPECT_TRUE(nats.publish(asked.reply(), "me").has_value());
  }));
  must(nats.flush().get());
  must(quiet.request("who", "").get());
  EXPECT_TRUE(reply_to.starts_with("MINE.")) << reply_to;
  EXPECT_GT(must(quiet.round_trip_time().get()), 0ns);
}

TEST_P(core_on, members_of_a_queue_group_share_and_a_subscription_ends_after_its_messages) {
  std::atomic<int> one = 0, two = 0, all = 0;
  auto first = must(nats.subscribe("jobs", [&](const message&) { ++one; }, subscribe_options().queue_group("w")));
  auto second = must(nats.subscribe("jobs", [&](const message&) { ++two; }, subscribe_options().queue_group("w")));
  auto whole = must(nats.subscribe("jobs", [&](const message&) { ++all; }));
  auto five = must(nats.subscribe("jobs", subscribe_options().max_messages(5)));
  must(nats.flush().get());
  for (int i = 0; i < 1000; ++i) must(nats.publish("jobs", "x"));
  must(nats.flush().get());
  EXPECT_EQ(one + two, 1000);
  EXPECT_GT(one, 0);
  EXPECT_GT(two, 0);
  EXPECT_EQ(all, 1000);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(five.next(5s).get().has_value());
  EXPECT_EQ(five.next(5s).get().error().code(), errc::closed);
  EXPECT_GE(nats.statistics().in_messages, 2005u);
}

TEST_P(core_on, a_slow_consumer_keeps_to_its_limits_of_messages_and_bytes_and_is_told) {
  std::atomic<int> told = 0;
  auto careful = another(options(url).on_event(
      [&](const connection_event& event) { told += event.what == connection_event::kind::slow_consumer; }));
  auto few = must(careful.subscribe("flood", subscribe_options().buffer(10)));
  auto small = must(careful.subscribe("flood", subscribe_options().buffer_bytes(1000)));
  must(careful.flush().get());
  for (int i = 0; i < 100; ++i) must(nats.publish("flood", std::string(95, 'x')));
  must(nats.flush().get());
  must(careful.flush().get());
  EXPECT_EQ(few.pending(), 10u);
  EXPECT_EQ(few.dropped(), 90u);
  EXPECT_EQ(small.pending(), 10u);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(careful.statistics().dropped_messages, 180u);
}

INSTANTIATE_TEST_SUITE_P(servers, core_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
