#include "server/connection/connection.hpp"

#include "server/test_world.hpp"

#include <gmock/gmock.h>

#include <map>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string publish(std::string_view subject, std::string_view payload) {
  return "PUB " + std::string(subject) + " " + std::to_string(payload.size()) + "\r\n" + std::string(payload) + "\r\n";
}

TEST(connection, sends_info_first_and_a_second_one_behind_the_first_pong_core_1) {
  test_world world;
  test_client client(world);
  EXPECT_THAT(client.take(), StartsWith("INFO {\"server_id\":\"N"));
  client.send("CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n");
  const std::string answer = client.take();
  EXPECT_THAT(answer, StartsWith("PONG\r\nINFO {"));
  EXPECT_THAT(answer, HasSubstr("\"connect_info\":true,\"remote_account\":\"$G\""));
  client.send("PING\r\n");
  EXPECT_EQ(client.take(), "PONG\r\n");
}

TEST(connection, a_client_without_connect_is_verbose_pedantic_and_hears_itself_core_1_2) {
  test_world world;
  test_client client(world);
  client.take();
  client.send("SUB foo 1\r\nPUB foo.* 1\r\nx\r\nPUB foo 1\r\ny\r\n");
  EXPECT_EQ(client.take(), "+OK\r\n-ERR 'Invalid Publish Subject'\r\n+OK\r\n+OK\r\nMSG foo 1 1\r\ny\r\n");
}

TEST(connection, input_may_come_in_any_pieces_core_2) {
  test_world world;
  test_client client(world);
  client.connect();
  for (const char letter : std::string_view("SUB foo q 7\r\nHPUB foo r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n"))
    client.send({&letter, 1});
  EXPECT_EQ(client.take(), "HMSG foo 7 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPONG\r\n");
}

TEST(connection, large_payloads_reach_every_receiver_whole_and_without_headers_where_unsupported) {
  for (const std::size_t size : {std::size_t{8000}, std::size_t{8192}, std::size_t{50'000}, std::size_t{900'000}}) {
    test_world world;
    test_client publisher(world), first(world), second(world);
    publisher.connect();
    first.connect();
    second.connect(",\"headers\":false,\"no_responders\":false");
    first.send("SUB big 1\r\nSUB big 2\r\n");
    second.send("SUB big 3\r\n");
    const std::string payload(size, 'p'), header = "NATS/1.0\r\nA: b\r\n\r\n";
    const std::string total = std::to_string(header.size() + size);
    publisher.send("HPUB big " + std::to_string(header.size()) + " " + total + "\r\n" + header + payload + "\r\n");
    const std::string with_header = std::to_string(header.size()) + " " + total + "\r\n" + header + payload + "\r\n";
    const std::string got = first.take();
    EXPECT_TRUE(got == "HMSG big 1 " + with_header + "HMSG big 2 " + with_header ||
                got == "HMSG big 2 " + with_header + "HMSG big 1 " + with_header)
        << size;
    EXPECT_EQ(second.take(), "MSG big 3 " + std::to_string(size) + "\r\n" + payload + "\r\n") << size;
  }
}

TEST(connection, the_first_ping_comes_after_2_to_2_4_seconds_and_then_every_interval_core_1_4) {
  test_world world;
  test_client client(world);
  client.connect();
  world.advance(1999ms);
  EXPECT_EQ(client.take(), "");
  world.advance(402ms);
  EXPECT_EQ(client.take(), "PING\r\n");
  client.send("PONG\r\n");
  world.advance(119s);
  EXPECT_EQ(client.take(), "");
  world.advance(1500ms);
  EXPECT_EQ(client.take(), "PING\r\n");
}

TEST(connection, an_active_client_whose_round_trip_is_known_is_not_pinged_core_1_4) {
  test_world world;
  test_client client(world);
  client.connect();
  world.advance(2500ms);
  client.send("PONG\r\n");
  client.take();
  for (int minute = 0; minute < 10; ++minute) {
    world.advance(60s);
    client.send(minute % 2 == 0 ? "PUB foo 0\r\n\r\n" : "PING\r\n");
    EXPECT_THAT(client.take(), Not(StartsWith("PING"))) << minute;
  }
}

