#include "jetstream/test_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tern::jetstream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string description_of(const std::string& answer) {
  const std::string_view key = "\"description\":\"";
  const std::size_t at = answer.find(key);
  if (at == std::string::npos) return "none in " + answer;
  return answer.substr(at + key.size(), answer.find("\"}", at) - at - key.size());
}

TEST(stream_api, create_answers_with_the_normalised_configuration) {  // jetstream 3, Appendix A
  test_harness server;
  EXPECT_EQ(server.api("STREAM.CREATE.ORD", R"({"name":"ORD","subjects":["ord.>"],"storage":"memory"})"),
            R"({"type":"io.nats.jetstream.api.v1.stream_create_response","config":{"name":"ORD","subjects":["ord.>"],)"
            R"("retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,)"
            R"("max_msgs_per_subject":-1,"max_msg_size":-1,"discard":"old","storage":"memory","num_replicas":1,)"
            R"("duplicate_window":120000000000,"compression":"none","allow_direct":false,"mirror_direct":false,)"
            R"("sealed":false,"deny_delete":false,"deny_purge":false,"allow_rollup_hdrs":false,"consumer_limits":{},)"
            R"("allow_msg_ttl":false,"metadata":{"_nats.level":"5","_nats.req.level":"0","_nats.ver":"2.15.1"}},)"
            R"("created":"2026-01-01T00:00:00Z","state":{"messages":0,"bytes":0,"first_seq":0,)"
            R"("first_ts":"0001-01-01T00:00:00Z","last_seq":0,"last_ts":"0001-01-01T00:00:00Z","consumer_count":0},)"
            R"("ts":"2026-01-01T00:00:00Z","did_create":true})");
}

TEST(stream_api, creating_the_same_again_succeeds_and_another_configuration_is_refused) {  // jetstream 3
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","max_msgs":5})");
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","max_msgs":5,"max_bytes":-1})"),
              HasSubstr("\"did_create\":true"));
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","max_msgs":6})"),
              HasSubstr("\"err_code\":10058"));
}

TEST(stream_api, a_configuration_that_breaks_a_rule_is_refused_with_its_text) {  // jetstream 3
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"name":"S","subjects":["a..b"]})", "invalid subject"},
      {R"({"name":"S","subjects":["a.*","a.b"]})", R"(subject \"a.*\" overlaps with \"a.b\")"},
      {R"({"name":"S","subjects":[">"]})", "capturing all subjects requires no-ack to be true"},
      {R"({"name":"S","subjects":["$JS.API.INFO"]})",
       "subjects that overlap with jetstream api require no-ack to be true"},
      {R"({"name":"S","subjects":["$SYS.REQ.x"]})", "subjects that overlap with system api require no-ack to be true"},
      {R"({"name":"S","max_age":5})", "max age needs to be >= 100ms"},
      {R"({"name":"S","max_age":-5})", "max age can not be negative"},
      {R"({"name":"S","duplicate_window":5})", "duplicates window needs to be >= 100ms"},
      {R"({"name":"S","sealed":true})", "stream configuration for create can not be sealed"},
      {R"({"name":"S","deny_purge":true,"allow_rollup_hdrs":true})", "roll-ups require the purge permission"},
      {R"({"name":"S","discard_new_per_subject":true})",
       "discard new per subject requires discard new policy to be set"},
      {R"({"name":"S","max_msgs":-2,"pedantic":true})", "pedantic mode: max_msgs must be set to -1"},
      {R"({"name":"S","num_replicas":6})", "maximum replicas is 5"},
      {R"({"name":"T"})", "stream name in subject does not match request"},
      {R"({"name":"S","mirror_direct":true})", "stream has no mirror but does have mirror direct"},
  };
  test_harness server;
  for (const auto& [body, text] : cases) EXPECT_EQ(description_of(server.api("STREAM.CREATE.S", body)), text) << body;
  EXPECT_THAT(server.api("STREAM.NAMES"), HasSubstr("\"total\":0"));
}

TEST(stream_api, bodies_are_read_strictly) {  // jetstream 1.5
  test_harness server;
  EXPECT_EQ(description_of(server.api("STREAM.CREATE.S", R"({"name":"S","x":1})")),
            R"(invalid JSON: json: unknown field \"x\")");
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"name":"S"}})"), HasSubstr("\"err_code\":10025"));
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"name":"S","retention":"none"})"), HasSubstr("\"err_code\":10025"));
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"NAME":"S","storage":"memory","discard":"New","max_age":null})"),
              HasSubstr("\"discard\":\"new\""));
}

TEST(stream_api, a_lenient_server_ignores_unknown_fields) {  // jetstream 1.5
  test_harness server({.strict = false});
  EXPECT_THAT(server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","x":1})"), HasSubstr("did_create"));
}

TEST(stream_api, streams_do_not_share_subjects) {  // jetstream 3
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["a.>"]})");
  EXPECT_THAT(server.api("STREAM.CREATE.T", R"({"name":"T","storage":"memory","subjects":["a.b"]})"),
              HasSubstr("\"err_code\":10065"));
}

