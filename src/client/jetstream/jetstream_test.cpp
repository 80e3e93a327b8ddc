#include <tern/client/jetstream.hpp>

#include "client/fake_peer.hpp"

namespace tern::client {
namespace {

using namespace std::chrono_literals;

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class jetstream_test : public client_test {
 protected:
  void SetUp() override {
    connect();
    js = jetstream(nats);
  }
  void TearDown() override { js = jetstream(); }
  void answer(std::string_view request, std::string_view json) {
    const auto words = words_of_line(peer->text(), request);
    ASSERT_GE(words.size(), 4u) << peer->text();
    peer->message(words[2], "1", "", json);
    run();
  }
  void nobody(std::string_view request) {
    const auto words = words_of_line(peer->text(), request);
    ASSERT_GE(words.size(), 4u) << peer->text();
    peer->header_message(words[2], "1", "NATS/1.0 503\r\n\r\n");
    run();
  }
  jetstream js;
};

TEST_F(jetstream_test, a_publish_ends_with_the_ack_of_the_stream_jetstream_5_2) {
  auto sent = js.publish("orders", "x", publish_options().message_id("o-1").expect_stream("ORDERS").ttl(1500ms));
  run();
  for (const auto* line : {"Nats-Msg-Id: o-1\r\n", "Nats-Expected-Stream: ORDERS\r\n", "Nats-TTL: 2\r\n"}) {
    EXPECT_EQ(count_of(peer->text(), line), 1u) << line;
  }
  answer("HPUB orders", R"({"stream":"ORDERS","domain":"D","seq":7,"duplicate": true})");
  const auto ack = sent.get();
  ASSERT_TRUE(ack.has_value()) << ack.error().message();
  EXPECT_EQ(ack->stream, "ORDERS");
  EXPECT_EQ(ack->seq, 7u);
  EXPECT_TRUE(ack->duplicate);
  EXPECT_EQ(ack->domain, "D");
}

TEST_F(jetstream_test, without_a_stream_a_publish_tries_again_twice_then_says_so_service_11_1) {
  auto sent = js.publish("orders", "x");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    run();
    EXPECT_EQ(count_of(peer->text(), "PUB orders"), static_cast<std::size_t>(attempt));
    nobody("PUB orders");
    if (attempt == 3) break;
    advance(249ms);
    EXPECT_EQ(count_of(peer->text(), "PUB orders"), static_cast<std::size_t>(attempt));
    advance(1ms);
  }
  ASSERT_TRUE(sent.done());
  EXPECT_EQ(sent.get().error().code(), errc::no_stream_for_subject);
}

TEST_F(jetstream_test, a_wrong_expectation_has_its_own_code_and_keeps_the_number) {
  auto sent = js.publish("orders", "x", publish_options().expect_last_sequence(3));
  run();
  answer("HPUB orders",
         R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"ORDERS","seq":0})");
  const auto ack = sent.get();
  EXPECT_EQ(ack.error().code(), errc::wrong_last_sequence);
  EXPECT_EQ(ack.error().api_code(), 10071);
  EXPECT_EQ(ack.error().message(), "wrong last sequence: 5");
}

TEST_F(jetstream_test, an_ack_that_does_not_come_is_a_timeout_after_30_s) {
  auto sent = js.publish("orders", "x");
  advance(30s - 1ns);
  EXPECT_FALSE(sent.done());
  advance(1ns);
  EXPECT_EQ(sent.get().error().code(), errc::timeout);
}

TEST_F(jetstream_test, asynchronous_publishes_complete_one_by_one_and_the_window_tells_when_it_is_empty) {
  js = jetstream(nats, jetstream_options().publish_window(2));
  std::vector<std::uint64_t> acked;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(
        js.publish_async("orders" + std::to_string(i), "x", [&](result<pub_ack> ack) { acked.push_back(ack->seq); }));
  }
  EXPECT_EQ(js.publish_async("more", "x", [](result<pub_ack>) {}).error().code(), errc::limit_exceeded);
  EXPECT_EQ(js.publish_async_pending(), 8u);
  auto all = js.publish_async_complete();
  std::size_t acked_at_completion = 0;
  js.publish_async_complete().then([&](result<void>) { acked_at_completion = acked.size(); });
  run();
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(all.done());
    answer("PUB orders" + std::to_string(i) + " ", R"({"stream":"ORDERS","seq":)" + std::to_string(i + 1) + "}");
  }
  EXPECT_EQ(acked, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(all.done());
  EXPECT_EQ(acked_at_completion, 8u) << "the last callback comes first";
  EXPECT_EQ(js.publish_async_pending(), 0u);
}

TEST_F(jetstream_test, a_stream_is_created_from_its_record_and_unknown_fields_of_the_answer_do_no_harm) {
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders.>"};
  orders.storage = storage_type::memory;
  orders.max_age = 1h;
  auto created = js.create_stream(orders);
  run();
  const std::string body = R"({"name":"ORDERS","subjects":["orders.>"],"max_age":3600000000000,"storage":"memory"})";
  EXPECT_EQ(count_of(peer->text(), "PUB $JS.API.STREAM.CREATE.ORDERS"), 1u);
  EXPECT_EQ(count_of(peer->text(), body), 1u) << peer->text();
  answer(
      "PUB $JS.API.STREAM.CREATE",
      R"({"type":"io.nats.jetstream.api.v1.stream_create_response","config":{"name":"ORDERS","subjects":["orders.>"],)"
      R"("retention":"limits","max_msgs":-1,"storage":"memory","discard":"old","num_replicas":1,"sparkling":[1,{"a":2}]},)"
      R"("created":"2026-11-30T20:00:00.5Z","state":{"messages":0,"bytes":0,"first_seq":0,)"
      R"("first_ts":"0001-01-01T00:00:00Z","last_seq":0,"last_ts":"0001-01-01T00:00:00Z","consumer_count":0},)"
      R"("did_create":true,"ts":"2026-11-30T20:00:00Z"})");
  const auto info = created.get();
  ASSERT_TRUE(info.has_value()) << info.error().message();
  EXPECT_EQ(info->config.retention, retention_policy::limits);
  EXPECT_EQ(info->config.storage, storage_type::memory);
  EXPECT_EQ(to_rfc3339(*info->created), "2026-11-30T20:00:00.5Z");
}

