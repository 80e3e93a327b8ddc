#include "server/config/config_reader.hpp"

#include "server/config/config_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct outcome {
  options settings;
  config_findings findings;
};

outcome read(std::string_view text) {
  const config_source nothing{
      .read_file = [](const std::string& path) -> result<std::string> { return fail(errc::not_found, path); },
      .environment = [](const std::string&) { return std::nullopt; },
  };
  const auto tree = parse_config(text, "f", nothing);
  EXPECT_TRUE(tree.has_value()) << text;
  outcome out;
  if (tree) out.findings = apply_config(*tree, out.settings);
  return out;
}

TEST(config_reader, zero_asks_for_the_default_core_4_2) {
  const outcome got = read(
      "max_control_line: 0, max_payload: 0, max_pending: 0, ping_interval: 0, ping_max: 0, write_deadline: 0\n"
      "max_closed_clients: 0, max_connections: 0");
  const options fresh;
  EXPECT_EQ(got.settings.max_control_line, fresh.max_control_line);
  EXPECT_EQ(got.settings.max_payload, fresh.max_payload);
  EXPECT_EQ(got.settings.max_pending, fresh.max_pending);
  EXPECT_EQ(got.settings.ping_interval, fresh.ping_interval);
  EXPECT_EQ(got.settings.ping_max, fresh.ping_max);
  EXPECT_EQ(got.settings.write_deadline, fresh.write_deadline);
  EXPECT_EQ(got.settings.max_closed_clients, fresh.max_closed_clients);
  EXPECT_EQ(got.settings.max_connections, 0) << "admits nobody";
}

TEST(config_reader, sizes_of_jetstream_may_be_text_core_4_2) {
  const outcome got =
      read("jetstream { max_mem: \"64M\", max_file: '2G', max_buffered_size: \"8K\", max_buffered_msgs: 7 }");
  EXPECT_THAT(got.findings.errors, IsEmpty());
  EXPECT_EQ(got.settings.jetstream.max_memory, 64 << 20);
  EXPECT_EQ(got.settings.jetstream.max_storage, std::int64_t{2} << 30);
  EXPECT_EQ(got.settings.jetstream.max_buffered_bytes, 8 << 10);
  EXPECT_EQ(got.settings.jetstream.max_buffered_messages, 7);
  for (const char* text : {"64MB", "64", "K", "9999999999T", "1.5G"})
    EXPECT_EQ(read("jetstream { max_mem: \"" + std::string(text) + "\" }").findings.errors.size(), 1u) << text;
}

TEST(config_reader, names_what_has_no_effect_and_checks_it_all_the_same) {
  const outcome got = read("prof_block_rate: 1\nfeature_flags { x: true }\njetstream { unique_tag: az }");
  EXPECT_THAT(got.findings.errors, IsEmpty());
  EXPECT_THAT(got.findings.without_effect,
              ElementsAre("f:1:0: option \"prof_block_rate\" has no effect: it is about Go's runtime",
                          "f:2:17: feature flag \"x\" changes nothing in this version of ternd",
                          "f:3:13: option \"unique_tag\" has no effect: it places replicas in a cluster"));
  for (const char* text :
       {"feature_flags: 5", "prof_block_rate: x", "max_payload: 3000000000", "max_control_line: 3000000000",
        "jetstream { unique_tag: 5 }", "jetstream { limits { max_ha_assets: x } }", "jetstream { compress_ok: true }"})
    EXPECT_EQ(read(text).findings.errors.size(), 1u) << text;
}

