// What an account may use, and what changes when its limits do (jetstream 20).
#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string create(test_harness& server, const std::string& name, const std::string& more) {
  return server.api("STREAM.CREATE." + name, R"({"storage":"memory","name":")" + name + "\"" + more + "}");
}

TEST(account_limits, reservations_follow_updates_and_deletions) {  // jetstream 20.2
  test_harness server;
  server.jetstream().attach(server.account(), {.max_memory = 2000});
  EXPECT_THAT(create(server, "S", R"(,"max_bytes":1500)"), HasSubstr("did_create"));
  EXPECT_THAT(create(server, "T", R"(,"max_bytes":501)"), HasSubstr("\"err_code\":10028"));
  EXPECT_THAT(create(server, "T", R"(,"max_bytes":500)"), HasSubstr("did_create"));
  EXPECT_THAT(server.api("STREAM.UPDATE.S", R"({"storage":"memory","name":"S","max_bytes":1501})"),
              HasSubstr("\"err_code\":10028"));
  EXPECT_THAT(server.api("STREAM.UPDATE.S", R"({"storage":"memory","name":"S","max_bytes":1000})"),
              Not(HasSubstr("error")));
  EXPECT_THAT(server.api("INFO"), HasSubstr("\"reserved_memory\":1500"));
  server.api("STREAM.DELETE.T");
  EXPECT_THAT(server.api("INFO"), HasSubstr("\"reserved_memory\":1000"));
}

TEST(account_limits, use_counts_at_publish_until_it_is_freed) {  // jetstream 20.2
  test_harness server;
  server.jetstream().attach(server.account(), {.max_memory = 200});
  create(server, "S", R"(,"subjects":["s"])");
  EXPECT_EQ(server.request("s", std::string(120, 'x')), R"({"stream":"S","seq":1})");
  EXPECT_THAT(server.request("s", std::string(80, 'x')), HasSubstr("\"err_code\":10002"));
  server.api("STREAM.PURGE.S");
  EXPECT_EQ(server.request("s", std::string(80, 'x')), R"({"stream":"S","seq":2})");
}

TEST(account_limits, new_ones_hold_at_once_and_take_nothing_away) {  // jetstream 20.1
  test_harness server;
  server.jetstream().attach(server.account(), {.max_streams = 1});
  EXPECT_THAT(create(server, "S", ""), HasSubstr("did_create"));
  EXPECT_THAT(create(server, "T", ""), HasSubstr("\"err_code\":10027"));
  server.jetstream().attach(server.account(), {.max_memory = 1000, .max_streams = 2});
  EXPECT_THAT(create(server, "T", ""), HasSubstr("did_create"));
  EXPECT_THAT(server.api("INFO"), HasSubstr(R"("max_memory":1000,"max_storage":-1,"max_streams":2)"));
  server.jetstream().attach(server.account(), {.max_streams = 1});
  EXPECT_THAT(server.api("STREAM.INFO.T"), Not(HasSubstr("error")));
  EXPECT_THAT(create(server, "S", ""), HasSubstr("did_create"));  // the same again is no new one
  EXPECT_THAT(create(server, "U", ""), HasSubstr("\"err_code\":10027"));
}

TEST(account_limits, of_two_accounts_are_apart) {  // jetstream 1.2
  test_harness server;
  routing::account other("OTHER", 2);
  server.jetstream().attach(server.account(), {.max_streams = 1});
  server.jetstream().attach(other, {.max_streams = 1});
  create(server, "S", "");
  other.publish({.subject = "$JS.API.STREAM.CREATE.S", .payload = R"({"name":"S","storage":"memory"})"});
  server.turn();
  EXPECT_NE(server.jetstream().find_stream("OTHER", "S"), nullptr);
  server.publish("S", "x");
  server.turn();
  EXPECT_EQ(server.jetstream().find_stream("OTHER", "S")->state().messages, 0U);
  EXPECT_EQ(server.jetstream().find_stream("$G", "S")->state().messages, 1U);
  server.jetstream().detach(other);
}

TEST(account_limits, jetstream_can_be_taken_from_an_account_and_given_back) {  // jetstream 1.4
  test_harness server;
  create(server, "S", "");
  server.jetstream().attach_disabled(server.account());
  EXPECT_THAT(server.api("STREAM.INFO.S"), HasSubstr("\"err_code\":10039"));
  EXPECT_THAT(server.api("CONSUMER.CREATE.S", R"({"stream_name":"S","config":{}})"), HasSubstr("\"err_code\":10039"));
  server.jetstream().attach(server.account());
  EXPECT_THAT(server.api("STREAM.INFO.S"), Not(HasSubstr("error")));
}

}  // namespace
}  // namespace tern::jetstream
