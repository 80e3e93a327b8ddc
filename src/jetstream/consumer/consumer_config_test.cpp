#include "jetstream/consumer/consumer_config.hpp"

#include "jetstream/consumer/consumer_checks.hpp"

#include <gtest/gtest.h>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;

struct checked {
  consumer_config config;
  config_problem problem;
};

class consumer_config_test : public ::testing::Test {
 protected:
  // As a create does it: read, fill in, check.
  checked check(std::string_view json, bool pedantic = false) {
    auto config = codec::read_json<consumer_config>(json, codec::peer_strict);
    EXPECT_TRUE(config) << (config ? "" : config.error().message());
    checked out{*config, {}};
    const consumer_surroundings around{stream, server, account};
    out.problem = apply_consumer_defaults(out.config, around, pedantic);
    if (!out.problem) out.problem = check_consumer(out.config, around);
    return out;
  }
  int error_of(std::string_view json, bool pedantic = false) {
    const auto out = check(json, pedantic);
    return out.problem ? out.problem->err_code : 0;
  }

  stream_config stream{.name = "S", .subjects = {"s.>"}, .num_replicas = 1};
  limits server;
  account_limits account;
};

TEST_F(consumer_config_test, fills_in_the_defaults_of_a_pull_consumer) {  // jetstream 11
  const auto out = check(R"({"durable_name":"c","ack_policy":"explicit"})");
  ASSERT_FALSE(out.problem);
  EXPECT_EQ(out.config.ack_wait, std::chrono::seconds(30));
  EXPECT_EQ(out.config.max_deliver, -1);
  EXPECT_EQ(out.config.max_waiting, 512);
  EXPECT_EQ(out.config.max_ack_pending, 1000);
  EXPECT_EQ(out.config.inactive_threshold, nanoseconds(0));
  EXPECT_EQ(
      codec::to_json(out.config),
      R"({"durable_name":"c","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,)"
      R"("replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0})");
}

// The peer's order, found by pairing every fault with every other.
TEST_F(consumer_config_test, of_several_faults_the_peers_first_is_told) {  // jetstream 11
  stream.retention = retention_policy::workqueue;
  stream.consumer_limits.max_ack_pending = 20;
  EXPECT_EQ(error_of(R"({"num_replicas":3,"name":"a.b"})"), 10074);
  EXPECT_EQ(error_of(R"({"num_replicas":-1,"name":"a.b"})"), 10052);
  EXPECT_EQ(error_of(R"({"ack_policy":"flow_control","max_expires":1})"), 10218);
  EXPECT_EQ(error_of(R"({"ack_policy":"flow_control","backoff":[1,2,3],"max_deliver":2})"), 10218);
  EXPECT_EQ(error_of(R"({"ack_policy":"none","rate_limit_bps":1024})"), 10084);
  EXPECT_EQ(error_of(R"({"ack_policy":"none","opt_start_time":"2030-01-01T00:00:00Z"})"), 10084);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","direct":true,"idle_heartbeat":1000000000})"), 10088);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","deliver_subject":"s.a","direct":true,"durable_name":"c"})"), 10081);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","direct":true,"max_ack_pending":50})"), 10121);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","filter_subject":"s..a","opt_start_seq":5})"), 10052);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","deliver_subject":"d","flow_control":true,"sample_freq":"x"})"),
            10095);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","deliver_subject":"d","priority_groups":["g"]})"), 10196);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","deliver_subject":"d","priority_policy":"overflow"})"), 10178);
}

TEST_F(consumer_config_test, a_pedantic_request_must_give_the_first_backoff_as_ack_wait) {  // jetstream 1.11
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","backoff":[1000000000]})", true), 10157);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","backoff":[1000000000],"ack_wait":1000000000})", true), 0);
}

