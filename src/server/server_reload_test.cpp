#include "server/test_world.hpp"

#include <gmock/gmock.h>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

options start_options() {
  options out;
  out.server_name = "test";
  out.listen_on_network = false;
  out.in_process_name = "server";
  return out;
}

TEST(plan_reload, tells_changes_in_the_order_of_the_peer_core_4_4) {
  options after = start_options();
  after.ping_max = 5, after.ping_interval = 30s, after.max_payload = 2048, after.max_connections = 7;
  after.client_advertise = "x:1", after.debug = true, after.tags = {"a"}, after.no_fast_producer_stall = true;
  const auto plan = plan_reload(start_options(), after, 4222);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->first, testing::ElementsAre("Reload: client_advertise = x:1", "Reloaded: debug = true",
                                                "Reloaded: max_connections = 7"));
  EXPECT_THAT(plan->rest, testing::ElementsAre("Reloaded: ping_interval = 30s", "Reloaded: ping_max = 5",
                                               "Reloaded: max_payload = 2048",
                                               "Reloaded: fast producers will not be stalled", "Reloaded: tags"));
}

TEST(plan_reload, names_what_cannot_change_as_the_peer_names_it_core_4_4) {
  const auto refusal = [](auto change) {
    options after = start_options();
    change(after);
    const auto plan = plan_reload(start_options(), after, 4222);
    return plan ? std::string("taken") : plan.error().context();
  };
  EXPECT_EQ(refusal([](options& to) { to.max_pending = 1; }),
            "config reload not supported for MaxPending: old=67108864, new=1");
  EXPECT_EQ(refusal([](options& to) { to.server_name = "b"; }),
            "config reload not supported for ServerName: old=test, new=b");
  EXPECT_EQ(refusal([](options& to) { to.write_timeout = write_timeout_policy::retry; }),
            "config reload not supported for WriteTimeout: old=, new=retry");
  EXPECT_EQ(refusal([](options& to) { to.lame_duck_duration = 40s; }),
            "config reload not supported for LameDuckDuration: old=2m0s, new=40s");
  EXPECT_EQ(refusal([](options& to) { to.feature_flags["x"] = true; }),
            "config reload not supported for FeatureFlags: old=map[], new=map[x:true]");
  EXPECT_EQ(refusal([](options& to) { to.lame_duck_duration = 40s, to.max_pending = 1; }),
            "config reload not supported for MaxPending: old=67108864, new=1")
      << "the first one in the peer's order";
}

TEST(plan_reload, tells_who_may_connect_core_4_4) {
  options after = start_options();
  after.security.users.push_back({.name = "a", .password = "a"});
  after.security.accounts.push_back({.name = "A"});
  after.security.token = "t", after.security.timeout = 300ms;
  const auto plan = plan_reload(start_options(), after, 4222);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->first, testing::ElementsAre("Reloaded: authorization users", "Reloaded: accounts",
                                                "Reloaded: authorization token"));
  EXPECT_THAT(plan->rest, testing::ElementsAre("Reloaded: authorization timeout = 0.3"));
  after.security.no_auth_user = "a";
  EXPECT_EQ(plan_reload(start_options(), after, 4222).error().context(),
            "config reload not supported for NoAuthUser: old=, new=a");
}

TEST(plan_reload, limits_of_jetstream_may_grow_core_4_4) {
  const auto outcome = [](std::int64_t memory_before, std::int64_t memory, std::string directory) {
    options before = start_options(), after = start_options();
    before.jetstream.enabled = after.jetstream.enabled = true;
    before.jetstream.max_memory = memory_before, after.jetstream.max_memory = memory;
    before.jetstream.max_storage = after.jetstream.max_storage = 1 << 20;
    after.store_directory = std::move(directory);
    const auto plan = plan_reload(before, after, 4222);
    return plan ? plan->rest.empty() ? std::string() : plan->rest.front() : plan.error().context();
  };
  EXPECT_EQ(outcome(10 << 20, 20 << 20, ""), "Reloaded: JetStream max_mem_store = 20.00 MB");
  EXPECT_EQ(outcome(20 << 20, 10 << 20, ""),
            "config reload not supported for decreasing jetstream max memory and store");
  EXPECT_EQ(outcome(-1, 10 << 20, ""), "config reload not supported for jetstream dynamic max memory and store");
  EXPECT_EQ(outcome(10 << 20, -1, ""), "config reload not supported for jetstream max memory and max store");
  EXPECT_EQ(outcome(10 << 20, 10 << 20, "/d"), "config reload not supported for jetstream storage directory");
  EXPECT_EQ(outcome(10 << 20, 10 << 20, ""), "");
}

