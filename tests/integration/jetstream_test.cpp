// JetStream as the client has it, against both servers: management to API level 5, batches, ordered and push consumers.
#include "server_fixture.hpp"

#include <tern/client/atomic_batch.hpp>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class jetstream_on : public with_server {
 protected:
  void fill(std::string_view subject, int messages) {
    for (int i = 0; i < messages; ++i) {
      ASSERT_TRUE(js.publish_async(subject, "m" + std::to_string(i), [](result<pub_ack> ack) {
                      EXPECT_TRUE(ack.has_value());
                    }).has_value());
    }
    must(js.publish_async_complete().get());
  }
};

TEST_P(jetstream_on, every_field_of_a_stream_comes_back_as_it_was_asked_for_jetstream_3) {
  stream_config config;
  config.name = "ALL";
  config.subjects = {"all.>"};
  config.description = "everything";
  config.max_consumers = 10;
  config.max_msgs = 100'000;
  config.max_bytes = 1 << 20;
  config.max_age = 1h;
  config.max_msgs_per_subject = 5;
  config.max_msg_size = 10'000;
  config.duplicate_window = 30s;
  config.subject_transform = subject_transform{.src = "all.*.in", .dest = "all.{{wildcard(1)}}.out"};
  config.republish = republish{.src = "all.>", .dest = "copy.>", .headers_only = true};
  config.allow_direct = true;
  config.allow_rollup_hdrs = true;
  config.consumer_limits = consumer_limits{.inactive_threshold = 1h, .max_ack_pending = 50};
  config.allow_msg_ttl = true;
  config.subject_delete_marker_ttl = 10s;
  config.allow_atomic = true;
  config.allow_batched = true;
  config.allow_msg_schedules = true;
  config.first_seq = 7;
  config.metadata = {{"team", "billing"}};
  const auto made = stream(config).config;
  EXPECT_EQ(made.subject_transform->dest, config.subject_transform->dest);
  EXPECT_EQ(made.republish->headers_only, true);
  EXPECT_EQ(made.consumer_limits->max_ack_pending, 50);
  EXPECT_EQ(made.subject_delete_marker_ttl, config.subject_delete_marker_ttl);
  EXPECT_EQ(made.metadata.at("team"), "billing");
  EXPECT_EQ(made.first_seq, 7u);
  EXPECT_EQ(made.allow_atomic, true);
  EXPECT_EQ(made.allow_batched, true);
  EXPECT_EQ(made.allow_msg_schedules, true);
  auto sent = must(js.publish("all.x.in", "1").get());
  EXPECT_EQ(sent.seq, 7u);
  EXPECT_EQ(must(js.get_message("ALL", 7).get()).subject, "all.x.out");
}

TEST_P(jetstream_on, a_mirror_and_a_sourcing_stream_tell_how_far_they_are_jetstream_7) {
  stream_config origin;
  origin.name = "ORIGIN";
  origin.subjects = {"origin.>"};
  stream(origin);
  fill("origin.a", 10);
  stream_config mirror;
  mirror.name = "MIRROR";
  mirror.mirror = stream_source{.name = "ORIGIN"};
  stream(mirror);
  stream_config sourcing;
  sourcing.name = "SOURCING";
  sourcing.sources = {stream_source{.name = "ORIGIN", .filter_subject = "origin.a"}};
  stream(sourcing);
  auto copied = js.ordered("MIRROR");
  ASSERT_TRUE(copied.has_value());
  for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(must(copied->next().get()).jetstream()->stream_sequence, i);
  auto gathered = js.ordered("SOURCING");
  for (std::uint64_t i = 1; i <= 10; ++i) must(gathered->next().get());
  const auto info = must(js.stream_info("MIRROR").get());
  ASSERT_TRUE(info.mirror.has_value());
  EXPECT_EQ(info.mirror->name, "ORIGIN");
  ASSERT_EQ(must(js.stream_info("SOURCING").get()).sources.size(), 1u);
}

