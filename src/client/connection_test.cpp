#include "client/fake_peer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace tern::client {
namespace {

using namespace std::chrono_literals;
using ::testing::Test;
using kind = connection_event::kind;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(client_test, greets_the_server_and_is_connected_with_the_first_pong_core_1) {
  auto connecting = connect_on(loop, *network, settings().name("billing"));
  run();
  ASSERT_TRUE(connecting.done());
  auto connected = connecting.get();
  ASSERT_TRUE(connected.has_value());
  const auto& text = peer->text();
  EXPECT_TRUE(text.starts_with("CONNECT {")) << text;
  for (const auto* part : {R"("verbose":false)", R"("pedantic":false)", R"("echo":true)", R"("headers":true)",
                           R"("no_responders":true)", R"("protocol":1)", R"("name":"billing")"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in " << text;
  }
  EXPECT_TRUE(text.ends_with("PING\r\n"));
  EXPECT_EQ(connected->state(), connection_state::connected);
  EXPECT_EQ(connected->server().name, "fake");
  EXPECT_TRUE(saw(kind::connected));
}

TEST_F(client_test, credentials_of_the_url_go_into_connect_core_3) {
  auto connecting = connect_on(loop, *network, settings().user("u", "p"));
  run();
  EXPECT_TRUE(contains(peer->text(), R"("user":"u","pass":"p")")) << peer->text();
}

TEST_F(client_test, an_error_instead_of_the_first_pong_fails_the_connect_with_its_text) {
  peer->answers_pings = false;
  auto connecting = connect_on(loop, *network, settings());
  run();
  peer->send("-ERR 'Authorization Violation'\r\n");
  run();
  auto connected = connecting.get();
  ASSERT_FALSE(connected.has_value());
  EXPECT_EQ(connected.error().code(), errc::connect_failed);
  EXPECT_TRUE(contains(connected.error().message(), "Authorization Violation"));
}

TEST_F(client_test, a_silent_server_fails_the_connect_after_exactly_five_seconds_service_11_5) {
  peer->answers_pings = false;
  auto connecting = connect_on(loop, *network, settings());
  advance(4999ms);
  EXPECT_FALSE(connecting.done());
  advance(1ms);
  ASSERT_TRUE(connecting.done());
  EXPECT_EQ(connecting.get().error().code(), errc::connect_failed);
}

TEST_F(client_test, publishes_of_one_turn_leave_in_order) {
  connect();
  headers with;
  with.add("Nats-Msg-Id", "1").add("nats-msg-id", "2");
  ASSERT_TRUE(nats.publish("a", "one"));
  ASSERT_TRUE(nats.publish_with_reply("b.c", "r.s", ""));
  ASSERT_TRUE(nats.publish("d", "xy", with));
  run();
  const std::string block = "NATS/1.0\r\nNats-Msg-Id: 1\r\nnats-msg-id: 2\r\n\r\n";
  EXPECT_EQ(peer->take(), "PUB a 3\r\none\r\nPUB b.c r.s 0\r\n\r\nHPUB d " + std::to_string(block.size()) + " " +
                              std::to_string(block.size() + 2) + "\r\n" + block + "xy\r\n");
  EXPECT_EQ(nats.statistics().out_messages, 3u);
}

TEST_F(client_test, what_cannot_be_sent_is_refused_before_a_byte_is_written_service_11_4) {
  peer->info = R"(INFO {"server_id":"N","headers":true,"max_payload":8} )";
  connect();
  EXPECT_EQ(nats.publish("a", "123456789").error().code(), errc::payload_too_large);
  for (const auto* subject : {"", ".", "a..b", "a b", "a.*", "a.>", ".a", "a.", "a\r\nPUB"}) {
    EXPECT_EQ(nats.publish(subject, "").error().code(), errc::invalid_subject) << subject;
  }
  EXPECT_EQ(nats.publish_with_reply("a", "b c", "").error().code(), errc::invalid_subject);
  for (const auto& [name, value] :
       {std::pair("a b", "x"), std::pair("a:b", "x"), std::pair("", "x"), std::pair("a", "x\ny")}) {
    headers bad;
    bad.add(name, value);
    EXPECT_EQ(nats.publish("a", "", bad).error().code(), errc::invalid_header) << name;
  }
  run();
  EXPECT_EQ(peer->take(), "");
}

TEST_F(client_test, a_callback_gets_messages_in_order_with_all_their_parts) {
  connect();
  std::vector<std::string> seen;
  auto taken = nats.subscribe("orders.*", [&](message&& m) {
    seen.push_back(std::string(m.subject()) + "|" + std::string(m.reply()) + "|" + std::string(m.payload()) + "|" +
                   std::string(m.header("K").value_or("-")));
  });
  ASSERT_TRUE(taken);
  run();
  EXPECT_EQ(peer->take(), "SUB orders.* 1\r\n");
  peer->message("orders.a", "1", "r", "x");
  peer->header_message("orders.b", "1", "NATS/1.0\r\nK: v\r\n\r\n", "yz");
  run();
  EXPECT_EQ(seen, (std::vector<std::string>{"orders.a|r|x|-", "orders.b||yz|v"}));
  EXPECT_EQ(taken->received(), 2u);
}

TEST_F(client_test, a_callback_that_throws_is_told_as_an_event_and_the_next_message_comes) {
  connect();
  int calls = 0;
  auto taken = nats.subscribe("a", [&](const message&) {
    if (++calls == 1) throw std::runtime_error("boom");
  });
  run();
  peer->message("a", "1", "", "");
  peer->message("a", "1", "", "");
  run();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(saw(kind::callback_failed));
}

TEST_F(client_test, next_takes_what_waits_waits_for_what_comes_and_ends_with_the_subscription) {
  connect();
  auto taken = nats.subscribe("a", subscribe_options().queue_group("q"));
  run();
  EXPECT_EQ(peer->take(), "SUB a q 1\r\n");
  peer->message("a", "1", "", "1");
  run();
  EXPECT_EQ(taken->pending(), 1u);
  EXPECT_EQ(taken->next().get()->payload(), "1");
  auto waiting = taken->next();
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(taken->next().get().error().code(), errc::invalid_argument);  // one at a time
  peer->message("a", "1", "", "2");
  run();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.get()->payload(), "2");
  auto last = taken->next();
  taken->unsubscribe();
  run();
  EXPECT_EQ(last.get().error().code(), errc::closed);
  EXPECT_FALSE(taken->active());
}

TEST_F(client_test, next_gives_up_after_its_patience_and_later_messages_are_kept) {
  connect();
  auto taken = nats.subscribe("a");
  auto waiting = taken->next(2s);
  advance(1999ms);
  EXPECT_FALSE(waiting.done());
  advance(1ms);
  EXPECT_EQ(waiting.get().error().code(), errc::timeout);
  peer->message("a", "1", "", "late");
  run();
  EXPECT_EQ(taken->try_next()->payload(), "late");
}

TEST_F(client_test, a_subscription_ends_after_its_maximum_core_2_7) {
  connect();
  int calls = 0;
  auto taken = nats.subscribe("a", [&](const message&) { ++calls; }, subscribe_options().max_messages(2));
  run();
  EXPECT_EQ(peer->take(), "SUB a 1\r\nUNSUB 1 2\r\n");
  for (int i = 0; i < 3; ++i) peer->message("a", "1", "", "");
  run();
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(taken->active());
}

TEST_F(client_test, a_full_buffer_drops_counts_and_tells_once_until_it_has_emptied) {
  connect();
  auto taken = nats.subscribe("a", subscribe_options().buffer(2));
  run();
  for (int i = 0; i < 4; ++i) peer->message("a", "1", "", std::to_string(i));
  run();
  EXPECT_EQ(taken->pending(), 2u);
  EXPECT_EQ(taken->dropped(), 2u);
  EXPECT_EQ(nats.statistics().dropped_messages, 2u);
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](auto& e) { return e.what == kind::slow_consumer; }), 1);
  EXPECT_EQ(taken->try_next()->payload(), "0");
}

