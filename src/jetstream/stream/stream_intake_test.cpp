#include "jetstream/stream/stream_intake.hpp"

#include "jetstream/machine_harness.hpp"
#include "jetstream/stream/source_header.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/test_harness.hpp"
#include "protocol/headers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const stream& find(engine& in, std::string_view name) { return *in.find_stream("$G", name); }

// "<sequence>:<payload>" of what is stored.
std::vector<std::string> content(engine& in, std::string_view name) {
  auto& log = const_cast<storage::stream_log&>(find(in, name).log());
  std::vector<std::string> all;
  for (auto at = log.next_live(1); at; at = log.next_live(*at + 1))
    all.push_back(std::to_string(*at) + ":" + std::string(log.load(*at)->payload));
  return all;
}

TEST(mirror, keeps_sequences_times_and_holes_of_its_origin) {  // jetstream 7.3
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  for (int i = 1; i <= 4; ++i) server.publish("o", std::to_string(i));
  server.turn();
  server.api("STREAM.MSG.DELETE.O", R"({"seq":2})");
  server.advance(1min);
  server.api("STREAM.CREATE.M", R"({"name":"M","storage":"memory","mirror":{"name":"O"}})");
  server.turn();
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("1:1", "3:3", "4:4"));
  EXPECT_EQ(find(server.jetstream(), "M").state().first_timestamp,
            find(server.jetstream(), "O").state().first_timestamp);
  EXPECT_EQ(find(server.jetstream(), "M").state().deleted, 1U);
}

TEST(mirror, does_not_read_again_what_was_purged_or_was_before_its_start) {  // jetstream 7.1, 7.3
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  for (int i = 1; i <= 5; ++i) server.publish("o", std::to_string(i));
  server.turn();
  server.api("STREAM.CREATE.M", R"({"name":"M","storage":"memory","mirror":{"name":"O","opt_start_seq":4}})");
  server.turn();
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("4:4", "5:5"));
  EXPECT_EQ(find(server.jetstream(), "M").state().first, 4U);
  server.api("STREAM.PURGE.M");
  server.publish("o", "6");
  server.turn();
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("6:6"));
}

TEST(mirror, says_that_its_origin_is_missing_and_finds_it_later) {  // jetstream 7.1
  test_harness server;
  server.api("STREAM.CREATE.M", R"({"name":"M","storage":"memory","mirror":{"name":"O"}})");
  server.turn();
  EXPECT_THAT(server.api("STREAM.INFO.M"), HasSubstr("\"err_code\":10059"));
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  server.publish("o", "1");
  server.advance(15s);
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("1:1"));
  EXPECT_THAT(server.api("STREAM.INFO.M"), Not(HasSubstr("10059")));
}

TEST(mirror, becomes_a_stream_of_its_own) {  // jetstream 7.3: promotion
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  server.publish("o", "1", "NATS/1.0\r\nNats-Msg-Id: a\r\n\r\n");
  server.turn();
  server.api("STREAM.CREATE.M", R"({"name":"M","storage":"memory","mirror":{"name":"O"}})");
  server.turn();
  EXPECT_THAT(server.api("STREAM.UPDATE.M", R"({"name":"M","storage":"memory","subjects":["m"]})"),
              Not(HasSubstr("error")));
  EXPECT_THAT(server.request("m", "x", "NATS/1.0\r\nNats-Msg-Id: a\r\n\r\n"), HasSubstr("duplicate"));
  EXPECT_THAT(server.request("m", "2"), HasSubstr("\"seq\":2"));
  server.publish("o", "3");
  server.advance(15s);
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("1:1", "2:2"));
}

TEST(mirror, answers_direct_gets_in_the_name_of_its_origin) {  // jetstream 8.2
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o.>"],"allow_direct":true})");
  server.publish("o.1", "1");
  server.turn();
  server.api("STREAM.CREATE.M", R"({"name":"M","storage":"memory","mirror":{"name":"O"}})");
  server.turn();
  server.api("STREAM.DELETE.O");
  const auto answer = server.request_message("$JS.API.DIRECT.GET.O.o.1");
  EXPECT_EQ(answer.payload, "1");
  EXPECT_THAT(answer.headers, HasSubstr("Nats-Stream: M"));
}

