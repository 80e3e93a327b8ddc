#include "server/monitoring/monitor.hpp"

#include "server/monitoring/json_builder.hpp"
#include "server/test_world.hpp"

#include <gmock/gmock.h>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(monitor, indents_as_go_does_core_5) {
  EXPECT_EQ(indented(R"({"a":1,"b":[],"c":{},"d":[1,{"e":"x\",:{"}]})"),
            "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": {},\n  \"d\": [\n    1,\n    {\n      \"e\": \"x\\\",:{\"\n    }\n "
            " ]\n}");
}

TEST(monitor, uptimes_leave_out_leading_zeros_core_5) {
  EXPECT_EQ(friendly_uptime(0s), "0s");
  EXPECT_EQ(friendly_uptime(61s), "1m1s");
  EXPECT_EQ(friendly_uptime(26h + 3s), "1d2h0m3s");
}

TEST(monitor, parameters_that_do_not_read_have_the_texts_of_go_core_5) {
  http_query query("subs=tRUE&limit=x&cid=-1&name=a%20b+c");
  EXPECT_EQ(query.text("name"), "a b c");
  query.boolean("subs");
  EXPECT_EQ(query.problem(), "Error decoding boolean for 'subs': strconv.ParseBool: parsing \"tRUE\": invalid syntax");
  http_query number("limit=x");
  number.integer("limit");
  EXPECT_EQ(number.problem(), "Error decoding int for 'limit': strconv.Atoi: parsing \"x\": invalid syntax");
  http_query unsigned_number("cid=-1");
  unsigned_number.unsigned_integer("cid");
  EXPECT_EQ(unsigned_number.problem(),
            "Error decoding uint64 for 'cid': strconv.ParseUint: parsing \"-1\": invalid syntax");
}

TEST(monitor, answers_from_the_state_of_the_server_core_5) {
  options settings;
  settings.http_base_path = "/nats";
  test_world world(settings);
  monitor under_test(*world.under_test);
  test_client client(world);
  client.connect(",\"name\":\"one\"");
  client.send("SUB foo 1\r\nPUB foo 2\r\nhi\r\n");
  EXPECT_EQ(under_test.answer("/varz").status, 404);
  EXPECT_THAT(under_test.answer("/nats/varz").body,
              testing::AllOf(HasSubstr("\"in_msgs\": 1"), HasSubstr("\"connections\": 1")));
  EXPECT_THAT(under_test.answer("/nats/connz?subs=1").body,
              testing::AllOf(HasSubstr("\"name\": \"one\""), HasSubstr("\"subscriptions_list\": [\n        \"foo\"")));
  EXPECT_THAT(under_test.answer("/nats/subsz?subs=1&test=bar").body, Not(HasSubstr("subscriptions_list")));
  EXPECT_EQ(under_test.answer("/nats/connz?state=bogus").body, "Error decoding state for bogus");
  EXPECT_EQ(under_test.answer("/nats/connz?sort=stop").status, 400);
  EXPECT_EQ(under_test.answer("/nats/healthz").body, "{\"status\":\"ok\"}");
  EXPECT_EQ(under_test.answer("/nats/healthz?stream=S").status, 400);
  EXPECT_THAT(under_test.answer("/nats/jsz").body, HasSubstr("\"disabled\": true"));
  EXPECT_EQ(under_test.answer("/nats/nothing").status, 404);
  EXPECT_THAT(under_test.answer("/nats").content_type, StartsWith("text/html"));
  EXPECT_THAT(under_test.answer("/nats/varz").body, HasSubstr("\"/connz\": 1,\n    \"/healthz\": 2"));
  client.hang_up();
  EXPECT_THAT(under_test.answer("/nats/connz?state=closed").body, HasSubstr("\"reason\": \"Client Closed\""));
}

class jetstream_monitoring : public testing::Test {
 protected:
  static options with_jetstream() {
    options out;
    out.jetstream.enabled = true;
    out.jetstream.max_memory = 1 << 20;
    return out;
  }
  jetstream_monitoring() {
    client.connect();
    request("STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"],"storage":"memory"})");
    request("CONSUMER.DURABLE.CREATE.S.C",
            R"({"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}})");
    client.send("PUB s.1 3\r\nabc\r\n");
  }
  void request(std::string_view subject, std::string_view body) {
    client.send("PUB $JS.API." + std::string(subject) + " _INBOX.1 " + std::to_string(body.size()) + "\r\n" +
                std::string(body) + "\r\n");
    world.run();
  }
  // Without the blanks of indentation.
  std::string answer(std::string_view target) {
    std::string out = under_test.answer(target).body;
    std::erase_if(out, [](char letter) { return letter == ' ' || letter == '\n'; });
    return out;
  }

  test_world world{with_jetstream()};
  monitor under_test{*world.under_test};
  test_client client{world};
};

