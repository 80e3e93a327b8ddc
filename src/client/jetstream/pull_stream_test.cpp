// The pull stream engine, rule by rule (service 16), and settling what it hands out (service 6).
#include "client/jetstream/pull_fixture.hpp"

namespace tern::client {
namespace {

using namespace std::chrono_literals;

TEST_F(pull_test, rule_1_nothing_is_requested_before_the_first_poll_service_16_1) {
  open();
  advance(2min);
  EXPECT_EQ(requests(), 0u);
  begin();
  EXPECT_EQ(requests(), 1u);
}

TEST_F(pull_test, rule_2_a_request_has_the_figures_of_the_seed_service_16_2) {
  open();
  begin();
  const std::string body = R"({"batch":200,"expires":30000000000,"idle_heartbeat":15000000000})";
  EXPECT_EQ(peer->take(),
            std::string(next_subject) + " " + inbox + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
}

TEST_F(pull_test, rule_3_a_message_is_handed_out_with_its_metadata_service_16_3) {
  open();
  auto waiting = stream.next();
  run();
  deliver(1, "body");
  ASSERT_TRUE(waiting.done());
  auto got = waiting.get();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->payload(), "body");
  EXPECT_EQ(got->metadata().stream, "ORDERS");
  EXPECT_EQ(got->metadata().consumer, "billing");
  EXPECT_EQ(got->metadata().delivered, 1u);
  EXPECT_EQ(got->metadata().stream_sequence, 1u);
  EXPECT_EQ(got->metadata().pending, 5u);
}

TEST_F(pull_test, rule_4_asks_again_when_half_has_been_handed_out_service_16_4) {
  open();
  begin();
  deliver(150);
  EXPECT_EQ(requests(), 1u) << "what is buffered is not handed out";
  EXPECT_EQ(take(99), 99);
  EXPECT_EQ(requests(), 1u);
  EXPECT_EQ(take(1), 1);
  EXPECT_EQ(requests(), 2u) << "100 outstanding";
  EXPECT_EQ(take(50), 50);
  EXPECT_EQ(requests(), 2u) << "250 outstanding";
}

TEST_F(pull_test, rule_4_half_of_the_bytes_counts_too) {
  open(pull_options().max_bytes(1000));
  begin();
  EXPECT_EQ(count_of(peer->text(), R"("max_bytes":1000)"), 1u);
  deliver(1, std::string(600, 'x'));
  EXPECT_EQ(take(1), 1);
  EXPECT_EQ(requests(), 2u);
}

TEST_F(pull_test, rule_5_without_any_request_for_35_s_one_is_sent_and_the_count_starts_anew_service_16_5) {
  open(pull_options().heartbeat(0s));
  begin();
  advance(35s - 1ns);
  EXPECT_EQ(requests(), 1u);
  advance(1ns);
  EXPECT_EQ(requests(), 2u);
  EXPECT_EQ(stream.statistics().safety_requests, 1u);
  deliver(100);
  EXPECT_EQ(take(100), 100);
  EXPECT_EQ(requests(), 3u) << "200 were outstanding, not 400";
}

TEST_F(pull_test, rule_5_waits_while_enough_is_buffered) {
  open(pull_options().heartbeat(0s));
  begin();
  deliver(150);
  advance(200s);
  EXPECT_EQ(requests(), 1u);
}

TEST_F(pull_test, rule_6_an_expired_request_gives_back_what_it_had_left_service_16_6) {
  open();
  begin();
  status("408 Request Timeout", "Nats-Pending-Messages: 99\r\nNats-Pending-Bytes: 0\r\n");
  EXPECT_EQ(requests(), 1u) << "101 outstanding";
  status("408 Request Timeout", "Nats-Pending-Messages: 1\r\nNats-Pending-Bytes: 0\r\n");
  EXPECT_EQ(requests(), 2u) << "100 outstanding";
  EXPECT_EQ(stream.statistics().expired, 2u);
  EXPECT_FALSE(stream.try_next().has_value()) << "no error item";
}

TEST_F(pull_test, rule_6_a_missing_header_means_a_whole_request) {
  open();
  begin();
  status("409 Leadership Change");
  EXPECT_EQ(requests(), 2u);
  EXPECT_EQ(stream.statistics().conflicts, 1u);
  EXPECT_FALSE(stream.try_next().has_value());
}

TEST_F(pull_test, rule_6_a_server_that_refuses_every_request_is_asked_with_growing_pauses) {
  open();
  begin();
  status("409 Exceeded MaxRequestBatch of 100");
  EXPECT_EQ(requests(), 2u);
  status("409 Exceeded MaxRequestBatch of 100");
  EXPECT_EQ(requests(), 2u);
  advance(100ms);
  EXPECT_EQ(requests(), 3u);
  status("409 Exceeded MaxRequestBatch of 100");
  advance(199ms);
  EXPECT_EQ(requests(), 3u);
  advance(1ms);
  EXPECT_EQ(requests(), 4u);
}

TEST_F(pull_test, rule_6_a_deleted_consumer_is_an_error_item_and_the_end) {
  open();
  begin();
  deliver(1);
  status("409 Consumer Deleted");
  EXPECT_FALSE(stream.ended()) << "there is something to hand out";
  EXPECT_EQ(take(1), 1);
  EXPECT_EQ(take_error(), errc::consumer_deleted);
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stream.next().get().error().code(), errc::closed);
  run();
  EXPECT_EQ(count_of(peer->text(), "UNSUB " + sid), 1u);
}

TEST_F(pull_test, rule_6_other_statuses_are_error_items_and_the_stream_goes_on) {
  open();
  begin();
  status("423 Nats-Pin-Id mismatch");
  auto item = stream.try_next();
  ASSERT_TRUE(item && !*item);
  EXPECT_EQ(item->error().code(), errc::pull_failed);
  EXPECT_NE(item->error().message().find("423 Nats-Pin-Id mismatch"), std::string::npos);
  EXPECT_FALSE(stream.ended());
  EXPECT_EQ(stream.statistics().other_statuses, 1u);
  run();
  EXPECT_EQ(requests(), 2u);
}

TEST_F(pull_test, rule_6_no_responders_is_an_error_item_and_the_consumer_is_looked_at) {
  open();
  begin();
  status("503");
  find_reply_sid();
  EXPECT_EQ(take_error(), errc::no_responders);
  EXPECT_EQ(count_of(peer->text(), info_subject), 1u);
  answer_info(R"({"type":"io.nats.jetstream.api.v1.consumer_info_response","num_waiting":0})");
  EXPECT_EQ(requests(), 2u);
  EXPECT_FALSE(stream.ended());
}

TEST_F(pull_test, rule_6_heartbeats_are_activity_only) {
  open();
  begin();
  for (int i = 0; i < 6; ++i) {
    advance(15s - 1ns);
    if (i % 2 == 1) {
      status("408 Request Timeout", "Nats-Pending-Messages: 200\r\nNats-Pending-Bytes: 0\r\n");
    } else {
      status("100 Idle Heartbeat");
    }
  }
  EXPECT_FALSE(stream.try_next().has_value());
  EXPECT_EQ(stream.statistics().heartbeats, 3u);
  EXPECT_EQ(stream.statistics().missed_heartbeats, 0u);
}

TEST_F(pull_test, rule_7_thirty_silent_seconds_are_a_missed_heartbeat_and_the_stream_recovers_at_once_service_16_7) {
  open();
  auto waiting = stream.next();
  run();
  advance(30s - 1ns);
  EXPECT_FALSE(waiting.done());
  EXPECT_FALSE(stream.degraded());
  advance(1ns);
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.get().error().code(), errc::missing_heartbeat);
  EXPECT_TRUE(stream.degraded());
  EXPECT_EQ(stream.statistics().missed_heartbeats, 1u);
  find_reply_sid();
  EXPECT_EQ(count_of(peer->text(), info_subject), 1u) << "asked at once";
  answer_info(R"({"num_waiting":1})");
  EXPECT_EQ(requests(), 2u);
  EXPECT_FALSE(stream.degraded());
  deliver(100);
  EXPECT_EQ(take(100), 100);
  EXPECT_EQ(requests(), 3u) << "the count began anew";
}

