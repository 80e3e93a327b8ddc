#include "server/system/system_services.hpp"

#include "server/system/service_reply.hpp"
#include "server/test_world.hpp"

#include <gmock/gmock.h>
#include <snappy.h>
#include <zlib.h>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Speaks in the system account without a connection.
class system_user final : public routing::receiver {
 public:
  explicit system_user(test_world& world)
      : world_(world), account_(world.under_test->context().accounts.system().interest) {}
  ~system_user() override {
    for (auto* one : interest_) account_.unsubscribe(one);
  }
  void subscribe(std::string_view subject) { interest_.push_back(account_.subscribe(*this, subject)); }
  bool deliver(routing::subscription&, const routing::message& what) override {
    subjects.emplace_back(what.subject);
    headers.emplace_back(what.headers);
    bodies.emplace_back(what.payload);
    return true;
  }
  // The answers to a request.
  std::string ask(std::string_view subject, std::string_view body = {}, std::string_view with_headers = {}) {
    if (interest_.empty()) subscribe("reply");
    bodies.clear(), headers.clear(), subjects.clear();
    const std::size_t taken =
        account_.publish({.subject = subject, .reply = "reply", .headers = with_headers, .payload = body});
    if (taken == 0) return "nobody";
    world_.loop.post([] {});
    world_.run();
    return bodies.empty() ? "silence" : bodies.front();
  }

  std::vector<std::string> subjects, headers, bodies;

 private:
  test_world& world_;
  routing::account& account_;
  std::vector<routing::subscription*> interest_;
};

options tagged() {
  options out;
  out.server_name = "east-1";
  out.host = "127.0.0.1";
  out.tags = {"zone:a", "ssd"};
  return out;
}

TEST(system_services, answer_on_ping_and_by_the_server_id_core_6) {
  test_world world(tagged());
  system_user user(world);
  const std::string id = world.under_test->id();
  for (const std::string& where : {std::string("PING"), id}) {
    for (const char* name : {"VARZ", "SUBSZ", "CONNZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "ACCOUNTZ", "JSZ", "HEALTHZ",
                             "PROFILEZ", "EXPVARZ", "IPQUEUESZ", "RAFTZ"})
      EXPECT_THAT(user.ask("$SYS.REQ.SERVER." + where + "." + name),
                  AllOf(StartsWith("{\"server\":{\"name\":\"east-1\",\"host\":\"127.0.0.1\",\"id\":\"" + id +
                                   "\",\"ver\":\"2.15.1\",\"tags\":[\"zone:a\",\"ssd\"]"),
                        HasSubstr("\"data\":{"), Not(HasSubstr("\"error\":{"))))
          << name;
  }
  EXPECT_THAT(user.ask("$SYS.REQ.SERVER.PING"), HasSubstr("\"statsz\":{\"start\":"));
  EXPECT_EQ(user.ask("$SYS.REQ.SERVER.PING.IDZ"), "{\"name\":\"east-1\",\"host\":\"127.0.0.1\",\"id\":\"" + id + "\"}");
  EXPECT_EQ(user.ask("$SYS.REQ.SERVER.PING.NOTHINGZ"), "nobody");
  EXPECT_EQ(user.ask("$SYS.REQ.SERVER.PING.KICK"), "nobody");
}

TEST(system_services, a_body_that_does_not_read_is_an_error_of_400_core_6) {
  test_world world(tagged());
  system_user user(world);
  for (const char* body : {"not json", "[1]", "{\"limit\":\"x\"}"})
    EXPECT_THAT(user.ask("$SYS.REQ.SERVER.PING.CONNZ", body),
                AllOf(HasSubstr("\"error\":{\"code\":400,"), Not(HasSubstr("\"data\""))));
  EXPECT_THAT(user.ask("$SYS.REQ.SERVER.PING.CONNZ", "{\"sort\":\"bogus\"}"),
              HasSubstr("\"data\":null,\"error\":{\"code\":500,\"description\":\"invalid sorting option: bogus\"}"));
  EXPECT_THAT(user.ask("$SYS.REQ.SERVER.PING.CONNZ", "{\"nonsense\":1}"), HasSubstr("\"num_connections\":0"));
}