TEST(stream_api, names_are_sorted_filtered_and_paged) {  // jetstream 1.9, 2
  test_harness server;
  for (const std::string_view name : {"C", "A", "B"}) {
    const std::string text(name);
    server.api("STREAM.CREATE." + text,
               R"({"storage":"memory","name":")" + text + R"(","subjects":[")" + text + ".>\"]}");
  }
  EXPECT_THAT(server.api("STREAM.NAMES"), HasSubstr(R"("total":3,"offset":0,"limit":1024,"streams":["A","B","C"])"));
  EXPECT_THAT(server.api("STREAM.NAMES", R"({"offset":2})"), HasSubstr(R"("offset":2,"limit":1024,"streams":["C"])"));
  EXPECT_THAT(server.api("STREAM.NAMES", R"({"offset":9})"), HasSubstr(R"("offset":3,"limit":1024,"streams":null)"));
  EXPECT_THAT(server.api("STREAM.NAMES", R"({"subject":"B.x"})"), HasSubstr(R"("streams":["B"])"));
  EXPECT_THAT(server.api("STREAM.LIST"), Not(HasSubstr("_nats.ver")));
}

TEST(stream_api, an_update_enforces_its_limits_at_once) {  // jetstream 4
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s.*"]})");
  for (int i = 0; i < 6; ++i) server.request("s." + std::to_string(i % 2), "x");
  EXPECT_THAT(
      server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"memory","subjects":["s.*"],"max_msgs_per_subject":2})"),
      HasSubstr(R"("state":{"messages":4)"));
  EXPECT_THAT(server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"memory","subjects":["s.*"],"max_msgs":1})"),
              HasSubstr(R"("state":{"messages":1)"));
  EXPECT_THAT(server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"file","subjects":["s.*"]})"),
              HasSubstr("stream configuration update can not change storage type"));
}

TEST(stream_api, a_sealed_stream_keeps_everything_and_takes_nothing) {  // jetstream 4, 6.5
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s"]})");
  server.request("s", "1");
  server.request("s", "2");
  EXPECT_THAT(
      server.api("STREAM.UPDATE.S", R"({"name":"S","storage":"memory","subjects":["s"],"max_msgs":1,"sealed":true})"),
      HasSubstr(R"("state":{"messages":2)"));
  EXPECT_THAT(server.request("s", "3"), HasSubstr("\"err_code\":10109"));
  EXPECT_THAT(server.api("STREAM.PURGE.S"), HasSubstr("\"err_code\":10109"));
  EXPECT_THAT(server.api("STREAM.MSG.DELETE.S", R"({"seq":1})"), HasSubstr("\"err_code\":10109"));
}

TEST(stream_api, delete_frees_the_name_and_the_subjects) {  // jetstream 2
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s"]})");
  EXPECT_THAT(server.api("STREAM.DELETE.S", "junk"), HasSubstr("\"err_code\":10038"));
  EXPECT_EQ(server.api("STREAM.DELETE.S", "{ }"),
            R"({"type":"io.nats.jetstream.api.v1.stream_delete_response","success":true})");
  EXPECT_FALSE(server.account().has_interest("s"));
  EXPECT_THAT(server.api("STREAM.DELETE.S"), HasSubstr("\"err_code\":10059"));
}

TEST(stream_api, info_shows_subjects_in_pages_and_deleted_sequences) {  // jetstream 18
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s.>"]})");
  for (const std::string_view subject : {"s.c", "s.a", "s.b", "s.a"}) server.request(subject, "x");
  server.api("STREAM.MSG.DELETE.S", R"({"seq":2})");
  const std::string all = server.api("STREAM.INFO.S", R"({"subjects_filter":">","deleted_details":true})");
  EXPECT_THAT(all, HasSubstr(R"("total":3,"offset":0,"limit":100000)"));
  EXPECT_THAT(all, HasSubstr(R"("num_subjects":3,"subjects":{"s.a":1,"s.b":1,"s.c":1},"num_deleted":1,"deleted":[2])"));
  EXPECT_THAT(server.api("STREAM.INFO.S", R"({"subjects_filter":">","offset":2})"),
              HasSubstr(R"("subjects":{"s.c":1})"));
  const std::string none = server.api("STREAM.INFO.S", R"({"subjects_filter":"x"})");
  EXPECT_THAT(none, HasSubstr(R"("total":0,"offset":0,"limit":0)"));
  EXPECT_THAT(none, Not(HasSubstr("\"subjects\":{")));
}

TEST(stream_api, a_required_level_above_ours_is_refused) {  // jetstream 1.6
  test_harness server;
  EXPECT_THAT(server.request("$JS.API.INFO", {}, "NATS/1.0\r\nNats-Required-Api-Level: 6\r\n\r\n"),
              HasSubstr("\"err_code\":10185"));
  EXPECT_THAT(server.request("$JS.API.INFO", {}, "NATS/1.0\r\nNats-Required-Api-Level: 5\r\n\r\n"),
              Not(HasSubstr("error\":{")));
}

