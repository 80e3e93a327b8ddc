// What happens to a connection: loss and return, pings, draining, closing.
#include "client/fake_peer.hpp"

namespace tern::client {
namespace {

using namespace std::chrono_literals;
using kind = connection_event::kind;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(client_test, a_lost_connection_comes_back_after_growing_pauses_and_subscribes_again_service_18) {
  connect();
  int calls = 0;
  auto taken =
      nats.subscribe("a", [&](const message&) { ++calls; }, subscribe_options().queue_group("q").max_messages(5));
  run();
  peer->message("a", "1", "", "");
  run();
  peer->stop_listening();
  peer->cut();
  run();
  EXPECT_EQ(nats.state(), connection_state::reconnecting);
  EXPECT_TRUE(saw(kind::disconnected));
  // Rounds after 100, 200, 400 ms.
  advance(699ms);
  peer->listen(*network);
  peer->take();
  advance(1ms);
  EXPECT_EQ(peer->accepted(), 2) << "the third round comes 700 ms after the loss";
  EXPECT_EQ(nats.state(), connection_state::connected);
  const auto text = peer->take();
  EXPECT_TRUE(contains(text, "SUB a q 1\r\nUNSUB 1 4\r\n")) << text;
  ASSERT_TRUE(saw(kind::reconnected));
  EXPECT_EQ(events.back().gap, 700ms);
  peer->message("a", "1", "", "");
  run();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(nats.statistics().reconnects, 1u);
}

TEST_F(client_test, publishes_wait_while_disconnected_up_to_the_buffer_then_fail_service_18) {
  connect(settings().pending_buffer(300));
  peer->cut();
  run();
  ASSERT_TRUE(nats.publish("a", "1"));
  ASSERT_TRUE(nats.publish("a", "2"));
  result<void> last;
  for (int i = 0; i < 50 && last; ++i) last = nats.publish("b", "0123456789");
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code(), errc::disconnected);
  advance(1s);
  EXPECT_TRUE(contains(peer->take(), "PUB a 1\r\n1\r\nPUB a 1\r\n2\r\nPUB b 10\r\n"));
}

TEST_F(client_test, a_flush_that_was_sent_fails_with_the_connection_one_that_waited_goes_on) {
  connect();
  peer->answers_pings = false;
  auto sent = nats.flush();
  run();
  peer->cut();
  run();
  EXPECT_EQ(sent.get().error().code(), errc::disconnected);
  auto waiting = nats.flush();
  peer->answers_pings = true;
  advance(200ms);
  EXPECT_TRUE(waiting.get().has_value());
}

TEST_F(client_test, reconnecting_ends_after_its_rounds_and_everything_is_closed) {
  connect(settings().max_reconnects(2));
  auto asked = nats.request("a", "");
  peer->stop_listening();
  peer->cut();
  advance(2s);
  EXPECT_EQ(nats.state(), connection_state::closed);
  EXPECT_EQ(asked.get().error().code(), errc::closed);
  EXPECT_EQ(nats.publish("a", "").error().code(), errc::closed);
  EXPECT_EQ(events.back().what, kind::closed);
}

TEST_F(client_test, two_unanswered_pings_are_a_lost_connection_core_1_4) {
  connect();
  peer->answers_pings = false;
  advance(180s - 1ns);
  EXPECT_EQ(nats.state(), connection_state::connected);
  EXPECT_EQ(count_of(peer->text(), "PING"), 2u);
  advance(1ns);
  EXPECT_TRUE(saw(kind::disconnected));
}

TEST_F(client_test, answers_the_servers_ping) {
  connect();
  peer->send("PING\r\n");
  run();
  EXPECT_EQ(peer->take(), "PONG\r\n");
}

TEST_F(client_test, an_error_that_keeps_the_connection_is_told_and_a_denied_subscription_ends_core_2_1) {
  connect();
  auto taken = nats.subscribe("secret");
  auto waiting = taken->next();
  run();
  peer->send("-ERR 'Permissions Violation for Subscription to \"secret\"'\r\n");
  run();
  EXPECT_TRUE(saw(kind::server_error));
  EXPECT_EQ(waiting.get().error().code(), errc::subscribe_failed);
  EXPECT_EQ(nats.state(), connection_state::connected);
}

TEST_F(client_test, draining_unsubscribes_then_confirms_then_closes_core_2_10) {
  connect();
  std::vector<std::string> seen;
  auto taken = nats.subscribe("a", [&](const message& m) { seen.emplace_back(m.payload()); });
  auto kept = nats.subscribe("b");
  run();
  peer->take();
  peer->answers_pings = false;
  auto drained = nats.drain();
  run();
  EXPECT_TRUE(contains(peer->text(), "UNSUB 1\r\n"));
  EXPECT_TRUE(contains(peer->text(), "UNSUB 2\r\n"));
  EXPECT_TRUE(peer->text().ends_with("PING\r\n"));
  EXPECT_EQ(nats.state(), connection_state::draining);
  peer->message("a", "1", "", "last");
  peer->message("b", "2", "", "one more");
  peer->send("PONG\r\n");
  run();
  EXPECT_EQ(seen, std::vector<std::string>{"last"});
  EXPECT_FALSE(drained.done()) << "b has a message that nobody took";
  peer->take();
  EXPECT_EQ(kept->try_next()->payload(), "one more");
  ASSERT_TRUE(nats.publish("out", "of a handler"));
  run();
  EXPECT_EQ(peer->take(), "PUB out 12\r\nof a handler\r\nPING\r\n");
  EXPECT_FALSE(drained.done());
  peer->send("PONG\r\n");
  run();
  EXPECT_TRUE(drained.get().has_value());
  EXPECT_EQ(nats.state(), connection_state::closed);
  EXPECT_FALSE(peer->has_client());
}

TEST_F(client_test, a_drained_subscription_has_what_was_sent_before) {
  connect();
  int calls = 0;
  auto taken = nats.subscribe("a", [&](const message&) { ++calls; });
  run();
  peer->answers_pings = false;
  auto drained = taken->drain();
  run();
  peer->message("a", "1", "", "");
  peer->send("PONG\r\n");
  run();
  EXPECT_TRUE(drained.get().has_value());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(taken->active());
}

TEST_F(client_test, close_sends_what_is_buffered_and_ends_what_is_open) {
  connect();
  auto asked = nats.request("a", "");
  ASSERT_TRUE(nats.publish("last", "word"));
  auto closed = nats.close();
  run();
  EXPECT_TRUE(closed.get().has_value());
  EXPECT_TRUE(contains(peer->take(), "PUB last 4\r\nword\r\n"));
  EXPECT_EQ(asked.get().error().code(), errc::closed);
  EXPECT_EQ(nats.request("a", "").get().error().code(), errc::closed);
  EXPECT_TRUE(nats.close().get().has_value());
}

TEST_F(client_test, the_last_handle_closes_the_connection) {
  connect();
  auto copy = nats;
  nats = connection();
  run();
  EXPECT_TRUE(peer->has_client());
  copy = connection();
  run();
  EXPECT_FALSE(peer->has_client());
}

TEST_F(client_test, servers_are_tried_in_turn) {
  auto connecting = connect_on(loop, *network, settings().url("inproc://absent, inproc://server").keep_server_order());
  run();
  advance(0s);
  ASSERT_TRUE(connecting.done());
  EXPECT_TRUE(connecting.get().has_value());
}

}  // namespace
}  // namespace tern::client