TEST(system_services, a_filter_that_does_not_fit_is_not_answered_core_6) {
  test_world world(tagged());
  system_user user(world);
  const auto answered = [&user](std::string_view body) {
    return user.ask("$SYS.REQ.SERVER.PING.HEALTHZ", body) != "silence";
  };
  EXPECT_TRUE(answered("{\"server_name\":\"east\"}"));
  EXPECT_FALSE(answered("{\"server_name\":\"east\",\"exact_match\":true}"));
  EXPECT_TRUE(answered("{\"server_name\":\"east-1\",\"exact_match\":true}"));
  EXPECT_FALSE(answered("{\"server_name\":\"west\"}"));
  EXPECT_TRUE(answered("{\"tags\":[\"ssd\"]}"));
  EXPECT_FALSE(answered("{\"tags\":[\"ssd\",\"zone:b\"]}"));
  EXPECT_TRUE(answered("{\"host\":\"127.0\"}"));
  EXPECT_FALSE(answered("{\"cluster\":\"C\"}"));
  EXPECT_FALSE(answered("{\"domain\":\"hub\"}"));
}

TEST(system_services, kick_closes_the_connection_that_is_named_core_6) {
  test_world world(tagged());
  system_user user(world);
  test_client client(world);
  client.connect();
  const std::string prefix = "$SYS.REQ.SERVER." + world.under_test->id();
  const std::string cid = std::to_string(world.under_test->connections().begin()->first);
  EXPECT_THAT(user.ask(prefix + ".KICK", "{\"cid\":999}"), HasSubstr("no such client or leafnode id"));
  EXPECT_EQ(user.ask(prefix + ".KICK", "nonsense"), "silence");
  EXPECT_THAT(user.ask(prefix + ".LDM", "{\"cid\":" + cid + "}"), Not(HasSubstr("error\":{")));
  EXPECT_THAT(client.take(), HasSubstr("\"ldm\":true"));
  EXPECT_FALSE(client.closed());
  EXPECT_THAT(user.ask(prefix + ".KICK", "{\"cid\":" + cid + "}"), Not(HasSubstr("\"error\":{")));
  EXPECT_TRUE(client.closed());
}

TEST(system_services, reload_tells_what_is_wrong_core_6) {
  test_world world(tagged());
  system_user user(world);
  EXPECT_THAT(user.ask("$SYS.REQ.SERVER." + world.under_test->id() + ".RELOAD"),
              HasSubstr("\"error\":{\"code\":500,\"description\":\"can only reload config when a file is provided"));
}

TEST(system_services, account_services_know_the_accounts_core_6) {
  test_world world(tagged());
  system_user user(world);
  test_client client(world);
  client.connect();
  client.send("SUB foo 1\r\n");
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.$G.CONNZ"), HasSubstr("\"num_connections\":1"));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.$G.SUBSZ", "{\"test\":\"foo\"}"), HasSubstr("\"subject\":\"foo\""));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.$G.INFO"), HasSubstr("\"client_connections\":1"));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.$G.STATZ"), HasSubstr("\"account_statz\":[{\"acc\":\"$G\""));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.$G.CONNS"), StartsWith("{\"type\":\"io.nats.server.advisory.v1.account_conn"));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.NONE.INFO"), HasSubstr("Account NONE does not exist"));
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.NONE.JSZ"), HasSubstr("jetstream not enabled"));
  EXPECT_EQ(user.ask("$SYS.REQ.ACCOUNT.NONE.STATZ"), "silence");
  EXPECT_THAT(user.ask("$SYS.REQ.ACCOUNT.NONE.STATZ", "{\"include_unused\":true}"), HasSubstr("\"account_statz\":[]"));
  EXPECT_EQ(user.ask("$SYS.REQ.ACCOUNT.NONE.CONNS"), "silence");
  EXPECT_EQ(user.ask("$SYS.REQ.ACCOUNT.NSUBS", "{\"acc\":\"$G\",\"subject\":\"foo\"}"), "1");
}

TEST(system_services, an_ordinary_client_asks_about_itself_core_6) {
  test_world world(tagged());
  test_client client(world);
  client.connect();
  client.send("SUB in 1\r\nPUB $SYS.REQ.USER.INFO in 0\r\n\r\n");
  EXPECT_THAT(client.take(), HasSubstr("\"data\":{\"user\":\"\",\"account\":\"$G\",\"account_name\":\"$G\"}"));
  client.send("PUB $SYS.REQ.SERVER.PING.CONNZ in 11\r\n{\"acc\":\"X\"}\r\n");
  EXPECT_THAT(client.take(), HasSubstr("\"num_connections\":1"));
  client.send("PUB $SYS.REQ.SERVER.PING.VARZ in 0\r\n\r\n");
  EXPECT_THAT(client.take(), HasSubstr("503"));
}