TEST_F(consumer_config_test, flow_control_acks_need_a_heartbeat_of_one_second) {  // jetstream 11
  const auto out = check(
      R"({"ack_policy":"flow_control","deliver_subject":"d","flow_control":true,"idle_heartbeat":2000000000})", true);
  ASSERT_TRUE(out.problem);
  EXPECT_EQ(out.problem->err_code, 10052);
  EXPECT_EQ(out.problem->description, "flow control ack policy heartbeat needs to be 1s");
}

TEST_F(consumer_config_test, an_update_defaults_the_threshold_by_what_the_consumer_was) {  // jetstream 12.3
  const auto threshold = [&](const char* present, const char* wanted) {
    const auto before = codec::read_json<consumer_config>(present, codec::peer_strict);
    auto config = codec::read_json<consumer_config>(wanted, codec::peer_strict);
    const consumer_surroundings around{stream, server, account, &*before};
    EXPECT_FALSE(apply_consumer_defaults(*config, around, false));
    return config->inactive_threshold;
  };
  EXPECT_EQ(threshold(R"({"durable_name":"c"})", R"({"name":"c"})"), nanoseconds(0));
  EXPECT_EQ(threshold(R"({"name":"c"})", R"({"durable_name":"c"})"), std::chrono::seconds(5));
  EXPECT_EQ(threshold(R"({"name":"c"})", R"({"name":"c"})"), std::chrono::seconds(5));
}

TEST_F(consumer_config_test, a_sampling_rate_that_cannot_be_read_is_shown_without_its_percent_sign) {  // jetstream 11
  const auto out = check(R"({"ack_policy":"explicit","sample_freq":"100%%"})");
  ASSERT_TRUE(out.problem);
  EXPECT_TRUE(out.problem->description.ends_with(R"(parsing "100%": invalid syntax)")) << out.problem->description;
}

TEST_F(consumer_config_test, acks_are_none_when_nothing_is_said) {  // jetstream 24.3
  const auto out = check("{}");
  EXPECT_EQ(out.config.ack_policy, ack_mode::none);
  EXPECT_EQ(out.config.ack_wait, nanoseconds(0));
  EXPECT_EQ(out.config.max_ack_pending, 0);
  EXPECT_EQ(out.config.inactive_threshold, std::chrono::seconds(5));
}

TEST_F(consumer_config_test, the_first_backoff_is_the_ack_wait) {  // jetstream 11
  EXPECT_EQ(check(R"({"ack_policy":"explicit","ack_wait":5000000000,"backoff":[1000000000]})").config.ack_wait,
            std::chrono::seconds(1));
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","backoff":[-1]})"), 10184);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","ack_wait":-1})"), 10183);
  EXPECT_EQ(error_of(R"({"max_deliver":1,"backoff":[1,2]})"), 10116);
}

TEST_F(consumer_config_test, a_time_is_echoed_in_its_zone_and_compared_as_an_instant) {  // jetstream 11, 12.3
  const auto one = parse_zoned_time("2026-01-01T14:00:00.120+02:00");
  const auto other = parse_zoned_time("2026-01-01T12:00:00.12Z");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->text, "2026-01-01T14:00:00.12+02:00");
  EXPECT_EQ(*one, *other);
  EXPECT_EQ(parse_zoned_time("2026-01-01T12:00:00.000Z")->text, "2026-01-01T12:00:00Z");
  EXPECT_FALSE(parse_zoned_time("yesterday"));
}

TEST_F(consumer_config_test, refuses_start_values_of_other_policies) {  // jetstream 11, 10094
  for (const auto* json :
       {R"({"opt_start_seq":1})", R"({"opt_start_time":"2026-01-01T00:00:00Z"})",
        R"({"deliver_policy":"by_start_sequence"})", R"({"deliver_policy":"by_start_time"})",
        R"({"deliver_policy":"last_per_subject"})",
        R"({"deliver_policy":"by_start_time","opt_start_time":"2026-01-01T00:00:00Z","opt_start_seq":1})"}) {
    EXPECT_EQ(error_of(json), 10094) << json;
  }
}