TEST_F(client_test, flush_completes_with_its_pong_and_fails_after_its_patience) {
  connect();
  auto first = nats.flush();
  run();
  EXPECT_TRUE(first.get().has_value());
  peer->answers_pings = false;
  auto second = nats.flush(3s);
  advance(2999ms);
  EXPECT_FALSE(second.done());
  advance(1ms);
  EXPECT_EQ(second.get().error().code(), errc::timeout);
  auto third = nats.flush();
  run();
  peer->send("PONG\r\n");  // of the second
  run();
  EXPECT_FALSE(third.done());
  peer->send("PONG\r\n");
  run();
  EXPECT_TRUE(third.get().has_value());
}

TEST_F(client_test, requests_share_one_inbox_and_the_token_tells_them_apart_service_11_3) {
  connect();
  auto first = nats.request("time", "a");
  auto second = nats.request("date", "b");
  run();
  const auto text = peer->take();
  EXPECT_EQ(count_of(text, "SUB _INBOX."), 1u) << text;
  const auto one = words_of_line(text, "PUB time");
  const auto two = words_of_line(text, "PUB date");
  ASSERT_EQ(one.size(), 4u);
  EXPECT_NE(one[2], two[2]);
  peer->message(two[2], "1", "", "today");
  peer->message(one[2], "1", "", "now");
  peer->message(one[2], "1", "", "late");  // dropped
  run();
  EXPECT_EQ(first.get()->payload(), "now");
  EXPECT_EQ(second.get()->payload(), "today");
}

