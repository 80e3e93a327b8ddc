#include "command_line.hpp"

#include "consumers.hpp"
#include "streams.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tern::command {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

invocation parsed(std::vector<std::string> arguments) { return parse_command_line(arguments, global_options()); }

TEST(command_lines, take_the_options_of_all_commands_before_and_behind_the_command) {
  for (const auto& arguments :
       {std::vector<std::string>{"-s", "nats://h:1", "--json", "--timeout", "2s", "stream", "ls"},
        std::vector<std::string>{"stream", "ls", "-s", "nats://h:1", "-j", "--timeout", "2s"}}) {
    const auto found = parsed(arguments);
    ASSERT_TRUE(found.action) << found.said;
    EXPECT_EQ(found.globals.server, "nats://h:1");
    EXPECT_TRUE(found.globals.json);
    EXPECT_EQ(found.globals.timeout, 2s);
  }
}

TEST(command_lines, keep_what_the_environment_said_when_they_do_not_say_otherwise) {
  global_options defaults;
  defaults.server = "nats://elsewhere:4222";
  EXPECT_EQ(parse_command_line({"stream", "ls"}, defaults).globals.server, "nats://elsewhere:4222");
}

TEST(command_lines, that_are_wrong_end_with_code_two_and_say_why) {
  for (const auto& [arguments, why] : {std::pair<std::vector<std::string>, std::string>{{}, "behind `tern`"},
                                       {{"dance"}, "dance"},
                                       {{"pub"}, "subject is required"},
                                       {{"pub", "a", "b", "--bad"}, "--bad"},
                                       {{"pub", "a", "b", "--count", "0"}, "--count"},
                                       {{"sub", "a", "--timeout", "soon"}, "'soon' is no duration"},
                                       {{"stream"}, "behind `tern stream`"},
                                       {{"bench", "js"}, "behind `tern bench js`"},
                                       {{"stream", "dance"}, "dance"},
                                       {{"bench", "pub", "x", "--clients", "100000"}, "--clients"}}) {
    const auto found = parsed(arguments);
    EXPECT_FALSE(found.action);
    EXPECT_EQ(found.exit_code, exit_usage) << found.said;
    EXPECT_THAT(found.said, HasSubstr(why));
  }
}

TEST(command_lines, that_ask_for_help_or_the_version_end_well) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"stream", "add", "--help"}, {"--version"}}) {
    const auto found = parsed(arguments);
    EXPECT_FALSE(found.action);
    EXPECT_EQ(found.exit_code, 0);
    EXPECT_FALSE(found.said.empty());
  }
}

TEST(command_lines, take_bodies_that_look_like_something_else) {
  for (const char* body : {"", "[1,2]", "{\"a\":[1]}", "a=b", "-5", "%%x%%"})
    EXPECT_TRUE(parsed({"pub", "subject", "--", body}).action) << body;
}

TEST(errors, are_worth_code_two_when_the_command_line_is_at_fault) {
  EXPECT_EQ(exit_code_of(error(errc::invalid_argument, "")), exit_usage);
  EXPECT_EQ(exit_code_of(error(errc::unsupported, "")), exit_usage);
  EXPECT_EQ(exit_code_of(error(errc::api_error, "")), exit_failed);
  EXPECT_EQ(exit_code_of(error(errc::connect_failed, "")), exit_failed);
}

TEST(streams_asked_for, become_configurations) {
  stream_add_arguments what;
  what.name = "ORDERS";
  what.subjects = {"orders.>"};
  what.retention = "work";
  what.storage = "memory";
  what.max_bytes = "1MB";
  what.max_age = "1d";
  what.max_message_size = "64k";
  what.max_messages = 10;
  const auto config = stream_config_of(what);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->retention, client::retention_policy::workqueue);
  EXPECT_EQ(config->storage, client::storage_type::memory);
  EXPECT_EQ(config->max_bytes, 1 << 20);
  EXPECT_EQ(config->max_age, nanoseconds(24h));
  EXPECT_EQ(config->max_msg_size, 64 * 1024);
  EXPECT_EQ(config->max_msgs, 10);
  EXPECT_FALSE(config->duplicate_window);
  what.name = "a.b";
  EXPECT_FALSE(stream_config_of(what));
  what.name = "ORDERS";
  what.max_age = "soon";
  EXPECT_THAT(stream_config_of(what).error().message(), HasSubstr("--max-age: 'soon' is no duration"));
}

TEST(consumers_asked_for, become_configurations) {
  consumer_add_arguments what;
  what.stream = "ORDERS";
  what.name = "work";
  what.pull = true;
  what.filters = {"orders.a"};
  what.wait = "10s";
  what.backoff = "1s,5s";
  what.max_deliver = 3;
  const auto durable = consumer_config_of(what, {});
  ASSERT_TRUE(durable) << durable.error().message();
  EXPECT_EQ(durable->durable_name, "work");
  EXPECT_EQ(durable->ack_policy, client::ack_policy::explicit_ack);
  EXPECT_EQ(durable->filter_subject, "orders.a");
  EXPECT_EQ(durable->ack_wait, nanoseconds(10s));
  EXPECT_EQ(durable->backoff, (std::vector<nanoseconds>{1s, 5s}));
  what.ephemeral = true;
  what.filters = {"orders.a", "orders.b"};
  const auto ephemeral = consumer_config_of(what, {});
  ASSERT_TRUE(ephemeral);
  EXPECT_FALSE(ephemeral->durable_name);
  EXPECT_EQ(ephemeral->name, "work");
  EXPECT_FALSE(ephemeral->filter_subject);
  EXPECT_EQ(ephemeral->filter_subjects.size(), 2u);
}

TEST(consumers_asked_for, are_pull_or_push) {
  consumer_add_arguments what;
  what.stream = "ORDERS";
  what.name = "work";
  EXPECT_FALSE(consumer_config_of(what, {}));
  what.target = "deliver.here";
  EXPECT_EQ(consumer_config_of(what, {})->ack_policy, client::ack_policy::none);
  what.pull = true;
  EXPECT_FALSE(consumer_config_of(what, {}));
}

}  // namespace
}  // namespace tern::command