TEST_P(jetstream_on, a_consumer_is_paused_resumed_and_reset_jetstream_17) {
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders"};
  stream(orders);
  fill("orders", 3);
  consumer_config billing;
  billing.durable_name = "billing";
  must(js.create_consumer("ORDERS", billing).get());
  const auto until = time_point(std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now()) + 1h);
  EXPECT_TRUE(must(js.pause_consumer("ORDERS", "billing", until).get()).paused);
  EXPECT_TRUE(must(js.consumer_info("ORDERS", "billing").get()).paused);
  auto pull = js.pull_consumer("ORDERS", "billing");
  EXPECT_TRUE(must(pull.fetch(fetch_options().batch(3).expires(200ms)).get()).messages.empty());
  EXPECT_FALSE(must(js.resume_consumer("ORDERS", "billing").get()).paused);
  auto batch = must(pull.fetch(fetch_options().batch(3).expires(2s)).get());
  ASSERT_EQ(batch.messages.size(), 3u);
  must(batch.messages[2].ack_sync().get());
  EXPECT_EQ(must(js.reset_consumer("ORDERS", "billing", 2).get()).num_pending, 2u);
  EXPECT_EQ(js.unpin_consumer("ORDERS", "billing", "g").get().error().api_code(), 10160);
  EXPECT_EQ(js.pause_consumer("ORDERS", "no one", until).get().error().code(), errc::invalid_argument);
}

TEST_P(jetstream_on, many_messages_are_read_directly_in_one_request_jetstream_8_2) {
  stream_config facts;
  facts.name = "FACTS";
  facts.subjects = {"facts.>"};
  facts.allow_direct = true;
  stream(facts);
  fill("facts.a", 5);
  fill("facts.b", 5);
  batch_query query;
  query.batch = 4;
  query.next_by_subj = "facts.b";
  const auto some = must(js.direct_get_batch("FACTS", query).get());
  ASSERT_EQ(some.size(), 4u);
  EXPECT_EQ(some.front().seq, 6u);
  EXPECT_EQ(some.back().seq, 9u);
  last_messages_query last;
  last.multi_last = {"facts.>"};
  const auto newest = must(js.direct_get_last_of("FACTS", last).get());
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0].seq, 5u);
  EXPECT_EQ(newest[1].payload, "m4");
  last.multi_last = {"nothing"};
  EXPECT_EQ(js.direct_get_last_of("FACTS", last).get().error().code(), errc::not_found);
}

TEST_P(jetstream_on, an_atomic_batch_is_stored_whole_or_not_at_all_jetstream_5_10) {
  stream_config accounts;
  accounts.name = "ACCOUNTS";
  accounts.subjects = {"accounts.>"};
  accounts.allow_atomic = true;
  stream(accounts);
  atomic_batch transfer(js);
  must(transfer.add("accounts.a", "-5"));
  must(transfer.add("accounts.b", "5"));
  EXPECT_EQ(must(js.stream_info("ACCOUNTS").get()).state.messages, 0u) << "nothing before the commit";
  const auto ack = must(transfer.commit().get());
  EXPECT_EQ(ack.seq, 2u);
  EXPECT_EQ(ack.count, 2u);
  EXPECT_EQ(ack.batch, transfer.id());
  EXPECT_EQ(transfer.commit().get().error().code(), errc::closed);
  atomic_batch refused(js);
  must(refused.add("accounts.c", "1"));
  EXPECT_FALSE(refused.commit("accounts.a", "2", publish_options().expect_last_subject_sequence(9)).get().has_value());
  EXPECT_EQ(must(js.stream_info("ACCOUNTS").get()).state.messages, 2u);
}