TEST_F(pull_test, rule_7_is_independent_of_polling_and_counts_only_while_a_request_is_open) {
  open();
  begin();
  deliver(200);  // the request is done, nobody polls
  advance(10min);
  EXPECT_EQ(stream.statistics().missed_heartbeats, 0u);
}

TEST_F(pull_test, rule_7_a_consumer_that_is_gone_ends_the_stream) {
  open();
  begin();
  advance(30s);
  find_reply_sid();
  answer_info(R"({"error":{"code":404,"err_code":10014,"description":"consumer not found"}})");
  EXPECT_EQ(take_error(), errc::missing_heartbeat);
  EXPECT_EQ(take_error(), errc::consumer_deleted);
  EXPECT_TRUE(stream.ended());
}

TEST_F(pull_test, rule_7_without_an_answer_it_keeps_asking_with_growing_pauses) {
  open();
  begin();
  advance(30s);
  find_reply_sid();
  // Tries last the 5 s of an API call; pauses between them 100, 200, 400 ms ...
  advance(5s + 100ms + 5s + 200ms);
  EXPECT_EQ(count_of(peer->text(), info_subject), 3u);
  EXPECT_TRUE(stream.degraded());
  EXPECT_EQ(stream.statistics().info_failures, 2u);
  EXPECT_EQ(requests(), 1u);
  answer_info(R"({"num_waiting":0})");
  EXPECT_EQ(requests(), 2u);
  EXPECT_FALSE(stream.degraded());
}