TEST(system_services, connects_and_closes_are_events_core_6) {
  test_world world(tagged());
  system_user user(world);
  user.subscribe("$SYS.ACCOUNT.>");
  test_client client(world);
  client.connect(",\"name\":\"app\",\"lang\":\"go\",\"version\":\"1\"");
  ASSERT_THAT(user.subjects, testing::ElementsAre("$SYS.ACCOUNT.$G.CONNECT", "$SYS.ACCOUNT.$G.SERVER.CONNS"));
  EXPECT_THAT(user.bodies[0],
              AllOf(HasSubstr("client_connect"), HasSubstr("\"name\":\"app\",\"lang\":\"go\",\"ver\":\"1\"")));
  EXPECT_THAT(user.bodies[1], HasSubstr("\"acc\":\"$G\",\"name\":\"$G\",\"conns\":1"));
  client.send("PUB x 2\r\nhi\r\n");
  client.hang_up();
  ASSERT_EQ(user.subjects.size(), 4u);
  EXPECT_EQ(user.subjects[2], "$SYS.ACCOUNT.$G.DISCONNECT");
  EXPECT_THAT(user.bodies[2],
              AllOf(HasSubstr("\"sent\":{\"msgs\":1,\"bytes\":2}"), HasSubstr("\"received\":{\"msgs\":0,\"bytes\":0}"),
                    HasSubstr("\"reason\":\"Client Closed\"")));
  EXPECT_THAT(user.bodies[3], HasSubstr("\"conns\":0"));
}

class traces : public testing::Test {
 protected:
  static options with_jetstream() {
    options out = tagged();
    out.jetstream.enabled = true;
    out.jetstream.max_memory = 1 << 20;
    return out;
  }
  traces() {
    client.connect(",\"name\":\"me\"");
    const std::string stream = R"({"name":"S","subjects":["js.>"],"storage":"memory"})";
    client.send("SUB trace 1\r\nSUB foo 2\r\nSUB foo q 3\r\nPUB $JS.API.STREAM.CREATE.S x " +
                std::to_string(stream.size()) + "\r\n" + stream + "\r\n");
    client.take();
  }
  // What came after publishing "hi" with these header lines.
  std::string publish(std::string_view subject, std::string_view lines, std::string_view reply = {}) {
    const std::string block = "NATS/1.0\r\n" + std::string(lines) + "\r\n\r\n";
    client.send("HPUB " + std::string(subject) + " " + std::string(reply) + " " + std::to_string(block.size()) + " " +
                std::to_string(block.size() + 2) + "\r\n" + block + "hi\r\n");
    return client.take();
  }
  test_world world{with_jetstream()};
  test_client client{world};
};

TEST_F(traces, tell_where_a_message_came_in_and_where_it_went_core_7_3) {
  const std::string got = publish("foo", "Nats-Trace-Dest: trace");
  EXPECT_THAT(got, HasSubstr("MSG trace 1 "));
  EXPECT_THAT(
      got,
      HasSubstr(
          "\"request\":{\"header\":{\"Nats-Trace-Dest\":[\"trace\"]},\"msgsize\":38},\"events\":[{\"type\":\"in\""));
  EXPECT_THAT(got, HasSubstr("\"kind\":0,\"cid\":1,\"name\":\"me\",\"acc\":\"$G\",\"subj\":\"foo\"}"));
  EXPECT_THAT(got, HasSubstr("\"kind\":0,\"cid\":1,\"name\":\"me\",\"sub\":\"foo\"}"));
  EXPECT_THAT(got, HasSubstr("\"sub\":\"foo\",\"queue\":\"q\"}]}"));
  EXPECT_THAT(got, AllOf(HasSubstr("HMSG foo 2 "), HasSubstr("HMSG foo 3 ")));
}

TEST_F(traces, can_go_without_the_message_core_7_3) {
  const std::string got = publish("foo", "Nats-Trace-Dest: trace\r\nNats-Trace-Only: true");
  EXPECT_THAT(got, AllOf(HasSubstr("\"sub\":\"foo\""), Not(HasSubstr("HMSG"))));
  EXPECT_THAT(publish("js.1", "Nats-Trace-Dest: trace\r\nNats-Trace-Only: 1"),
              HasSubstr("\"stream\":\"S\",\"subject\":\"js.1\"}]}"));
  client.send("SUB in 9\r\nPUB $JS.API.STREAM.INFO.S in 0\r\n\r\n");
  EXPECT_THAT(client.take(), HasSubstr("\"messages\":0"));
}

