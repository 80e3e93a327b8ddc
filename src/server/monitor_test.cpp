#include "server/monitor.hpp"

#include "server/json_builder.hpp"
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

}  // namespace
}  // namespace tern::server
