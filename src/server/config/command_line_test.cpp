#include "server/config/command_line.hpp"

#include <gtest/gtest.h>

namespace tern::server {
namespace {

result<command_line> parse(std::vector<std::string> arguments) { return parse_command_line(arguments); }

options applied(std::vector<std::string> arguments) {
  options out;
  const auto read = parse(std::move(arguments));
  EXPECT_TRUE(read.has_value());
  if (read) read->apply_to(out);
  return out;
}

TEST(command_line, one_or_two_dashes_and_both_forms_of_values_core_4_5) {
  const options got =
      applied({"-a", "127.0.0.1", "--port", "-1", "-sd=/data", "--name=n", "-js", "-DV", "-T=false", "-m", "8222"});
  EXPECT_EQ(got.host, "127.0.0.1");
  EXPECT_EQ(got.port, -1);
  EXPECT_EQ(got.jetstream.store_directory, "/data");
  EXPECT_EQ(got.server_name, "n");
  EXPECT_TRUE(got.jetstream.enabled);
  EXPECT_TRUE(got.debug);
  EXPECT_TRUE(got.trace);
  EXPECT_FALSE(got.log_time);
  EXPECT_EQ(got.http_port, 8222);
}

TEST(command_line, mistakes_have_the_words_of_go_core_4_5) {
  EXPECT_EQ(parse({"-x"}).error().context(), "flag provided but not defined: -x");
  EXPECT_EQ(parse({"-m"}).error().context(), "flag needs an argument: -m");
  EXPECT_EQ(parse({"-p", "foo"}).error().context(), "invalid value \"foo\" for flag -p: parse error");
  EXPECT_EQ(parse({"-D=x"}).error().context(), "invalid boolean value \"x\" for -D: parse error");
  EXPECT_EQ(parse({"start"}).error().context(), "unrecognized command: \"start\"");
  EXPECT_EQ(parse({"-routes", "nats://a"}).error().context(),
            "solicited routes require cluster capabilities, e.g. --cluster");
}

TEST(command_line, words_and_flags_that_only_show_something_core_4_5) {
  EXPECT_EQ(parse({"version"})->what, command_line::action::show_version);
  EXPECT_EQ(parse({"-v"})->what, command_line::action::show_version);
  EXPECT_EQ(parse({"help"})->what, command_line::action::show_help);
  EXPECT_EQ(parse({"-t", "-c", "f"})->what, command_line::action::test_config);
  EXPECT_EQ(parse({"--signal", "ldm=12"})->signal_command, "ldm=12");
}

TEST(command_line, flags_beat_the_file_core_4_5) {
  options what;
  what.server_name = "file";
  parse({"-server_name", "flag"})->apply_to(what);
  EXPECT_EQ(what.server_name, "flag");
}

}  // namespace
}  // namespace tern::server