TEST(connection, a_client_that_answers_no_ping_is_stale_core_1_4) {
  test_world world;
  test_client client(world);
  client.connect();
  world.advance(2500ms);
  world.advance(120s);
  EXPECT_EQ(client.take(), "PING\r\nPING\r\n");
  world.advance(120s);
  EXPECT_EQ(client.take(), "-ERR 'Stale Connection'\r\n");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(world.under_test->context().stale_connections, 1u);
  ASSERT_EQ(world.under_test->closed().all().size(), 1u);
  EXPECT_EQ(world.under_test->closed().all()[0].reason, close_reason::stale_connection);
}

TEST(connection, a_reader_over_max_pending_is_closed_without_a_word_core_2_9) {
  options settings;
  settings.max_pending = 200'000;
  settings.max_payload = 100'000;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  const std::string message = publish("foo", std::string(90'000, 'x'));
  for (int round = 0; round < 4; ++round) publisher.send(message);
  world.advance(50ms);
  publisher.send("PING\r\n");
  EXPECT_THAT(publisher.take(), EndsWith("PONG\r\n"));
  EXPECT_THAT(slow.take(), Not(HasSubstr("-ERR")));
  EXPECT_TRUE(slow.closed());
  EXPECT_EQ(world.under_test->context().slow_consumers, 1u);
  EXPECT_TRUE(world.log.contains("Slow Consumer Detected: MaxPending of 200000 Exceeded"));
}

