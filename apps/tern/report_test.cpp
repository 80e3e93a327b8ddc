// Reports of streams, consumers and benchmarks, and the errors of the API.
#include "api.hpp"
#include "bench_report.hpp"
#include "consumer_report.hpp"
#include "stream_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tern::command {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

client::stream_info orders() {
  return *codec::read_json<client::stream_info>(
      R"({"config":{"name":"ORDERS","subjects":["orders.>","o"],"retention":"limits","max_msgs":-1,"max_bytes":1048576,)"
      R"("max_age":0,"storage":"file","discard":"old","num_replicas":1,"duplicate_window":120000000000},)"
      R"("created":"2026-11-30T21:19:07Z","state":{"messages":1200,"bytes":336,"first_seq":1,)"
      R"("first_ts":"2026-11-30T21:19:08Z","last_seq":1200,"last_ts":"2026-11-30T21:19:09Z","consumer_count":1}})");
}

TEST(stream_reports, tell_configuration_limits_and_state) {
  const std::string text = describe_stream(orders());
  EXPECT_THAT(text, HasSubstr("Information for Stream ORDERS created 2026-11-30 21:19:07:"));
  EXPECT_THAT(text, HasSubstr("Subjects: orders.>, o\n"));
  EXPECT_THAT(text, HasSubstr("Duplicate Window: 2m0s\n"));
  EXPECT_THAT(text, HasSubstr("Maximum Messages: unlimited\n"));
  EXPECT_THAT(text, HasSubstr("Maximum Bytes: 1.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("Messages: 1,200\n"));
  EXPECT_THAT(text, HasSubstr("Last Sequence: 1,200 @ 2026-11-30 21:19:09\n"));
}

TEST(stream_reports, of_all_streams_have_a_line_each) {
  client::stream_info empty;
  empty.config.name = "EMPTY";
  EXPECT_EQ(describe_streams({orders(), empty}, *parse_rfc3339("2026-11-30T21:19:39Z")),
            "NAME    STORAGE  CREATED              MESSAGES   SIZE  CONSUMERS  LAST MESSAGE\n"
            "EMPTY   file                                 0    0 B          0  never\n"
            "ORDERS  file     2026-11-30 21:19:07     1,200  336 B          1  30s ago\n");
}

TEST(consumer_reports, tell_what_is_outstanding) {
  const auto info = codec::read_json<client::consumer_info>(
      R"({"stream_name":"ORDERS","name":"work","created":"2026-11-30T21:19:08Z","config":{"durable_name":"work",)"
      R"("deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_ack_pending":1000,"max_waiting":512,)"
      R"("backoff":[1000000000,5000000000],"max_deliver":5,"filter_subject":"orders.a"},)"
      R"("delivered":{"consumer_seq":7,"stream_seq":9},"ack_floor":{"consumer_seq":5,"stream_seq":6},)"
      R"("num_ack_pending":2,"num_redelivered":1,"num_pending":3,"num_waiting":0})");
  ASSERT_TRUE(info);
  const std::string text = describe_consumer(*info);
  EXPECT_THAT(text, HasSubstr("Information for Consumer ORDERS > work created 2026-11-30 21:19:08\n"));
  EXPECT_THAT(text, HasSubstr("Filter Subject: orders.a\n"));
  EXPECT_THAT(text, HasSubstr("Backoff: 1s, 5s\n"));
  EXPECT_THAT(text, HasSubstr("Outstanding Acks: 2 out of maximum 1,000\n"));
  EXPECT_THAT(text, HasSubstr("Consumer sequence: 7 Stream sequence: 9\n"));
  EXPECT_THAT(describe_consumers({*info}, {}), HasSubstr("work  pull  2026-11-30 21:19:08"));
}

TEST(bench_reports, name_rate_cost_and_durability) {
  bench_result found;
  found.benchmark = "JetStream asynchronous publisher";
  found.messages = 20'000;
  found.message_size = 128;
  found.elapsed = 500ms;
  found.processor_time = 250ms;
  found.stream = "benchstream";
  found.durability = durability_of(client::stream_config{.name = "x", .storage = client::storage_type::memory});
  found.acknowledgement.record(1'000);
  const std::string text = describe_bench(found);
  EXPECT_THAT(text, HasSubstr("40,000 msgs/sec ~ 4.9 MiB/sec"));
  EXPECT_THAT(text, HasSubstr("0.250s, 50% of a core, 12500 ns/message"));
  EXPECT_THAT(text, HasSubstr("Durability: memory: acknowledged once in memory"));
  EXPECT_THAT(text, HasSubstr("P99 1.0µs"));
  EXPECT_THAT(bench_as_json(found), HasSubstr("\"durability\":\"memory:"));
  found.stream.clear();
  EXPECT_THAT(describe_bench(found), Not(HasSubstr("Durability")));
}

TEST(bench_reports, tell_asynchronous_persistence_from_the_servers_setting) {
  client::stream_config config;
  EXPECT_THAT(durability_of(config), HasSubstr("sync_interval"));
  config.persist_mode = "async";
  EXPECT_THAT(durability_of(config), HasSubstr("before it is on disk"));
}

TEST(shares_of_clients, add_up) {
  for (const std::uint64_t total : {0, 1, 7, 100}) {
    std::uint64_t sum = 0;
    for (std::uint64_t index = 0; index < 3; ++index) sum += share_of(total, index, 3);
    EXPECT_EQ(sum, total);
  }
}

TEST(answers_of_the_api, are_errors_with_number_and_advice) {
  const auto missing =
      check_answer(R"({"type":"io.nats.jetstream.api.v1.stream_info_response","error":{"code":404,"err_code":10059,)"
                   R"("description":"stream not found"}})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().api_code(), 10059);
  EXPECT_EQ(missing.error().message(), "stream not found (10059) (`tern stream ls` shows the streams)");
  EXPECT_TRUE(check_answer(R"({"type":"x","success":true})"));
  EXPECT_FALSE(check_answer("nonsense"));
}

TEST(names_in_requests, are_one_token) {
  EXPECT_TRUE(check_name("stream", "ORDERS-1"));
  for (const char* wrong : {"", "a.b", "a b", "*", ">", "a/b"}) EXPECT_FALSE(check_name("stream", wrong)) << wrong;
}

}  // namespace
}  // namespace tern::command