TEST(mirror, of_a_work_queue_takes_the_messages_and_goes_on_after_a_crash) {  // jetstream 6.4, 7.2
  machine_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","subjects":["o"],"retention":"workqueue"})");
  server.api("STREAM.CREATE.M", R"({"name":"M","mirror":{"name":"O"}})");
  server.request("o", "1");
  server.advance(2s);
  EXPECT_EQ(find(server.jetstream(), "O").state().messages, 0U);
  server.request("o", "2");
  server.crash();
  server.request("o", "3");
  server.advance(4s);
  EXPECT_THAT(content(server.jetstream(), "M"), ElementsAre("1:1", "2:2", "3:3"))
      << server.api("STREAM.INFO.M") << server.api("CONSUMER.LIST.O");
  EXPECT_EQ(find(server.jetstream(), "O").state().messages, 0U);
}

TEST(sources, several_streams_and_filters_flow_together) {  // jetstream 7.1
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o.>"]})");
  server.api("STREAM.CREATE.P", R"({"name":"P","storage":"memory","subjects":["p.>"]})");
  server.api("STREAM.CREATE.T", R"({"name":"T","storage":"memory","subjects":["t"],"sources":[
      {"name":"O","filter_subject":"o.1"},{"name":"O","filter_subject":"o.2"},
      {"name":"P","subject_transforms":[{"src":"p.*","dest":"q.$1"}]}]})");
  for (const auto* subject : {"o.1", "o.3", "o.2", "p.x"}) {
    server.publish(subject, subject);
    server.turn();
  }
  EXPECT_THAT(content(server.jetstream(), "T"), ElementsAre("1:o.1", "2:o.2", "3:p.x"));
  EXPECT_EQ(find(server.jetstream(), "T").log().totals("q.x").messages, 1U);
}

TEST(sources, a_replaced_origin_is_read_from_its_beginning) {  // jetstream 7.2
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  server.api("STREAM.CREATE.T", R"({"name":"T","storage":"memory","sources":[{"name":"O"}]})");
  for (int i = 1; i <= 3; ++i) server.publish("o", std::to_string(i));
  server.turn();
  server.api("STREAM.DELETE.O");
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  server.publish("o", "anew");
  server.advance(15s);
  EXPECT_THAT(content(server.jetstream(), "T"), ElementsAre("1:1", "2:2", "3:3", "4:anew"));
}

TEST(sources, a_full_target_reads_on_when_there_is_room) {  // jetstream 7.3
  test_harness server;
  server.api("STREAM.CREATE.O", R"({"name":"O","storage":"memory","subjects":["o"]})");
  server.api("STREAM.CREATE.T",
             R"({"name":"T","storage":"memory","sources":[{"name":"O"}],"discard":"new","max_msgs":2})");
  for (int i = 1; i <= 5; ++i) server.publish("o", std::to_string(i));
  server.turn();
  EXPECT_THAT(content(server.jetstream(), "T"), ElementsAre("1:1", "2:2"));
  server.api("STREAM.PURGE.T");
  server.advance(3s);
  EXPECT_THAT(content(server.jetstream(), "T"), ElementsAre("3:3", "4:4"));
}

