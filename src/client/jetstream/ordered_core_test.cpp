// Ordered consumers against a script: when a new consumer is made, and from where (jetstream 16).
#include <tern/client/jetstream.hpp>

#include "client/fake_peer.hpp"

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class ordered_core_test : public client_test {
 protected:
  void SetUp() override {
    connect();
    js = jetstream(nats);
    auto opened = js.ordered("ORDERS", ordered_options().filter("orders.>"));
    ASSERT_TRUE(opened.has_value());
    reading = *std::move(opened);
    run();
  }
  void TearDown() override {
    reading = ordered_consumer();
    js = jetstream();
  }
  // Answers the last CONSUMER.CREATE; later deliveries go to that consumer.
  void created(std::string_view name) {
    const auto words = words_of_line(peer->text(), "PUB $JS.API.CONSUMER.CREATE.ORDERS ");
    ASSERT_GE(words.size(), 4u) << peer->text();
    const auto subscribed = words_of_line(peer->text(), "SUB _INBOX.");
    ASSERT_FALSE(subscribed.empty());
    const auto inbox_of = peer->text().rfind(R"("deliver_subject":")");
    ASSERT_NE(inbox_of, std::string::npos);
    const auto inbox = peer->text().substr(inbox_of + 19, peer->text().find('"', inbox_of + 19) - inbox_of - 19);
    sid = words_of_line(peer->text(), "SUB " + inbox + " ").back();
    peer->message(words[2], reply_sid(), "",
                  R"({"stream_name":"ORDERS","name":")" + std::string(name) +
                      R"(","config":{"deliver_policy":"all","ack_policy":"none","replay_policy":"instant"},)"
                      R"("delivered":{"consumer_seq":0,"stream_seq":0},"num_pending":3})");
    run();
  }
  std::string reply_sid() {
    if (requests_sid.empty()) requests_sid = words_of_line(peer->text(), ".* ").back();
    return requests_sid;
  }
  void delivers(std::uint64_t stream_sequence, std::uint64_t consumer_sequence) {
    peer->message("orders.a", sid,
                  "$JS.ACK.ORDERS.c.1." + std::to_string(stream_sequence) + "." + std::to_string(consumer_sequence) +
                      ".1790000000000000000.0",
                  "m");
    run();
  }
  std::string taken() {
    std::string all;
    while (auto next = reading.try_next()) {
      all += *next ? std::to_string((*next)->jetstream()->stream_sequence) + " " : (*next).error().message();
    }
    return all;
  }
  bool asked_from(std::uint64_t sequence) {
    return peer->text().find(R"("deliver_policy":"by_start_sequence","opt_start_seq":)" + std::to_string(sequence) +
                             ",") != std::string::npos;
  }

  jetstream js;
  ordered_consumer reading;
  std::string sid;
  std::string requests_sid;
};

TEST_F(ordered_core_test, a_gap_makes_a_new_consumer_behind_the_last_message_and_the_old_one_is_not_heard) {
  EXPECT_NE(peer->text().find(R"("ack_policy":"none")"), std::string::npos);
  EXPECT_NE(peer->text().find(R"("flow_control":true)"), std::string::npos);
  created("one");
  const std::string old = sid;
  delivers(5, 1);
  delivers(9, 2);
  delivers(12, 4);
  EXPECT_EQ(taken(), "5 9 ");
  EXPECT_TRUE(asked_from(10)) << peer->text();
  EXPECT_NE(peer->text().find("PUB $JS.API.CONSUMER.DELETE.ORDERS.one "), std::string::npos);
  created("two");
  sid = old;
  delivers(13, 5);
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(reading.recreated(), 1u);
}

TEST_F(ordered_core_test, two_missed_heartbeats_make_a_new_consumer_and_a_heartbeat_that_is_ahead_too) {
  created("one");
  delivers(1, 1);
  advance(9s);
  EXPECT_EQ(reading.recreated(), 0u);
  advance(1s);
  EXPECT_EQ(reading.recreated(), 1u);
  EXPECT_TRUE(asked_from(2));
  created("two");
  peer->header_message("inbox", sid, "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 0\r\n\r\n");
  run();
  EXPECT_EQ(reading.recreated(), 1u);
  peer->header_message("inbox", sid, "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\n\r\n");
  run();
  EXPECT_EQ(reading.recreated(), 2u);
}

TEST_F(ordered_core_test, flow_control_is_answered_when_everything_before_it_was_taken) {
  created("one");
  delivers(1, 1);
  peer->take();
  peer->send("HMSG inbox " + sid + " $JS.FC.ORDERS.one.x 36 36\r\nNATS/1.0 100 FlowControl Request\r\n\r\n\r\n");
  run();
  EXPECT_EQ(peer->text().find("PUB $JS.FC"), std::string::npos);
  EXPECT_EQ(taken(), "1 ");
  run();
  EXPECT_NE(peer->text().find("PUB $JS.FC.ORDERS.one.x 0"), std::string::npos);
}

TEST_F(ordered_core_test, it_ends_with_the_stream) {
  const auto words = words_of_line(peer->text(), "PUB $JS.API.CONSUMER.CREATE.ORDERS ");
  peer->message(words[2], reply_sid(), "",
                R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})");
  run();
  EXPECT_EQ(reading.next().get().error().code(), errc::not_found);
  EXPECT_TRUE(reading.ended());
}

}  // namespace
}  // namespace tern::client