TEST_F(consumer_config_test, filters_are_subjects_and_none_holds_another) {  // jetstream 11
  EXPECT_EQ(error_of(R"({"filter_subject":"s.a","filter_subjects":["s.b"]})"), 10136);
  EXPECT_EQ(error_of(R"({"filter_subjects":["s.a",""]})"), 10139);
  EXPECT_EQ(error_of(R"({"filter_subjects":["s.a","s.*"]})"), 10138);
  EXPECT_EQ(error_of(R"({"filter_subjects":["a.*.b","a.b.*"]})"), 0);
  EXPECT_EQ(error_of(R"({"filter_subject":"s..a"})"), 10052);
}

TEST_F(consumer_config_test, a_workqueue_wants_explicit_acks_from_the_beginning) {  // jetstream 6.4
  stream.retention = retention_policy::workqueue;
  EXPECT_EQ(error_of(R"({"ack_policy":"none"})"), 10084);
  const auto later = [](ack_mode acks, delivery_start start) {
    consumer_config wanted;
    wanted.ack_policy = acks;
    wanted.deliver_policy = start;
    const auto bad = check_consumer_of_work_queue(wanted);
    return bad ? bad->err_code : 0;
  };
  EXPECT_EQ(later(ack_mode::all, delivery_start::all), 10098);
  EXPECT_EQ(later(ack_mode::explicit_each, delivery_start::new_only), 10101);
  EXPECT_EQ(later(ack_mode::explicit_each, delivery_start::all), 0);
}

TEST_F(consumer_config_test, caps_of_server_account_and_stream_hold) {  // jetstream 11
  account.max_ack_pending = 30;
  EXPECT_EQ(check(R"({"ack_policy":"explicit"})").config.max_ack_pending, 30);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","max_ack_pending":31})"), 10121);
  EXPECT_EQ(error_of(R"({"ack_policy":"explicit","max_ack_pending":-1})"), 0);
  server.max_request_batch = 25;
  EXPECT_EQ(check("{}").config.max_batch, 25);
  EXPECT_EQ(error_of(R"({"max_batch":26})"), 10125);
  stream.consumer_limits.inactive_threshold = std::chrono::minutes(1);
  EXPECT_EQ(error_of(R"({"inactive_threshold":61000000000})"), 10153);
}

TEST_F(consumer_config_test, pedantic_mends_nothing) {  // jetstream 1.11
  for (const auto* json : {R"({"max_deliver":-5})", R"({"max_waiting":-1})", R"({"max_expires":-1})",
                           R"({"ack_policy":"explicit","ack_wait":2,"backoff":[1]})"}) {
    EXPECT_EQ(error_of(json, true), 10157) << json;
  }
}

TEST_F(consumer_config_test, an_update_names_what_cannot_change) {  // jetstream 12.3
  const consumer_config present = check(R"({"durable_name":"c","ack_policy":"explicit"})").config;
  consumer_config wanted = present;
  wanted.description = "new";
  wanted.max_deliver = 4;
  EXPECT_FALSE(check_consumer_update(present, wanted));
  wanted.replay_policy = replay_mode::original;
  ASSERT_TRUE(check_consumer_update(present, wanted));
  EXPECT_EQ(check_consumer_update(present, wanted)->description, "replay policy can not be updated");
}

TEST_F(consumer_config_test, the_required_level_follows_the_features) {  // jetstream 1.7
  const auto level = [](consumer_config config) {
    config.metadata["_nats.ver"] = "client's";
    stamp_consumer_metadata(config);
    EXPECT_FALSE(config.metadata.contains("_nats.ver"));
    return config.metadata["_nats.req.level"];
  };
  EXPECT_EQ(level({}), "0");
  EXPECT_EQ(level({.priority_policy = priority_mode::overflow}), "1");
  EXPECT_EQ(level({.ack_policy = ack_mode::flow_control}), "4");
}

}  // namespace
}  // namespace tern::jetstream
