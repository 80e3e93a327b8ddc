// Services of the client against both servers: what `nats service` and other clients ask (ADR-32).
#include "server_fixture.hpp"

#include <tern/client/micro.hpp>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class micro_on : public with_server {
 protected:
  micro_service service(std::string_view name) {
    auto started = micro_service::start(nats, micro_service_options(name, "1.2.0").description("of a test"));
    EXPECT_TRUE(started.has_value()) << started.error().message();
    return *std::move(started);
  }
  std::string ask(std::string_view subject) { return std::string(must(nats.request(subject, "").get()).payload()); }
};

TEST_P(micro_on, endpoints_answer_and_are_counted) {
  auto orders = service("orders");
  must(orders.add_endpoint("place", [](micro_request&& asked) {
    if (asked.payload().empty()) {
      EXPECT_TRUE(asked.fail("400", "an order is missing").has_value());
    } else {
      EXPECT_TRUE(asked.respond("placed " + std::string(asked.payload())).has_value());
    }
  }));
  auto admin = orders.group("admin").group("v1", "ops");
  must(admin.add_endpoint("reload", [](micro_request&& asked) { EXPECT_TRUE(asked.respond("done").has_value()); }));
  EXPECT_EQ(must(nats.request("place", "o-1").get()).payload(), "placed o-1");
  const auto refused = must(nats.request("place", "").get());
  EXPECT_EQ(refused.header("Nats-Service-Error-Code"), "400");
  EXPECT_EQ(refused.header("Nats-Service-Error"), "an order is missing");
  EXPECT_EQ(ask("admin.v1.reload"), "done");
  must(nats.flush().get());
  const auto stats = orders.statistics();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].num_requests, 2u);
  EXPECT_EQ(stats[0].num_errors, 1u);
  EXPECT_EQ(stats[0].last_error, "400:an order is missing");
  EXPECT_EQ(stats[1].queue_group, "ops");
  orders.reset_statistics();
  EXPECT_EQ(orders.statistics()[0].num_requests, 0u);
  EXPECT_EQ(orders.add_endpoint("a b", [](micro_request&&) {}).error().code(), errc::invalid_argument);
}

TEST_P(micro_on, a_service_is_found_by_verb_name_and_id) {
  auto one = service("orders");
  auto two = service("orders");
  must(one.add_endpoint("place", [](micro_request&&) {}, micro_endpoint_options().metadata({{"schema", "s"}})));
  const auto ping = ask("$SRV.PING.orders." + one.id());
  EXPECT_EQ(ping, R"({"name":"orders","id":")" + one.id() +
                      R"(","version":"1.2.0","metadata":{},"type":"io.nats.micro.v1.ping_response"})");
  EXPECT_EQ(
      ask("$SRV.INFO.orders." + one.id()),
      R"({"name":"orders","id":")" + one.id() +
          R"(","version":"1.2.0","metadata":{},"type":"io.nats.micro.v1.info_response","description":"of a test",)"
          R"("endpoints":[{"name":"place","subject":"place","queue_group":"q","metadata":{"schema":"s"}}]})");
  EXPECT_NE(ask("$SRV.STATS.orders").find(R"("type":"io.nats.micro.v1.stats_response","started":"20)"),
            std::string::npos);
  EXPECT_EQ(must(nats.request_many("$SRV.PING", "", 10, 300ms).get()).size(), 2u);
  must(one.stop().get());
  EXPECT_EQ(nats.request("$SRV.PING.orders." + one.id(), "").get().error().code(), errc::no_responders);
  EXPECT_EQ(one.add_endpoint("late", [](micro_request&&) {}).error().code(), errc::closed);
  EXPECT_EQ(must(nats.request_many("$SRV.PING", "", 10, 300ms).get()).size(), 1u);
}

TEST_P(micro_on, names_and_versions_are_checked) {
  for (const auto* bad : {"", "1", "1.2", "1.2.x", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3 "}) {
    EXPECT_EQ(micro_service::start(nats, micro_service_options("orders", bad)).error().code(), errc::invalid_options)
        << bad;
  }
  EXPECT_TRUE(micro_service::start(nats, micro_service_options("orders", "1.2.3-rc.1+b5")).has_value());
  EXPECT_EQ(micro_service::start(nats, micro_service_options("or ders", "1.2.3")).error().code(),
            errc::invalid_options);
}

TEST_P(micro_on, no_handler_runs_once_the_service_is_destroyed) {
  std::atomic<int> handled = 0;
  {
    auto orders = service("orders");
    must(orders.add_endpoint("place", [&](micro_request&&) { ++handled; }));
    for (int i = 0; i < 1000; ++i) must(nats.publish("place", "x"));
    must(nats.flush().get());
  }
  const int at_the_end = handled;
  for (int i = 0; i < 1000; ++i) must(nats.publish("place", "x"));
  must(nats.flush().get());
  EXPECT_EQ(handled, at_the_end);
}

INSTANTIATE_TEST_SUITE_P(servers, micro_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