TEST(sources, a_copied_counter_adds_its_growth) {  // jetstream 5.7
  test_harness server;
  const std::string counting = R"("storage":"memory","allow_msg_counter":true)";
  server.api("STREAM.CREATE.O", R"({"name":"O","subjects":["o"],)" + counting + "}");
  server.api("STREAM.CREATE.P", R"({"name":"P","subjects":["p"],)" + counting + "}");
  server.api("STREAM.CREATE.T", R"({"name":"T","sources":[{"name":"O","subject_transforms":[{"src":"o","dest":"t"}]},
      {"name":"P","subject_transforms":[{"src":"p","dest":"t"}]}],)" +
                                    counting + "}");
  for (const auto& [subject, step] : {std::pair("o", "5"), {"o", "2"}, {"p", "-10"}, {"o", "+1"}}) {
    server.publish(subject, "", "NATS/1.0\r\nNats-Incr: " + std::string(step) + "\r\n\r\n");
    server.turn();
  }
  EXPECT_THAT(content(server.jetstream(), "T"),
              ElementsAre(R"(1:{"val":"5"})", R"(2:{"val":"7"})", R"(3:{"val":"-3"})", R"(4:{"val":"-2"})"));
}

// Whatever a crash takes, and whatever limits remove: nothing is copied twice and nothing is left out.
class sources_over_crashes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(seeds, sources_over_crashes, ::testing::Range(1, 13));

TEST_P(sources_over_crashes, copy_each_message_once) {  // jetstream 7.3, pitfall 15
  machine_harness server(static_cast<std::uint64_t>(GetParam()));
  std::uint64_t state = static_cast<std::uint64_t>(GetParam()) * 0x9E3779B97F4A7C15ULL;
  const auto roll = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  server.api("STREAM.CREATE.O", R"({"name":"O","subjects":["o"]})");
  server.api("STREAM.CREATE.P", R"({"name":"P","subjects":["p"]})");
  const std::string limited = GetParam() % 3 == 0 ? R"(,"max_msgs":3)" : "";
  server.api("STREAM.CREATE.T",
             R"({"name":"T","subjects":["t"],"sources":[{"name":"O"},{"name":"P"}])" + limited + "}");
  server.api("STREAM.CREATE.ALL", R"({"name":"ALL","mirror":{"name":"T"}})");
  server.turn();
  int published = 0;
  std::map<std::string, int> expected;
  for (int step = 0; step < 60; ++step) {
    switch (roll(8)) {
      case 0:
        server.crash(roll(2) == 0 ? runtime::crash_loss::random_subset : runtime::crash_loss::all_unsynced);
        break;
      case 1:
        server.restart();
        break;
      case 2:
        server.api("STREAM.PURGE.T");
        break;
      default: {
        const std::string payload = std::to_string(++published);
        if (server.request(roll(2) == 0 ? "o" : "p", payload).find("\"seq\"") != std::string::npos)
          expected[payload] = 1;
      }
    }
    if (roll(3) == 0) server.advance(std::chrono::milliseconds(roll(3000)));
  }
  server.advance(1min);
  std::map<std::string, int> copied;
  for (const std::string& one : content(server.jetstream(), "ALL")) ++copied[one.substr(one.find(':') + 1)];
  if (limited.empty()) {
    // A purge may have taken what the mirror had not read yet; what is there is there once.
    for (const auto& [payload, count] : copied) EXPECT_EQ(count, 1) << payload;
  }
  EXPECT_EQ(find(server.jetstream(), "T").state().last, expected.size());
}

TEST(source_header, is_read_as_it_was_written) {  // jetstream 7.3
  const stream_source from{.name = "O",
                           .subject_transforms = {{.src = "a.*", .dest = "b.$1"}, {.src = "c", .dest = ""}}};
  const auto identity = source_identity::of(from);
  const std::string value = make_source_header(identity, 7, "a.x", "ABCDEFGH");
  EXPECT_EQ(value, "O 7 a.*\fc b.$1\f> a.x ABCDEFGH");
  const auto read = parse_source_header(value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key, identity.key());
  EXPECT_EQ(read->number, 7U);
  EXPECT_EQ(read->stream_identity, "ABCDEFGH");
  EXPECT_FALSE(parse_source_header("O"));
  EXPECT_FALSE(parse_source_header("O x > > s"));
}

TEST(source_header, accounts_and_prefixes_are_abbreviated_as_at_the_peer) {  // jetstream 14
  EXPECT_EQ(short_hash("$G"), "szMpdrwD");
}

}  // namespace
}  // namespace tern::jetstream