TEST(config_reader, sets_what_is_written_and_leaves_the_rest_core_4_2) {
  const outcome got = read(R"(
LISTEN: "127.0.0.1:-1"
server_name: n1, max_payload: 2kb, max_connections: 7, ping_interval: "1m30s", write_deadline: 3
write_timeout: retry, no_sublist_cache: true, http: "localhost:8222"
server_tags: ["az:1", "Big", "az:1"], server_metadata { a: b }
jetstream { store_dir: "/d", max_mem: 64MB, max_file: 1GB, domain: hub, sync_interval: 30s, limits { duplicate_window: "1m" } }
)");
  EXPECT_THAT(got.findings.errors, IsEmpty());
  EXPECT_EQ(got.settings.host, "127.0.0.1");
  EXPECT_EQ(got.settings.port, ephemeral_port);
  EXPECT_EQ(got.settings.max_payload, 2048);
  EXPECT_EQ(got.settings.max_connections, 7);
  EXPECT_EQ(got.settings.max_control_line, 4096);
  EXPECT_EQ(got.settings.ping_interval, 90s);
  EXPECT_EQ(got.settings.write_deadline, 3s);
  EXPECT_EQ(got.settings.write_timeout, write_timeout_policy::retry);
  EXPECT_TRUE(got.settings.disable_interest_cache);
  EXPECT_EQ(got.settings.http_port, 8222);
  EXPECT_THAT(got.settings.tags, ElementsAre("az:1", "big"));
  EXPECT_TRUE(got.settings.jetstream.enabled);
  EXPECT_EQ(got.settings.jetstream.max_memory, 64 << 20);
  EXPECT_EQ(got.settings.jetstream.sync_interval, 30s);
  EXPECT_EQ(got.settings.jetstream.duplicate_window, 1min);
  EXPECT_THAT(
      got.findings.warnings,
      ElementsAre("f:3:80: invalid use of field \"write_deadline\": write_deadline should be converted to a duration"));
}

TEST(config_reader, names_the_place_of_each_mistake_and_reports_all_core_4_1) {
  const outcome got = read(
      "foo: 1\nmax_payload: \"x\"\ndebug: 3\nserver_name: \"a b\"\nmax_sub_tokens: 256\nlisten: true\n"
      "ping_interval: foo\nlame_duck_duration: 29s\nserver_tags: 3\njetstream { bar: 1 }");
  EXPECT_THAT(
      got.findings.errors,
      ElementsAre("f:1:0: unknown field \"foo\"", "f:2:1: interface conversion: interface {} is string, not int64",
                  "f:3:1: interface conversion: interface {} is int64, not bool",
                  "f:4:1: server name cannot contain spaces", "f:5:1: max_sub_tokens value is too big",
                  "f:6:1: expected port or host:port, got bool",
                  "f:7:1: error parsing ping_interval: time: invalid duration \"foo\"",
                  "f:8:1: invalid lame_duck_duration of 29s, minimum is 30 seconds",
                  "f:9:1: error parsing tags: unsupported type int64", "f:10:13: unknown field \"bar\""));
}

TEST(config_reader, an_unknown_key_that_was_used_as_a_variable_is_fine_core_4_1) {
  EXPECT_THAT(read("size: 2048\nmax_payload: $size").findings.errors, IsEmpty());
}

TEST(config_reader, a_known_option_that_is_not_built_is_refused_by_name) {
  for (const char* option : {"gateway {}", "mqtt {}", "prof_port: 1", "jetstream { cipher: aes }"})
    EXPECT_THAT(read(option).findings.errors, ElementsAre(testing::HasSubstr("is not supported by ternd: "))) << option;
  EXPECT_THAT(
      read("cluster { name: c }").findings.errors,
      ElementsAre("f:1:0: option \"cluster\" is not supported by ternd: ternd is one server. For several run an "
                  "official NATS cluster: clients and services of Tern work with it unchanged"));
}

TEST(config_reader, jetstream_takes_words_and_booleans_core_4_2) {
  EXPECT_TRUE(read("jetstream: true").settings.jetstream.enabled);
  EXPECT_TRUE(read("jetstream: enabled").settings.jetstream.enabled);
  EXPECT_FALSE(read("jetstream: disabled").settings.jetstream.enabled);
  EXPECT_FALSE(read("jetstream { enabled: false }").settings.jetstream.enabled);
  EXPECT_EQ(read("jetstream: maybe").findings.errors.size(), 1u);
}

TEST(config_reader, addresses_core_4_1) {
  EXPECT_EQ(*parse_host_port("127.0.0.1:4222"), std::pair(std::string("127.0.0.1"), 4222));
  EXPECT_EQ(*parse_host_port("[::1]:4222"), std::pair(std::string("::1"), 4222));
  EXPECT_EQ(*parse_host_port(":-1"), std::pair(std::string(), -1));
  EXPECT_EQ(parse_host_port("127.0.0.1:x").error().context(), "could not parse port \"x\"");
  EXPECT_FALSE(parse_host_port("localhost").has_value());
}

}  // namespace
}  // namespace tern::server