TEST_P(jetstream_on, counters_schedules_and_rollups_are_headers_of_a_publish_jetstream_5_6_to_5_9) {
  stream_config counters;
  counters.name = "COUNT";
  counters.subjects = {"count.>"};
  counters.allow_msg_counter = true;
  stream(counters);
  must(js.publish("count.hits", "", publish_options().increment("+40")).get());
  EXPECT_EQ(must(js.publish("count.hits", "", publish_options().increment("2")).get()).val, "42");
  stream_config later;
  later.name = "LATER";
  later.subjects = {"later.>"};
  later.allow_msg_schedules = true;
  later.allow_rollup_hdrs = true;
  stream(later);
  must(js.publish("later.plan", "wake up", publish_options().schedule("@every 1s", "later.out")).get());
  auto coming = js.ordered("LATER", ordered_options().filter("later.out"));
  auto due = must(coming->next().get());
  EXPECT_EQ(due.payload(), "wake up");
  must(js.publish("later.log", "1").get());
  must(js.publish("later.log", "2", publish_options().rollup_subject()).get());
  EXPECT_EQ(must(js.purge_stream("LATER", purge_options{.filter = "later.log"}).get()), 1u);
}

TEST_P(jetstream_on, an_ordered_consumer_has_every_message_once_though_its_consumer_is_deleted_jetstream_16) {
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders"};
  stream(orders);
  fill("orders", 100);
  auto reading = js.ordered("ORDERS", ordered_options().heartbeat(200ms));
  ASSERT_TRUE(reading.has_value());
  for (std::uint64_t i = 1; i <= 60; ++i) {
    ASSERT_EQ(must(reading->next().get()).jetstream()->stream_sequence, i);
    if (i != 50) continue;
    for (const auto& name : must(js.consumer_names("ORDERS").get())) must(js.delete_consumer("ORDERS", name).get());
    fill("orders", 100);
  }
  for (std::uint64_t i = 61; i <= 200; ++i) ASSERT_EQ(must(reading->next().get()).jetstream()->stream_sequence, i);
  EXPECT_GE(reading->recreated(), 1u);
  must(js.delete_stream("ORDERS").get());
  EXPECT_EQ(reading->next().get().error().code(), errc::not_found);
  EXPECT_TRUE(reading->ended());
}

TEST_P(jetstream_on, an_ordered_consumer_takes_large_amounts_under_flow_control_jetstream_16) {
  stream_config bulk;
  bulk.name = "BULK";
  bulk.subjects = {"bulk"};
  stream(bulk);
  const std::string body(64 << 10, 'x');
  for (int i = 0; i < 200; ++i) must(js.publish("bulk", body).get());
  auto reading = js.ordered("BULK", ordered_options().heartbeat(1s));
  for (std::uint64_t i = 1; i <= 200; ++i) ASSERT_EQ(must(reading->next().get()).jetstream()->stream_sequence, i);
  EXPECT_EQ(reading->recreated(), 0u);
}

TEST_P(jetstream_on, a_push_consumer_sends_by_itself_and_refuses_a_second_plain_subscriber_jetstream_16) {
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders"};
  stream(orders);
  fill("orders", 20);
  consumer_config mailer;
  mailer.durable_name = "mailer";
  mailer.deliver_subject = "to.mailer";
  mailer.idle_heartbeat = 1s;
  mailer.flow_control = true;
  must(js.create_consumer("ORDERS", mailer).get());
  {
    auto bound = must(js.push("ORDERS", "mailer").get());
    for (std::uint64_t i = 1; i <= 20; ++i) {
      auto order = must(bound.next().get());
      EXPECT_EQ(order.metadata().stream_sequence, i);
      must(order.ack_sync().get());
    }
    EXPECT_EQ(js.push("ORDERS", "mailer").get().error().code(), errc::already_exists);
  }
  EXPECT_EQ(must(js.consumer_info("ORDERS", "mailer").get()).num_ack_pending, 0);
  consumer_config pulled;
  pulled.durable_name = "pulled";
  must(js.create_consumer("ORDERS", pulled).get());
  EXPECT_EQ(js.push("ORDERS", "pulled").get().error().code(), errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(servers, jetstream_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