TEST_F(jetstream_test, errors_of_the_api_keep_their_number_and_missing_jetstream_is_told) {
  auto missing = js.stream_info("ORDERS");
  run();
  answer("PUB $JS.API.STREAM.INFO.ORDERS",
         R"({"type":"x","error":{"code":404,"err_code":10059,"description":"stream not found"}})");
  const auto info = missing.get();
  EXPECT_EQ(info.error().code(), errc::not_found);
  EXPECT_EQ(info.error().api_code(), 10059);
  auto off = js.account_info();
  run();
  nobody("PUB $JS.API.INFO");
  EXPECT_EQ(off.get().error().code(), errc::no_responders);
  auto silent = js.account_info();
  advance(5s);
  EXPECT_EQ(silent.get().error().code(), errc::timeout);
  EXPECT_EQ(js.delete_stream("a.b").get().error().code(), errc::invalid_argument);
}

TEST_F(jetstream_test, a_consumer_is_created_under_its_name_and_filter_with_the_action_jetstream_12) {
  consumer_config billing;
  billing.durable_name = "billing";
  billing.filter_subject = "orders.placed";
  billing.ack_wait = 60s;
  billing.max_ack_pending = 1024;
  auto created = js.create_consumer("ORDERS", billing);
  run();
  EXPECT_EQ(count_of(peer->text(), "PUB $JS.API.CONSUMER.CREATE.ORDERS.billing.orders.placed "), 1u) << peer->text();
  EXPECT_EQ(
      count_of(peer->text(), R"({"stream_name":"ORDERS","config":{"durable_name":"billing","deliver_policy":"all",)"
                             R"("ack_policy":"explicit","ack_wait":60000000000,"filter_subject":"orders.placed",)"
                             R"("replay_policy":"instant","max_ack_pending":1024},"action":"create"})"),
      1u)
      << peer->text();
  answer("PUB $JS.API.CONSUMER.CREATE",
         R"({"error":{"code":400,"err_code":10148,"description":"consumer already exists"}})");
  EXPECT_EQ(created.get().error().code(), errc::already_exists);
}

TEST_F(jetstream_test, lists_are_asked_for_page_by_page_jetstream_1_9) {
  auto names = js.stream_names();
  run();
  answer("PUB $JS.API.STREAM.NAMES", R"({"total":3,"offset":0,"limit":2,"streams":["A","B"]})");
  EXPECT_EQ(count_of(peer->text(), R"({"offset":2})"), 1u) << peer->text();
  answer("PUB $JS.API.STREAM.NAMES", R"({"total":3,"offset":2,"limit":2,"streams":["C"]})");
  EXPECT_EQ(*names.get(), (std::vector<std::string>{"A", "B", "C"}));
  auto none = js.stream_names("nothing.here");
  run();
  answer("PUB $JS.API.STREAM.NAMES", R"({"total":0,"offset":0,"limit":2,"streams":null})");
  EXPECT_TRUE(none.get()->empty());
}

TEST_F(jetstream_test, messages_are_read_through_the_api_and_directly_jetstream_8) {
  auto read = js.get_message("ORDERS", 5);
  run();
  answer(
      "PUB $JS.API.STREAM.MSG.GET.ORDERS",
      R"({"message":{"subject":"orders","seq":5,"hdrs":"TkFUUy8xLjANCg0K","data":"aGk=","time":"2026-01-02T03:04:05Z"}})");
  auto stored = read.get();
  ASSERT_TRUE(stored.has_value()) << stored.error().message();
  EXPECT_EQ(stored->payload, "hi");
  EXPECT_EQ(stored->header_block, "NATS/1.0\r\n\r\n");
  auto direct = js.direct_get_last("ORDERS", "orders.a");
  run();
  const auto words = words_of_line(peer->text(), "PUB $JS.API.DIRECT.GET.ORDERS.orders.a");
  peer->header_message(words[2], "1",
                       "NATS/1.0\r\nK: v\r\nNats-Stream: ORDERS\r\nNats-Subject: orders.a\r\nNats-Sequence: 9\r\n"
                       "Nats-Time-Stamp: 2026-01-02T03:04:05Z\r\n\r\n",
                       "body");
  run();
  auto message = direct.get();
  ASSERT_TRUE(message.has_value()) << message.error().message();
  EXPECT_EQ(message->seq, 9u);
  EXPECT_EQ(message->payload, "body");
  EXPECT_EQ(message->header_block, "NATS/1.0\r\nK: v\r\n\r\n");
  auto missing = js.direct_get("ORDERS", 10);
  run();
  peer->header_message(words_of_line(peer->text(), "PUB $JS.API.DIRECT.GET.ORDERS ")[2], "1",
                       "NATS/1.0 404 Message Not Found\r\n\r\n");
  run();
  EXPECT_EQ(missing.get().error().code(), errc::not_found);
}

}  // namespace
}  // namespace tern::client
