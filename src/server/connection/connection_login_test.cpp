#include "auth/nkey.hpp"
#include "server/connection/connection.hpp"
#include "server/test_world.hpp"

#include <gmock/gmock.h>

namespace tern::server {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view refusal = "-ERR 'Authorization Violation'\r\n";

options with_users(std::vector<user_options> users) {
  options out;
  out.security.users = std::move(users);
  return out;
}

std::string nonce_of(const std::string& info) {
  const std::size_t at = info.find("\"nonce\":\"");
  return at == std::string::npos ? std::string() : info.substr(at + 9, info.find('"', at + 9) - at - 9);
}

TEST(connection_login, a_second_connect_of_an_nkey_answers_the_same_challenge_core_1_2) {
  auth::key_bytes secret{};
  secret.fill(7);
  const std::string key = auth::encode_public_key(auth::key_kind::user, auth::public_key_of(secret));
  test_world world(with_users({{.name = key, .is_nkey = true}}));
  test_client client(world);
  const std::string nonce = nonce_of(client.take());
  ASSERT_EQ(nonce.size(), 15u);
  const auto connect = [&](std::string_view signed_text) {
    return "CONNECT {\"verbose\":false,\"protocol\":1,\"nkey\":\"" + key + "\",\"sig\":\"" +
           auth::encode_base64url(auth::sign(secret, signed_text)) + "\"}\r\nPING\r\n";
  };
  client.send(connect(nonce));
  EXPECT_THAT(client.take(), AllOf(HasSubstr("PONG\r\nINFO"), Not(HasSubstr("\"nonce\""))));
  client.send(connect(nonce));
  EXPECT_EQ(client.take(), "PONG\r\n");
  client.send(connect(""));
  EXPECT_EQ(client.take(), refusal);
}

TEST(connection_login, each_connection_has_a_challenge_of_its_own_core_3_1) {
  auth::key_bytes secret{};
  const std::string key = auth::encode_public_key(auth::key_kind::user, auth::public_key_of(secret));
  test_world world(with_users({{.name = key, .is_nkey = true}}));
  test_client first(world), second(world);
  EXPECT_NE(nonce_of(first.take()), nonce_of(second.take()));
}

TEST(connection_login, who_says_nothing_is_closed_after_the_timeout_and_no_auth_user_only_when_silent_core_1_3) {
  options settings = with_users({{.name = "guest"}});
  settings.security.no_auth_user = "guest";
  settings.security.timeout = 1s;
  test_world world(settings);
  test_client silent(world), speaking(world);
  silent.take(), speaking.take();
  speaking.send("SUB a 1\r\n");
  world.advance(2s);
  EXPECT_EQ(silent.take(), "-ERR 'Authentication Timeout'\r\n");
  EXPECT_TRUE(silent.closed());
  EXPECT_EQ(speaking.take(), "+OK\r\n");
  EXPECT_FALSE(speaking.closed());
}

TEST(connection_login, a_reload_while_connected_judges_users_and_subscriptions_anew_core_4_4) {
  test_world world(
      with_users({{.name = "a", .password = "x"}, {.name = "b", .password = "x"}, {.name = "c", .password = "x"}}));
  test_client kept(world), changed(world), gone(world);
  kept.connect(",\"user\":\"a\",\"pass\":\"x\""), changed.connect(",\"user\":\"b\",\"pass\":\"x\"");
  gone.connect(",\"user\":\"c\",\"pass\":\"x\"");
  kept.send("SUB may 1\r\nSUB not 2\r\n");
  options next = world.under_test->settings();
  next.security.users = {
      {.name = "a", .password = "x", .permissions = auth::permission_settings{.subscribe = {.allow = {"may"}}}},
      {.name = "b", .password = "other"}};
  ASSERT_TRUE(world.under_test->apply(next).has_value());
  EXPECT_EQ(kept.take(), "-ERR 'Permissions Violation for Subscription to \"not\" (sid \"2\")'\r\n");
  EXPECT_EQ(changed.take(), refusal);
  EXPECT_EQ(gone.take(), "");
  EXPECT_TRUE(gone.closed());
}

TEST(connection_login, an_answer_may_be_given_as_often_as_allowed_and_in_time_core_3_3) {
  const auth::permission_settings answers{.responses = auth::response_permission{.max = 2, .expires = 10s}};
  test_world world(with_users({{.name = "s", .permissions = answers}, {.name = "c"}}));
  test_client service(world), client(world);
  service.connect(",\"user\":\"s\""), client.connect(",\"user\":\"c\"");
  service.send("SUB do 1\r\n");
  client.send("SUB r 1\r\nPUB do r 0\r\n\r\n");
  EXPECT_EQ(service.take(), "MSG do 1 r 0\r\n\r\n");
  service.send("PUB r 1\r\n1\r\nPUB r 1\r\n2\r\nPUB r 1\r\n3\r\n");
  EXPECT_EQ(client.take(), "MSG r 1 1\r\n1\r\nMSG r 1 1\r\n2\r\n");
  EXPECT_EQ(service.take(), "-ERR 'Permissions Violation for Publish to \"r\"'\r\n");
  client.send("PUB do r 0\r\n\r\n");
  service.take();
  world.advance(11s);
  service.send("PUB r 1\r\n4\r\n");
  EXPECT_THAT(client.take(), Not(HasSubstr("MSG")));
}

TEST(connection_login, an_account_of_others_is_not_heard_and_its_limits_hold_core_3_4) {
  options settings = with_users({{.name = "a", .account = "A"}, {.name = "b", .account = "B"}});
  settings.security.accounts = {{.name = "A", .limits = {.max_connections = 1, .max_payload = 3}}, {.name = "B"}};
  settings.security.accounts_configured = true;
  test_world world(settings);
  test_client a(world), b(world), another(world);
  a.connect(",\"user\":\"a\""), b.connect(",\"user\":\"b\"");
  b.send("SUB > 1\r\n");
  a.send("PUB x 3\r\nabc\r\n");
  EXPECT_EQ(b.take(), "");
  another.take();
  another.send("CONNECT {\"user\":\"a\"}\r\n");
  EXPECT_EQ(another.take(), "-ERR 'maximum account active connections exceeded'\r\n");
  a.send("PUB x 4\r\nabcd\r\n");
  EXPECT_EQ(a.take(), "-ERR 'Maximum Payload Violation'\r\n");
}

}  // namespace
}  // namespace tern::server