TEST_F(jetstream_monitoring, streams_are_shown_when_asked_for_core_5) {
  EXPECT_THAT(answer("/jsz"), testing::AllOf(HasSubstr("\"streams\":1,\"consumers\":1,\"messages\":1"),
                                             Not(HasSubstr("account_details"))));
  EXPECT_THAT(answer("/jsz?accounts=1"),
              testing::AllOf(HasSubstr("\"account_details\":[{\"name\":\"$G\""), Not(HasSubstr("stream_detail"))));
  EXPECT_THAT(answer("/jsz?streams=1"),
              testing::AllOf(HasSubstr("\"stream_detail\":[{\"name\":\"S\",\"created\":\"2027-"),
                             HasSubstr("\"cluster\":{\"leader\":\"test\"},\"state\":{\"messages\":1"),
                             Not(HasSubstr("\"subjects\"")), Not(HasSubstr("consumer_detail"))));
  EXPECT_THAT(answer("/jsz?streams=1&config=1"), HasSubstr("\"config\":{\"name\":\"S\",\"subjects\":[\"s.>\"]"));
  EXPECT_THAT(answer("/jsz?acc=X&streams=1"), Not(HasSubstr("account_details")));
  EXPECT_THAT(answer("/jsz?raft=1"), HasSubstr("\"streams_leader\":1,\"consumers_leader\":1"));
}

TEST_F(jetstream_monitoring, consumers_are_shown_with_their_configuration_only_when_asked_for_core_5) {
  EXPECT_THAT(answer("/jsz?consumers=1"),
              testing::AllOf(HasSubstr("\"consumer_detail\":[{\"stream_name\":\"S\",\"name\":\"C\""),
                             HasSubstr("\"num_pending\":1"), Not(HasSubstr("ack_policy")),
                             Not(HasSubstr("direct_consumer_detail"))));
  EXPECT_THAT(answer("/jsz?consumers=1&config=1"), HasSubstr("\"ack_policy\":\"explicit\""));
  EXPECT_THAT(answer("/jsz?consumers=1&direct-consumers=1"), HasSubstr("\"direct_consumer_detail\":[]"));
}

TEST_F(jetstream_monitoring, health_looks_up_what_is_named_core_5) {
  EXPECT_EQ(under_test.answer("/healthz?account=$G&stream=S&consumer=C").status, 200);
  const http_answer missing = under_test.answer("/healthz?account=$G&stream=S&consumer=X");
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, HasSubstr("consumer \\\"X\\\" not found for stream \\\"S\\\""));
  EXPECT_EQ(under_test.answer("/healthz?account=$G&stream=X").status, 404);
}

TEST_F(jetstream_monitoring, metrics_have_the_names_and_labels_of_the_exporter) {
  request("CONSUMER.DURABLE.CREATE.S.D",
          R"({"stream_name":"S","config":{"durable_name":"D","ack_policy":"explicit","description":"a \"b\""}})");
  const http_answer all = under_test.answer("/metrics");
  EXPECT_EQ(all.content_type, "text/plain; version=0.0.4; charset=utf-8");
  const std::string id = world.under_test->id();
  EXPECT_THAT(all.body,
              HasSubstr("# TYPE gnatsd_varz_in_msgs gauge\ngnatsd_varz_in_msgs{server_id=\"" + id + "\"} 4\n"));
  EXPECT_THAT(all.body, HasSubstr("gnatsd_varz_jetstream_config_max_memory{server_id=\"" + id + "\"} 1048576\n"));
  EXPECT_THAT(all.body, HasSubstr("gnatsd_connz_num_connections{server_id=\"" + id + "\"} 1\n"));
  EXPECT_THAT(all.body, HasSubstr("gnatsd_accstatz_current_connections{server_id=\"" + id +
                                  "\",account=\"$G\",account_id=\"$G\",account_name=\"$G\"} 1\n"));
  EXPECT_THAT(all.body, HasSubstr("gnatsd_healthz_status{server_id=\"" + id + "\"} 0\n"));
  EXPECT_THAT(all.body, HasSubstr("account=\"$G\",account_id=\"$G\",stream_name=\"S\",stream_leader=\"test\","
                                  "is_stream_leader=\"true\"} 1\n"));
  EXPECT_THAT(all.body, HasSubstr("is_stream_leader=\"true\",consumer_name=\"D\",consumer_leader=\"test\","
                                  "is_consumer_leader=\"true\",consumer_desc=\"a \\\"b\\\"\"} 1\n"));
  EXPECT_THAT(under_test.answer("/metrics?jsz=streams").body, Not(HasSubstr("consumer_name")));
  EXPECT_THAT(under_test.answer("/metrics?jsz=server").body, Not(HasSubstr("stream_name")));
}

TEST(monitor, connections_have_no_user_to_be_asked_for_core_5) {
  test_world world;
  monitor under_test(*world.under_test);
  test_client client(world);
  client.connect();
  EXPECT_THAT(under_test.answer("/connz?user=x").body, HasSubstr("\"connections\": []"));
  EXPECT_THAT(under_test.answer("/connz?auth=1").body, HasSubstr("\"name_tag\": \"$G\""));
}

}  // namespace
}  // namespace tern::server