TEST(server_reload, applies_to_live_clients_core_4_4) {
  test_world world(start_options());
  test_client client(world);
  client.connect();
  options after = start_options();
  after.max_payload = 4, after.max_control_line = 20;
  ASSERT_TRUE(world.under_test->apply(after).has_value());
  EXPECT_TRUE(world.log.contains("Reloaded: max_payload = 4"));
  client.send("PUB a 4\r\n1234\r\n");
  EXPECT_FALSE(client.closed());
  client.send("PUB a 5\r\n12345\r\n");
  EXPECT_THAT(client.take(), HasSubstr("-ERR 'Maximum Payload Violation'"));
  test_client other(world);
  EXPECT_THAT(other.take(), HasSubstr("\"max_payload\":4"));
  other.send("SUB aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\r\n");
  EXPECT_THAT(other.take(), HasSubstr("-ERR 'maximum control line exceeded'"));
}

TEST(server_reload, changes_nothing_when_one_option_cannot_change_core_4_4) {
  test_world world(start_options());
  options after = start_options();
  after.max_payload = 4, after.max_pending = 1 << 20;
  const auto outcome = world.under_test->apply(after);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(world.under_test->settings().max_payload, 1 << 20);
  EXPECT_FALSE(world.log.contains("Reloaded"));
}

TEST(server_reload, without_a_file_there_is_nothing_to_reload_core_4_4) {
  test_world world(start_options());
  EXPECT_FALSE(world.under_test->reload().has_value());
  EXPECT_TRUE(
      world.log.contains("Failed to reload server configuration: can only reload config when a file is "
                         "provided using -c or --config"));
}

class picky_part final : public reload_participant {
 public:
  result<void> prepare(const options&, const options& after, std::vector<std::string>& lines) override {
    if (after.tags.size() > 1) return fail(errc::config_error, "too many tags");
    lines.emplace_back("picky part");
    return {};
  }
  void adopt(const options& before, const options& after) override {
    ++adopted;
    EXPECT_NE(before.tags, after.tags);
  }
  void forget() override { ++forgotten; }
  int adopted = 0, forgotten = 0;
};

TEST(server_reload, asks_every_part_before_it_changes_anything_core_4_4) {
  test_world world(start_options());
  picky_part part;
  world.under_test->add_reload_participant(part);
  options after = start_options();
  after.tags = {"a", "b"};
  EXPECT_EQ(world.under_test->apply(after).error().context(), "too many tags");
  EXPECT_EQ(part.adopted, 0);
  EXPECT_EQ(part.forgotten, 1);
  after.tags = {"a"};
  EXPECT_TRUE(world.under_test->apply(after).has_value());
  EXPECT_EQ(part.adopted, 1);
  EXPECT_TRUE(world.log.contains("Reloaded: picky part"));
}

TEST(server_reload, closes_connections_beyond_a_lower_limit_core_4_2) {
  test_world world(start_options());
  test_client first(world), second(world), third(world);
  for (test_client* one : {&first, &second, &third}) one->connect();
  options after = start_options();
  after.max_connections = 2;
  ASSERT_TRUE(world.under_test->apply(after).has_value());
  EXPECT_EQ(world.under_test->connections().size(), 2u);
  EXPECT_TRUE(world.log.contains("Closed 1 connections to fall within max_connections"));
}

TEST(server_reload, switches_jetstream_on_and_off_core_4_4) {
  test_world world(start_options());
  test_client client(world);
  client.connect();
  options after = start_options();
  after.jetstream.enabled = true, after.jetstream.max_memory = 1 << 20;
  ASSERT_TRUE(world.under_test->apply(after).has_value());
  client.send("SUB in 1\r\nPUB $JS.API.INFO in 0\r\n\r\n");
  EXPECT_THAT(client.take(), HasSubstr("account_info_response"));
  ASSERT_TRUE(world.under_test->apply(start_options()).has_value());
  client.send("PUB $JS.API.INFO in 0\r\n\r\n");
  EXPECT_THAT(client.take(), HasSubstr("503"));
}

}  // namespace
}  // namespace tern::server