TEST_F(traces, name_the_stream_and_why_it_refuses_core_7_3) {
  EXPECT_THAT(publish("js.1", "Nats-Trace-Dest: trace"), HasSubstr("\"stream\":\"S\",\"subject\":\"js.1\"}]}"));
  EXPECT_THAT(publish("js.1", "Nats-Trace-Dest: trace\r\nNats-Expected-Last-Sequence: 7", "trace"),
              HasSubstr("\"stream\":\"S\",\"error\":\"wrong last sequence: 1\"}]}"));
}

TEST_F(traces, come_after_the_answer_of_nobody_core_7_3) {
  const std::string got = publish("nobody", "Nats-Trace-Dest: trace", "trace");
  EXPECT_LT(got.find("503"), got.find("\"subj\":\"nobody\"}]}"));
}

TEST_F(traces, a_destination_that_is_no_subject_asks_for_nothing_core_7_3) {
  for (const char* destination : {"trace.*", "a..b", "", "trace disabled"})
    EXPECT_THAT(publish("foo", std::string("Nats-Trace-Dest: ") + destination), Not(HasSubstr("\"events\"")))
        << destination;
}

TEST(system_services, statsz_comes_by_itself_and_when_asked_for_without_a_reply_core_6) {
  test_world world(tagged());
  system_user user(world);
  user.subscribe("$SYS.SERVER.*.STATSZ");
  world.advance(240ms);
  EXPECT_TRUE(user.bodies.empty());
  world.advance(20ms);
  EXPECT_EQ(user.bodies.size(), 1u);
  world.advance(2min);
  const std::size_t before = user.bodies.size();
  world.advance(60s);
  EXPECT_EQ(user.bodies.size(), before + 6);
  for (int times = 0; times < 3; ++times)
    world.under_test->context().accounts.system().interest.publish(
        {.subject = "$SYS.REQ.SERVER.PING", .reply = {}, .headers = {}, .payload = {}});
  world.loop.post([] {});
  world.run();
  EXPECT_EQ(user.bodies.size(), before + 7) << "at most one a second";
}

TEST(system_services, the_end_is_told_core_6) {
  test_world world(tagged());
  system_user user(world);
  user.subscribe("$SYS.SERVER.*.*");
  world.under_test->enter_lame_duck([] {});
  world.under_test->stop();
  ASSERT_EQ(user.subjects.size(), 2u);
  EXPECT_THAT(user.subjects[0], testing::EndsWith(".LAMEDUCK"));
  EXPECT_THAT(user.subjects[1], testing::EndsWith(".SHUTDOWN"));
  EXPECT_THAT(user.bodies[1], StartsWith("{\"name\":\"east-1\","));
}

TEST(service_reply, bodies_are_packed_as_the_request_wants_core_6) {
  const auto asked = [](std::string_view how) {
    return packing_for("NATS/1.0\r\nAccept-Encoding: " + std::string(how) + "\r\n\r\n");
  };
  EXPECT_EQ(asked("gzip"), packing::gzip);
  EXPECT_EQ(asked("S2, gzip"), packing::snappy);
  EXPECT_EQ(asked("br"), packing::identity);
  EXPECT_EQ(packing_for(""), packing::none);

  const std::string text(200'000, 'x');
  const std::string gzip = packed(text, packing::gzip);
  std::string back(text.size(), '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(back.data());
  stream.avail_out = static_cast<uInt>(back.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  EXPECT_EQ(back, text);

  // The checksum of "a", masked, as the format's description has it: of CRC-32C 0xc1d04330.
  const std::string one = packed("a", packing::snappy);
  EXPECT_EQ(one.substr(0, 10), std::string("\xff\x06\x00\x00sNaPpY", 10));
  const std::uint32_t masked = ((0xc1d04330u >> 15) | (0xc1d04330u << 17)) + 0xa282ead8u;
  for (int at = 0; at < 4; ++at) EXPECT_EQ(static_cast<unsigned char>(one[14 + at]), (masked >> (8 * at)) & 0xff);
  std::string plain;
  EXPECT_TRUE(snappy::Uncompress(one.data() + 18, one.size() - 18, &plain));
  EXPECT_EQ(plain, "a");
}

}  // namespace
}  // namespace tern::server
