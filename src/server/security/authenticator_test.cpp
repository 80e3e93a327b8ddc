#include "server/security/authenticator.hpp"

#include "runtime/shard.hpp"

#include <gtest/gtest.h>

namespace tern::server {
namespace {

// The hash of "s3cret".
constexpr const char* hash = "$2b$04$9QUt0qO8IMayARCVyx0lkuYRLicjebmoldq6uCxPCmzT5dUYyP8nK";

class authenticator_test : public testing::Test {
 protected:
  authenticator& with(security_options what) {
    logins.adopt(what);
    return logins;
  }
  authenticator::outcome log_in(login_attempt attempt) {
    std::optional<authenticator::outcome> out;
    logins.log_in(std::move(attempt), [&out](authenticator::outcome who) { out = std::move(who); });
    EXPECT_TRUE(out.has_value()) << "without threads the answer comes at once";
    return out.value_or(std::unexpected(close_reason::authentication_timeout));
  }
  static login_attempt of(std::string user, std::string password) {
    login_attempt out;
    out.shown.user = std::move(user);
    out.shown.pass = std::move(password);
    out.connection_type = "STANDARD";
    return out;
  }

  runtime::paused_clock clock{from_unix_nanoseconds(0)};
  runtime::seeded_random randomness{1};
  runtime::shard loop{clock, randomness};
  account_registry accounts{1};
  runtime::worker_pool workers{loop, 0};
  authenticator logins{accounts, workers};
};

TEST_F(authenticator_test, plain_and_hashed_passwords_are_compared_core_3_1) {
  with({.users = {{.name = "plain", .password = "p"}, {.name = "hashed", .password = hash}, {.name = "none"}}});
  EXPECT_EQ(log_in(of("plain", "p"))->user, "plain");
  EXPECT_FALSE(log_in(of("plain", "q")));
  EXPECT_EQ(log_in(of("hashed", "s3cret"))->user, "hashed");
  EXPECT_FALSE(log_in(of("hashed", hash)));
  EXPECT_TRUE(log_in(of("none", "")));
  EXPECT_FALSE(log_in(of("none", "x")));
  EXPECT_FALSE(log_in(of("nobody", "")));
  EXPECT_FALSE(log_in(of("", "")));
}

TEST_F(authenticator_test, nothing_that_asks_for_a_login_lets_empty_credentials_in_core_3_1) {
  security_options only_callout;
  only_callout.callout.emplace();
  with(only_callout);
  EXPECT_FALSE(log_in(of("", "")));
  with({.token = "t"});
  EXPECT_FALSE(log_in(of("", "")));
  with({.user = "u"});
  EXPECT_FALSE(log_in(of("", "")));
  EXPECT_TRUE(log_in(of("u", "")));
}

TEST_F(authenticator_test, connection_types_and_proxies_are_demanded_core_3_8) {
  with({.users = {{.name = "web", .connection_types = {"WEBSOCKET"}}, {.name = "far", .proxy_required = true}}});
  EXPECT_FALSE(log_in(of("web", "")));
  auto attempt = of("web", "");
  attempt.connection_type = "WEBSOCKET";
  EXPECT_TRUE(log_in(attempt));
  EXPECT_EQ(log_in(of("far", "")).error(), close_reason::proxy_required);
  attempt = of("far", "");
  attempt.came_through_proxy = true;
  EXPECT_TRUE(log_in(attempt));
}

TEST_F(authenticator_test, a_certificate_names_the_user_and_without_one_he_needs_a_password_core_3_7) {
  with({.users = {{.name = "CN=a"}, {.name = "b", .password = "p"}}});
  auto shown = of("b", "");
  shown.certificates_name_users = true;
  shown.certificate_names = {"x@example", "CN=a"};
  EXPECT_EQ(log_in(shown)->user, "CN=a");
  shown.certificate_names = {"CN=stranger"};
  EXPECT_FALSE(log_in(shown));
  auto bare = of("CN=a", "");
  bare.certificates_name_users = true;
  EXPECT_FALSE(log_in(bare));
  bare = of("b", "p");
  bare.certificates_name_users = true;
  EXPECT_TRUE(log_in(bare));
}

TEST_F(authenticator_test, a_reload_during_a_comparison_counts_core_4_4) {
  runtime::worker_pool slow(loop, 1);
  authenticator patient(accounts, slow);
  patient.adopt({.users = {{.name = "a", .password = hash}}});
  std::optional<authenticator::outcome> out;
  patient.log_in(of("a", "s3cret"), [&](authenticator::outcome who) {
    out = std::move(who);
    loop.stop();
  });
  ASSERT_FALSE(out.has_value());
  patient.adopt({.users = {{.name = "b"}}});
  loop.run();
  ASSERT_TRUE(out.has_value());
  EXPECT_FALSE(out->has_value());
}

TEST_F(authenticator_test, only_users_of_the_system_account_leave_the_others_in_core_3_1) {
  accounts.obtain("$SYS");
  with({.users = {{.name = "s", .password = "s", .account = "$SYS"}}, .accounts = {{.name = "$SYS"}}});
  EXPECT_EQ(log_in(of("", ""))->account, &accounts.global());
  EXPECT_EQ(log_in(of("s", "s"))->account, &accounts.system());
  EXPECT_FALSE(log_in(of("s", "")));
}

}  // namespace
}  // namespace tern::server