TEST(connection, a_reader_that_misses_the_write_deadline_is_closed_core_2_9) {
  test_world world({}, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(500'000, 'x')));
  world.advance(9900ms);
  EXPECT_EQ(world.under_test->connections().size(), 2u);
  world.advance(200ms);
  EXPECT_EQ(world.under_test->connections().size(), 1u);
  EXPECT_TRUE(world.log.contains("Slow Consumer Detected: WriteDeadline of 10s exceeded with"));
  EXPECT_EQ(world.under_test->closed().all()[0].reason, close_reason::slow_consumer_deadline);
}

TEST(connection, a_reader_that_catches_up_before_the_write_deadline_stays_core_2_9) {
  test_world world({}, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(500'000, 'x')));
  world.advance(9s);
  EXPECT_EQ(slow.take().size(), std::string("MSG foo 1 500000\r\n").size() + 500'002 + std::string("PING\r\n").size());
  world.advance(30s);
  EXPECT_EQ(world.under_test->connections().size(), 2u);
}

TEST(connection, with_retry_a_reader_is_kept_while_it_takes_something_core_2_9) {
  options settings;
  settings.write_timeout = write_timeout_policy::retry;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(500'000, 'x')));
  world.advance(11s);
  EXPECT_EQ(world.under_test->context().slow_consumers, 1u);
  EXPECT_EQ(world.under_test->connections().size(), 2u) << "the first write of the batch was taken";
  world.advance(10s);
  EXPECT_EQ(world.under_test->connections().size(), 1u) << "a whole deadline passed with nothing taken";
}

TEST(connection, a_publisher_waits_at_most_10_ms_for_a_full_receiver_core_2_9) {
  options settings;
  settings.max_pending = 1'000'000;
  settings.max_payload = 1'000'000;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(850'000, 'x')) + "PING\r\n");
  EXPECT_EQ(publisher.take(), "") << "what follows waits";
  world.advance(9ms);
  EXPECT_EQ(publisher.take(), "");
  world.advance(2ms);
  EXPECT_EQ(publisher.take(), "PONG\r\n");
  EXPECT_EQ(world.under_test->context().stalled_clients, 1u);
}

TEST(connection, a_waiting_publisher_goes_on_once_the_receiver_has_room_core_2_9) {
  options settings;
  settings.max_pending = 1'000'000;
  settings.max_payload = 1'000'000;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(850'000, 'x')) + "PING\r\n");
  EXPECT_EQ(publisher.take(), "");
  slow.take();
  EXPECT_EQ(publisher.take(), "PONG\r\n") << "without time passing";
}

TEST(connection, without_stalling_what_does_not_fit_is_dropped_core_2_9) {
  options settings;
  settings.max_pending = 1'000'000;
  settings.max_payload = 1'000'000;
  settings.no_fast_producer_stall = true;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world);
  slow.connect();
  publisher.connect();
  slow.send("SUB foo 1\r\n");
  publisher.send(publish("foo", std::string(850'000, 'x')) + publish("foo", std::string(850'000, 'y')) + "PING\r\n");
  EXPECT_EQ(publisher.take(), "PONG\r\n");
  const std::string got = slow.take();
  EXPECT_THAT(got, Not(HasSubstr("y")));
  EXPECT_EQ(world.under_test->context().slow_consumers, 0u);
}

TEST(connection, an_error_can_be_read_by_a_client_that_goes_on_writing_core_2) {
  options settings;
  settings.max_payload = 100;
  test_world world(settings, 64 << 10);
  test_client client(world);
  client.connect();
  client.offer("PUB foo 1000000\r\n");
  for (int block = 0; block < 10; ++block) client.offer(std::string(50'000, 'x'));
  EXPECT_EQ(client.take(), "-ERR 'Maximum Payload Violation'\r\n");
  EXPECT_TRUE(client.closed());
  client.hang_up();
  EXPECT_EQ(world.under_test->connections().size(), 0u);
}

TEST(connection, a_closed_connection_does_not_linger_for_ever) {
  test_world world;
  test_client client(world);
  client.connect();
  client.send("BAD\r\n");
  EXPECT_EQ(client.take(), "-ERR 'Unknown Protocol Operation'\r\n");
  world.advance(3s);
  const std::string_view more = "x";
  EXPECT_NE(client.stream().write({&more, 1}).state, runtime::io_state::done);
}

TEST(connection, what_was_published_before_the_end_of_input_is_delivered_core_2_10) {
  test_world world;
  test_client publisher(world), subscriber(world);
  publisher.connect();
  subscriber.connect();
  subscriber.send("SUB foo 1\r\n");
  publisher.offer(publish("foo", "last"));
  publisher.stream().close();
  EXPECT_EQ(subscriber.take(), "MSG foo 1 4\r\nlast\r\n");
  EXPECT_EQ(world.under_test->closed().all()[0].reason, close_reason::client_closed);
}

TEST(connection, what_a_peer_published_counts_although_it_takes_no_answers_any_more_core_2_10) {
  test_world world({}, 4 << 20);
  test_client publisher(world), subscriber(world);
  publisher.connect(",\"verbose\":true");
  subscriber.connect();
  subscriber.send("SUB foo 1\r\n");
  std::string many;
  for (int message = 0; message < 20'000; ++message) many += publish("foo", "0123456789");  // many pieces to read
  publisher.offer(many);
  publisher.stream().close();  // the answers have nowhere to go
  const std::string got = subscriber.take();
  EXPECT_EQ(got.size(), 20'000 * std::string_view("MSG foo 1 10\r\n0123456789\r\n").size());
  EXPECT_EQ(world.under_test->connections().size(), 1u);
}

TEST(connection, a_second_connect_keeps_what_it_does_not_say_and_drops_subscriptions_core_1_2) {
  test_world world;
  test_client client(world);
  client.connect(",\"name\":\"one\",\"lang\":\"go\"");
  client.send(
      "SUB a 1\r\nCONNECT {\"name\":\"two\"}\r\nSUB b 2\r\n"
      "HPUB b 12 12\r\nNATS/1.0\r\n\r\n\r\nPUB a 0\r\n\r\n");
  EXPECT_EQ(client.take(), "HMSG b 2 12 12\r\nNATS/1.0\r\n\r\n\r\n");
  const auto& one = *world.under_test->connections().begin()->second;
  EXPECT_EQ(one.name(), "two");
  EXPECT_EQ(one.language(), "go");
  client.send("CONNECT {\"headers\":false}\r\n");
  EXPECT_EQ(client.take(), "-ERR 'no responders requires headers support'\r\n");
}

TEST(connection, traces_show_arguments_as_they_were_sent_core_4_7) {
  test_world world;
  test_client client(world);
  client.connect();
  client.send("SUB  a.*\tq  1\r\nUNSUB 1   05\r\nPUB a  b 02\r\nhi\r\nHPUB a 0  1 \r\nx\r\n");
  for (const char* line : {"<<- [SUB a.*\tq  1]", "<<- [UNSUB 1   05]", "<<- [PUB a  b 02]", "<<- [HPUB a 0  1 ]",
                           "<<- MSG_PAYLOAD: [\"hi\"]"})
    EXPECT_TRUE(world.log.contains(line)) << line;
}

TEST(connection, a_consumer_of_interest_is_told_in_the_same_turn_as_a_slow_connection_goes) {
  options settings;
  settings.max_pending = settings.max_payload = 100'000;
  test_world world(settings, 64 << 10);
  test_client slow(world), publisher(world), watcher(world);
  slow.connect();
  publisher.connect();
  watcher.connect();
  watcher.send("SUB gone 1\r\n");
  slow.send("SUB foo 1\r\n");
  routing::account& account = world.under_test->global_account();
  const auto watch = account.watch_literal(
      "foo", [&account] { account.publish({.subject = "gone", .reply = {}, .headers = {}, .payload = {}}, {}); });
  for (int message = 0; message < 3; ++message) publisher.send(publish("foo", std::string(60'000, 'x')));
  EXPECT_EQ(watcher.take(), "MSG gone 1 0\r\n\r\n");
}

TEST(connection, max_connections_admits_so_many_and_tells_the_next_core_2_1) {
  options settings;
  settings.max_connections = 1;
  test_world world(settings);
  test_client first(world), second(world);
  first.connect();
  EXPECT_THAT(second.take(), EndsWith("-ERR 'maximum connections exceeded'\r\n"));
  EXPECT_TRUE(second.closed());
  first.hang_up();
  test_client third(world);
  third.connect();
  third.send("PING\r\n");
  EXPECT_EQ(third.take(), "PONG\r\n");
}

TEST(connection, too_many_tokens_are_refused_core_2_1) {
  options settings;
  settings.max_subscription_tokens = 2;
  test_world world(settings);
  test_client client(world);
  client.connect();
  client.send("SUB a.b 1\r\nSUB a.b.c 2\r\n");
  EXPECT_EQ(client.take(), "-ERR 'Permissions Violation for Subscription to \"a.b.c\", too many tokens'\r\n");
}

TEST(connection, queue_members_share_evenly_over_connections_core_2_6) {
  test_world world;
  test_client publisher(world), first(world), second(world);
  publisher.connect();
  first.connect();
  second.connect();
  first.send("SUB w q 1\r\n");
  second.send("SUB w q 1\r\n");
  std::string batch;
  for (int message = 0; message < 4000; ++message) batch += "PUB w 0\r\n\r\n";
  publisher.send(batch);
  const std::size_t line = std::string_view("MSG w 1 0\r\n\r\n").size();
  const std::size_t left = first.take().size() / line, right = second.take().size() / line;
  EXPECT_EQ(left + right, 4000u);
  EXPECT_NEAR(static_cast<double>(left), 2000, 160);
}

TEST(connection, lame_duck_tells_clients_waits_and_closes_them_one_by_one_core_2_12) {
  options settings;
  settings.lame_duck_duration = 30s;
  settings.lame_duck_grace_period = 5s;
  test_world world(settings);
  test_client first(world), second(world), old(world);
  first.connect();
  second.connect();
  old.connect(",\"protocol\":0");
  bool done = false;
  world.under_test->enter_lame_duck([&done] { done = true; });
  EXPECT_THAT(first.take(),
              testing::AllOf(StartsWith("INFO {"), HasSubstr("\"ldm\":true"), Not(HasSubstr("connect_info"))));
  EXPECT_EQ(old.take(), "");
  world.advance(4900ms);
  EXPECT_EQ(world.under_test->connections().size(), 3u);
  world.advance(200ms);
  EXPECT_EQ(world.under_test->connections().size(), 2u);
  world.advance(3s);
  EXPECT_EQ(world.under_test->connections().size(), 0u);
  EXPECT_TRUE(done);
  EXPECT_TRUE(first.closed());
}

TEST(connection, stopping_closes_clients_with_server_shutdown) {
  test_world world;
  test_client client(world);
  client.connect();
  world.under_test->stop();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(world.under_test->closed().all()[0].reason, close_reason::server_shutdown);
}

TEST(connection, is_small_while_it_is_idle) { EXPECT_LE(sizeof(connection), 1024u); }

}  // namespace
}  // namespace tern::server