TEST(stream_api, unknown_subjects_stay_unanswered_and_asset_subjects_have_no_responder) {  // jetstream 1.4, 8.2
  test_harness server;
  EXPECT_EQ(server.api("FOO.BAR"), "");
  EXPECT_EQ(server.account().publish({.subject = "$JS.API.FOO", .reply = "_INBOX.x"}), 1u);
  EXPECT_EQ(server.account().publish({.subject = "$JS.API.DIRECT.GET.S", .reply = "_INBOX.x"}), 0u);
  EXPECT_EQ(server.account().publish({.subject = "$JS.API.CONSUMER.MSG.NEXT.S.C", .reply = "_INBOX.x"}), 0u);
}

TEST(stream_api, an_account_without_jetstream_is_told_so) {  // jetstream 1.4
  test_harness server;
  server.jetstream().attach_disabled(server.account());
  EXPECT_EQ(server.api("STREAM.NAMES"),
            R"({"type":"io.nats.jetstream.api.v1.stream_names_response","error":{"code":503,"err_code":10039,)"
            R"("description":"JetStream not enabled for account"},"total":0,"offset":0,"limit":0,"streams":null})");
}

TEST(stream_api, account_info_counts_use_and_calls) {  // jetstream 20.1
  test_harness server;
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory","subjects":["s"],"max_bytes":1000})");
  server.request("s", "hello");
  server.api("STREAM.INFO.NONE");
  const std::string info = server.api("INFO");
  EXPECT_THAT(info, StartsWith(R"({"type":"io.nats.jetstream.api.v1.account_info_response","memory":22,"storage":0,)"
                               R"("reserved_memory":1000,"reserved_storage":0,"streams":1,"consumers":0,)"));
  EXPECT_THAT(info, HasSubstr(R"("api":{"level":5,"total":2,"errors":1})"));
}

TEST(stream_api, account_limits_hold_at_create_and_update) {  // jetstream 20.2
  test_harness server;
  server.jetstream().attach(
      server.account(),
      {.max_memory = 2000, .max_streams = 2, .memory_max_stream_bytes = 1200, .max_bytes_required = true});
  const auto create = [&](std::string_view name, std::string_view bytes) {
    const std::string text(name);
    return server.api("STREAM.CREATE." + text,
                      R"({"storage":"memory","name":")" + text + R"(","max_bytes":)" + std::string(bytes) + "}");
  };
  EXPECT_THAT(create("S", "0"), HasSubstr("\"err_code\":10113"));
  EXPECT_THAT(create("S", "1201"), HasSubstr("\"err_code\":10122"));
  EXPECT_THAT(create("S", "1200"), HasSubstr("did_create"));
  EXPECT_THAT(create("T", "801"), HasSubstr("\"err_code\":10028"));
  EXPECT_THAT(create("T", "800"), HasSubstr("did_create"));
  EXPECT_THAT(create("U", "1"), HasSubstr("\"err_code\":10027"));
  EXPECT_THAT(create("S", "1200"), HasSubstr("did_create"));
}

TEST(stream_api, the_domain_prefix_reaches_the_same_api) {  // jetstream 20.4
  test_harness server({.domain = "hub"});
  server.api("STREAM.CREATE.KV_B", R"({"name":"KV_B","storage":"memory","subjects":["$KV.B.>"],"allow_direct":true})");
  EXPECT_THAT(server.request("$JS.hub.API.STREAM.INFO.KV_B"), HasSubstr("\"domain\":\"hub\""));
  EXPECT_EQ(server.request("$JS.hub.API.$KV.B.k", "v"), R"({"stream":"KV_B","domain":"hub","seq":1})");
  EXPECT_EQ(server.request("$JS.hub.API.DIRECT.GET.KV_B.$KV.B.k"), "v");
  EXPECT_EQ(server.account().publish({.subject = "$JS.hub.API.DIRECT.GET.X", .reply = "_INBOX.x"}), 0u);
}

TEST(stream_api, advisories_and_audits_reach_those_who_listen) {  // jetstream 19
  test_harness server;
  capturing_receiver listener;
  server.account().subscribe(listener, "$JS.EVENT.ADVISORY.>");
  server.api("STREAM.CREATE.S", R"({"name":"S","storage":"memory"})");
  ASSERT_EQ(listener.messages.size(), 2u);
  EXPECT_EQ(listener.messages[0].subject, "$JS.EVENT.ADVISORY.STREAM.CREATED.S");
  EXPECT_THAT(listener.messages[0].payload, HasSubstr(R"("stream":"S","action":"create"})"));
  EXPECT_EQ(listener.messages[1].subject, "$JS.EVENT.ADVISORY.API");
  EXPECT_THAT(
      listener.messages[1].payload,
      HasSubstr(R"("client":{"acc":"$G","server":"NTEST","kind":"JetStream"},"subject":"$JS.API.STREAM.CREATE.S")"));
}

}  // namespace
}  // namespace tern::jetstream
