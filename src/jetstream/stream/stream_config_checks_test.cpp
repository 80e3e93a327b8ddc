#include "jetstream/stream/stream_config_checks.hpp"

#include <tern/codec/json.hpp>

#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;

stream_config named(std::string name) {
  stream_config config;
  config.name = std::move(name);
  return config;
}

std::string refusal(stream_config config, bool pedantic = false, options settings = {}) {
  const auto made = normalise_stream_config(std::move(config), pedantic, settings);
  return made ? "accepted" : made.error().description;
}

TEST(stream_config_checks, a_normalised_configuration_stays_as_it_is) {  // jetstream 3: idempotent create
  const auto once = normalise_stream_config(named("S"), false, {});
  ASSERT_TRUE(once);
  EXPECT_EQ(once->subjects, std::vector<std::string>{"S"});
  EXPECT_EQ(once->duplicate_window, 2min);
  EXPECT_EQ(once->num_replicas, 1);
  EXPECT_EQ(*normalise_stream_config(*once, false, {}), *once);
}

TEST(stream_config_checks, a_configuration_survives_its_json) {
  auto config = *normalise_stream_config(named("S"), false, {});
  config.description = "d";
  config.subject_transform = transform_config{.src = "a.>", .dest = "b.>"};
  config.consumer_limits.max_ack_pending = 5;
  config.metadata["k"] = "v";
  EXPECT_EQ(*codec::read_json<stream_config>(codec::to_json(config)), config);
}

TEST(stream_config_checks, names_have_a_length_and_no_odd_characters) {  // jetstream 3
  const std::string text = "stream name is required and can not contain '.', '*', '>', '\\', '/'";
  for (const std::string_view name : {"", "a b", "a.b", "a*", "a>", "a/b", "a\\b", "a\tb"})
    EXPECT_EQ(refusal(named(std::string(name))), text) << name;
  EXPECT_EQ(refusal(named(std::string(255, 'x'))), "accepted");
  EXPECT_EQ(refusal(named(std::string(256, 'x'))), "stream name is too long, maximum allowed is 255");
  EXPECT_EQ(refusal(named("str\xc3\xb6m")), "accepted");
}

TEST(stream_config_checks, texts_are_bounded) {  // jetstream 23
  auto config = named("S");
  config.description = std::string(4097, 'x');
  EXPECT_EQ(refusal(config), "stream description is too long, maximum allowed is 4096");
  config.description.clear();
  config.metadata["k"] = std::string(128 * 1024, 'x');
  EXPECT_EQ(refusal(config), "stream metadata exceeds maximum size of 131072 bytes");
}

TEST(stream_config_checks, the_duplicate_window_follows_age_and_server_limit) {  // jetstream 3, 1.11
  auto config = named("S");
  config.max_age = 10s;
  EXPECT_EQ(normalise_stream_config(config, false, {})->duplicate_window, 10s);
  EXPECT_EQ(refusal(config, true), "pedantic mode: duplicate window cannot be bigger than max age");
  options limited;
  limited.server_limits.duplicate_window = 5s;
  EXPECT_EQ(normalise_stream_config(named("S"), false, limited)->duplicate_window, 5s);
  EXPECT_EQ(refusal(named("S"), true, limited),
            "pedantic mode: duplicate window limits are higher than current limits");
  config.duplicate_window = 6s;
  EXPECT_EQ(refusal(config, false, limited), "duplicates window can not be larger then server limit of 5s");
}

TEST(stream_config_checks, features_raise_the_required_api_level) {  // jetstream 1.7
  auto config = named("S");
  EXPECT_EQ(required_api_level(config), 0);
  config.allow_msg_ttl = true;
  EXPECT_EQ(required_api_level(config), 1);
  config.persist_mode = persist_mode::async;
  EXPECT_EQ(required_api_level(config), 2);
  config.allow_batched = true;
  EXPECT_EQ(required_api_level(config), 4);
}

TEST(stream_config_checks, server_keys_of_a_client_are_replaced_and_others_kept) {  // jetstream 1.7
  auto config = named("S");
  config.metadata = {{"_nats.ver", "9"}, {"_nats.level", "9"}, {"_nats.req.level", "9"}, {"_nats.own", "x"}};
  const auto made = *normalise_stream_config(config, false, {});
  EXPECT_EQ(made.metadata, (std::map<std::string, std::string>{{"_nats.own", "x"}, {"_nats.req.level", "0"}}));
  EXPECT_EQ(with_server_metadata(made, {}).metadata.at("_nats.level"), "5");
}

TEST(stream_config_checks, updates_keep_what_can_not_change) {  // jetstream 4
  const auto before = *normalise_stream_config(named("S"), false, {});
  const auto text = [&before](auto change) {
    auto after = before;
    change(after);
    const auto found = check_stream_update(before, after);
    return found ? found->description : "accepted";
  };
  EXPECT_EQ(text([](auto& c) { c.storage = storage_type::memory; }),
            "stream configuration update can not change storage type");
  EXPECT_EQ(text([](auto& c) { c.retention = retention_policy::workqueue; }),
            "stream configuration update can not change retention policy to/from workqueue");
  EXPECT_EQ(text([](auto& c) { c.retention = retention_policy::interest; }), "accepted");
  EXPECT_EQ(text([](auto& c) { c.persist_mode = persist_mode::async; }),
            "stream configuration update can not change persist mode");
  EXPECT_EQ(text([](auto& c) { c.mirror.emplace().name = "O"; }), "stream mirror configuration can not be updated");
}

TEST(stream_config_checks, a_seal_forces_what_keeps_the_messages) {  // jetstream 4
  auto before = *normalise_stream_config(named("S"), false, {});
  before.max_age = 1min;
  auto after = before;
  after.sealed = true;
  EXPECT_FALSE(check_stream_update(before, after));
  EXPECT_EQ(after.max_age.count(), 0);
  EXPECT_EQ(after.discard, discard_policy::new_messages);
  EXPECT_TRUE(after.deny_delete && after.deny_purge);
  auto opened = after;
  opened.sealed = false;
  EXPECT_EQ(check_stream_update(after, opened)->description,
            "stream configuration update can not unseal a sealed stream");
}

TEST(stream_config_checks, a_republish_destination_makes_no_cycle) {  // jetstream 3
  auto config = named("S");
  config.subjects = {"s.>"};
  config.republish = republish_config{.src = ">", .dest = "s.copy.>"};
  EXPECT_EQ(refusal(config), "stream configuration for republish destination forms a cycle");
  config.republish = republish_config{.src = "s.*", .dest = "r.{{wildcard(2)}}"};
  EXPECT_EQ(refusal(config),
            "stream configuration for republish with transform from 's.*' to 'r.{{wildcard(2)}}' not valid");
  config.republish = republish_config{.src = "", .dest = "r.>"};
  EXPECT_EQ(normalise_stream_config(config, false, {})->republish->src, ">");
  EXPECT_EQ(refusal(config, true), "pedantic mode: republish source can not be empty");
}

}  // namespace
}  // namespace tern::jetstream