TEST_F(pull_test, rule_8_after_a_reconnect_the_request_is_sent_in_any_case_service_16_8) {
  for (const int waiting : {0, 1}) {
    SCOPED_TRACE(waiting);
    open();
    begin();
    peer->cut();
    run();
    EXPECT_TRUE(stream.degraded());
    peer->take();
    advance(100ms);
    find_reply_sid();
    ASSERT_EQ(count_of(peer->text(), info_subject), 1u) << peer->text();
    EXPECT_EQ(requests(), 0u);
    answer_info(R"({"num_waiting":)" + std::to_string(waiting) + "}");
    EXPECT_EQ(requests(), 1u);
    deliver(200);
    EXPECT_EQ(take(100), 100);
    EXPECT_EQ(requests(), waiting == 0 ? 2u : 1u) << "the old request counts while it waits";
    EXPECT_EQ(stream.statistics().reconnects, 1u);
    stream = pull_stream();
    run();
    peer->take();
  }
}

TEST_F(pull_test, rule_8_without_consumer_info_there_is_an_error_item_then_the_request) {
  open();
  begin();
  peer->cut();
  advance(100ms);
  peer->take();
  advance(6 * 5s + 100ms + 200ms + 400ms + 800ms + 1600ms);
  EXPECT_EQ(take_error(), errc::pull_failed);
  EXPECT_EQ(stream.statistics().info_failures, 6u);
  EXPECT_EQ(requests(), 1u);
}

TEST_F(pull_test, cancel_takes_the_interest_back_and_returns_what_was_not_handed_out_service_15) {
  open();
  begin();
  deliver(3);
  EXPECT_EQ(take(1), 1);
  auto rest = stream.cancel();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].metadata().stream_sequence, 2u);
  for (auto& message : rest) EXPECT_TRUE(message.nak().has_value());
  peer->answers_pings = false;
  run();
  const auto text = peer->take();
  EXPECT_EQ(count_of(text, "UNSUB " + sid), 1u);
  EXPECT_EQ(count_of(text, "-NAK"), 2u);
  deliver(1);  // was under way
  EXPECT_EQ(count_of(peer->take(), "-NAK"), 1u);
  peer->send("PONG\r\n");
  run();
  deliver(1);
  EXPECT_EQ(peer->take(), "");
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stream.next().get().error().code(), errc::closed);
}