TEST_F(client_test, a_request_without_responders_fails_at_once_core_2_8) {
  connect();
  auto asked = nats.request("nobody", "");
  run();
  const auto words = words_of_line(peer->take(), "PUB nobody");
  peer->header_message(words[2], "1", "NATS/1.0 503\r\nNats-Subject: nobody\r\n\r\n");
  run();
  ASSERT_TRUE(asked.done());
  EXPECT_EQ(asked.get().error().code(), errc::no_responders);
}

TEST_F(client_test, a_request_times_out_exactly_also_beyond_the_default_service_11_3) {
  connect();
  auto longer = nats.request("a", "", request_options().timeout(25s));
  auto standard = nats.request("a", "");
  advance(10s - 1ns);
  EXPECT_FALSE(standard.done());
  advance(1ns);
  EXPECT_EQ(standard.get().error().code(), errc::timeout);
  advance(15s - 1ns);
  EXPECT_FALSE(longer.done());
  advance(1ns);
  EXPECT_EQ(longer.get().error().code(), errc::timeout);
}

TEST_F(client_test, request_many_collects_until_the_count_or_the_end_of_patience) {
  connect();
  auto two = nats.request_many("a", "", 2, 1s);
  run();
  const auto inbox = words_of_line(peer->take(), "PUB a ")[2];
  peer->message(inbox, "1", "", "1");
  run();
  EXPECT_FALSE(two.done());
  peer->message(inbox, "1", "", "2");
  run();
  EXPECT_EQ(two.get()->size(), 2u);
  auto fewer = nats.request_many("a", "", 5, 1s);
  run();
  peer->message(words_of_line(peer->take(), "PUB a ")[2], "1", "", "1");
  advance(1s);
  EXPECT_EQ(fewer.get()->size(), 1u);
}

TEST_F(client_test, a_coroutine_on_another_executor_resumes_there) {
  connect();
  boost::asio::io_context elsewhere;
  std::string answer;
  bool there = false;
  const auto ask = [&]() -> boost::asio::awaitable<void> {
    auto reply = co_await nats.request("time", "");
    there = elsewhere.get_executor().running_in_this_thread();
    answer = reply ? std::string(reply->payload()) : reply.error().message();
  };
  boost::asio::co_spawn(elsewhere, ask, boost::asio::detached);
  elsewhere.poll();
  run();
  peer->message(words_of_line(peer->take(), "PUB time")[2], "1", "", "noon");
  run();
  EXPECT_EQ(answer, "");
  elsewhere.restart();
  elsewhere.run();
  EXPECT_EQ(answer, "noon");
  EXPECT_TRUE(there);
}

TEST_F(client_test, waiting_on_the_loops_own_thread_is_refused_instead_of_never_ending) {
  connect();
  auto asked = nats.request("a", "");
  EXPECT_EQ(asked.get().error().code(), errc::invalid_argument);
}

struct order {
  std::string id;
  std::int64_t amount = 0;
};

template <class T>
concept publishes_in_place = requires(connection& c, T&& value) { c.publish("a", std::forward<T>(value)); };
template <class T>
concept requests_in_place = requires(connection& c, T&& value) { c.request("a", std::forward<T>(value)); };

// Design 3: gcc 12 destroys such a temporary twice within a co_await expression.
static_assert(publishes_in_place<order> == !compiler_destroys_temporaries_twice);
static_assert(requests_in_place<order> == !compiler_destroys_temporaries_twice);
static_assert(publishes_in_place<const order&> && requests_in_place<order&>);
static_assert(publishes_in_place<int> && publishes_in_place<std::string> && publishes_in_place<const char (&)[3]>);

TEST_F(client_test, records_are_published_as_json) {
  connect();
  const order placed{"o-1", 1299};
  ASSERT_TRUE(nats.publish("orders", placed));
  run();
  EXPECT_TRUE(contains(peer->take(), R"({"id":"o-1","amount":1299})"));
}

}  // namespace
}  // namespace tern::client