TEST_F(pull_test, a_callback_gets_each_item_and_keeps_the_requests_open) {
  std::vector<std::string> seen;
  auto opened = billing.messages([&](pull_stream::item&& item) {
    seen.push_back(item ? std::string(item->payload()) : "error");
    if (item) {
      EXPECT_TRUE(item->ack().has_value());
    }
  });
  stream = *std::move(opened);
  run();
  const auto words = words_of_line(peer->text(), "SUB _INBOX.");
  inbox = words[1];
  sid = words[2];
  EXPECT_EQ(requests(), 1u);
  deliver(100, "m");
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(requests(), 2u);
  EXPECT_EQ(count_of(peer->text(), "+ACK"), 100u);
  status("400 Bad Request");
  EXPECT_EQ(seen.back(), "error");
}

TEST_F(pull_test, options_that_the_server_would_refuse_are_refused_here_service_16_c) {
  EXPECT_EQ(billing.messages(pull_options().heartbeat(15001ms)).error().code(), errc::invalid_options);
  EXPECT_TRUE(billing.messages(pull_options().heartbeat(15s)).has_value()) << "exactly half is allowed";
  EXPECT_EQ(billing.messages(pull_options().batch(0)).error().code(), errc::invalid_options);
  EXPECT_EQ(billing.fetch(fetch_options().heartbeat(3s)).get().error().code(), errc::invalid_options);
  EXPECT_EQ(jetstream(nats).pull_consumer("A.B", "c").messages().error().code(), errc::invalid_argument);
}

TEST_F(pull_test, the_end_of_the_connection_ends_the_stream) {
  open();
  auto waiting = stream.next();
  auto closed = nats.close();
  run();
  EXPECT_EQ(waiting.get().error().code(), errc::closed);
  EXPECT_TRUE(stream.ended());
}

TEST_F(pull_test, settlements_have_the_bodies_of_the_wire_and_are_made_once_service_6) {
  open();
  begin();
  deliver(5);
  std::vector<jetstream_message> taken;
  while (auto item = stream.try_next()) taken.push_back(std::move(**item));
  peer->take();
  EXPECT_TRUE(taken[0].in_progress());
  EXPECT_TRUE(taken[0].ack());
  EXPECT_EQ(taken[0].nak().error().code(), errc::settle_failed);
  EXPECT_EQ(taken[0].in_progress().error().code(), errc::settle_failed);
  EXPECT_TRUE(taken[1].nak(30s));
  EXPECT_TRUE(taken[2].nak());
  EXPECT_TRUE(taken[3].term("declined"));
  EXPECT_TRUE(taken[4].term());
  run();
  std::string bodies;
  for (const auto* body : {"+WPI", "+ACK", "-NAK {\"delay\":30000000000}", "-NAK", "+TERM declined", "+TERM"}) {
    EXPECT_EQ(count_of(peer->text(), std::string("\r\n") + body + "\r\n"), 1u) << body;
  }
}

TEST_F(pull_test, ack_sync_waits_for_the_empty_reply) {
  open();
  begin();
  deliver(2);
  auto first = *stream.try_next();
  auto second = *stream.try_next();
  auto confirmed = first->ack_sync();
  run();
  find_reply_sid();
  const auto words = words_of_line(peer->text(), "PUB $JS.ACK.");
  ASSERT_EQ(words.size(), 4u);
  peer->message(words[2], reply_sid, "", "");
  run();
  EXPECT_TRUE(confirmed.get().has_value());
  auto silent = second->ack_sync();
  advance(5s);
  EXPECT_EQ(silent.get().error().code(), errc::timeout);
}

}  // namespace
}  // namespace tern::client
