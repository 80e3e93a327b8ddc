#include "auth/user_admission.hpp"

#include "auth/credentials.hpp"
#include "auth/permission_template.hpp"

#include <gtest/gtest.h>

namespace tern::auth {
namespace {

using namespace std::chrono_literals;

const time_point noon = time_point(std::chrono::sys_days{std::chrono::year{2026} / 12 / 1}) + 12h;
std::int64_t seconds_at(time_point at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

struct world {
  key_seed seed{.kind = key_kind::user, .secret = {1}};
  user_claims user;
  account_claims account;
  std::string signature;

  world() {
    account.sub = account.iss = "AACC";
    account.name = "acc";
    user.iss = account.sub;
    user.sub = encode_public_key(key_kind::user, public_key_of(seed.secret));
    user.name = "ann";
    user.iat = 100;
    signature = sign_nonce(seed, "nonce");
  }
  result<admitted_user> admit(std::string_view address = "127.0.0.1", time_point now = noon) const {
    return admit_user(user, account,
                      {.nonce = "nonce",
                       .signature = signature,
                       .address = address,
                       .connection_type = "STANDARD",
                       .now = now,
                       .find_zone = {}});
  }
};

TEST(user_admission, asks_for_the_signature_of_the_nonce_unless_a_bearer_comes_core_3_5) {
  world w;
  EXPECT_TRUE(w.admit());
  w.signature = sign_nonce(w.seed, "another");
  EXPECT_FALSE(w.admit());
  w.user.nats.rights.bearer_token = true;
  EXPECT_TRUE(w.admit());
  w.account.nats.limits.disallow_bearer = true;
  EXPECT_FALSE(w.admit());
}

TEST(user_admission, the_issuer_is_the_account_or_one_of_its_signing_keys_core_3_5) {
  world w;
  w.user.iss = "ASIGN";
  EXPECT_FALSE(w.admit()) << "of another account";
  w.user.nats.issuer_account = w.account.sub;
  EXPECT_FALSE(w.admit()) << "not a signing key";
  w.account.nats.signing_keys.push_back({.key = "ASIGN", .role = {}, .scope = {}});
  EXPECT_TRUE(w.admit());
}

TEST(user_admission, a_scope_gives_the_rights_and_allows_none_of_the_user_core_3_5) {
  world w;
  w.user.iss = "ASIGN";
  w.user.nats.issuer_account = w.account.sub;
  user_rights scope;
  scope.pub.allow = {"of.{{name()}}"};
  scope.subs = 3;
  w.account.nats.signing_keys.push_back({.key = "ASIGN", .role = "r", .scope = scope});
  const auto admitted = w.admit();
  ASSERT_TRUE(admitted) << admitted.error().message();
  EXPECT_EQ(admitted->rights.pub.allow, std::vector<std::string>{"of.ann"});
  EXPECT_EQ(admitted->rights.subs, 3);
  EXPECT_TRUE(admitted->has_permissions());
  w.user.nats.rights.subs = -1;
  EXPECT_FALSE(w.admit());
}

TEST(user_admission, revocations_are_for_tokens_up_to_their_time_core_3_5) {
  world w;
  w.account.nats.revocations[w.user.sub] = 99;
  EXPECT_TRUE(w.admit());
  w.account.nats.revocations["*"] = 100;
  EXPECT_FALSE(w.admit());
}

TEST(user_admission, networks_and_connection_types_and_times_core_3_5) {
  world w;
  user_rights& rights = w.user.nats.rights;
  rights.src.networks = {"10.0.0.0/8", "fd00::/8"};
  EXPECT_FALSE(w.admit("127.0.0.1"));
  EXPECT_FALSE(w.admit("")) << "no address is in no network";
  EXPECT_TRUE(w.admit("10.200.3.4"));
  EXPECT_TRUE(w.admit("::ffff:10.1.1.1"));
  EXPECT_TRUE(w.admit("fd12::1"));
  rights.src = {};
  rights.allowed_connection_types = {"websocket"};
  EXPECT_FALSE(w.admit());
  rights.allowed_connection_types = {"standard"};
  EXPECT_TRUE(w.admit());

  rights.times = {{"22:00:00", "06:00:00"}, {"11:00:00", "13:00:00"}};
  const auto admitted = w.admit();
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->deadline, noon + 1h);
  EXPECT_FALSE(w.admit({}, noon + 2h));
  EXPECT_EQ(w.admit({}, noon + 11h)->deadline, noon + 18h) << "over midnight";
  w.user.exp = seconds_at(noon + 30min);
  EXPECT_EQ(w.admit()->deadline, noon + 30min) << "what ends first";
  rights.times_location = "Nowhere/Else";
  EXPECT_FALSE(w.admit());
}

TEST(user_admission, claims_that_are_not_of_this_time_or_form_are_refused_core_3_5) {
  world w;
  EXPECT_TRUE(check_user_claims(w.user, noon));
  w.user.exp = seconds_at(noon);
  EXPECT_FALSE(check_user_claims(w.user, noon));
  EXPECT_TRUE(check_user_claims(w.user, noon - 1s));
  w.user.exp = 0;
  w.user.nbf = seconds_at(noon);
  EXPECT_FALSE(check_user_claims(w.user, noon - 1s));
  EXPECT_TRUE(check_user_claims(w.user, noon));
  w.user.nats.rights.src.networks = {"10.0.0.0"};
  EXPECT_FALSE(check_user_claims(w.user, noon));
  w.user.nats.rights.src = {};
  w.user.nats.rights.sub.deny = {"a..b"};
  EXPECT_FALSE(check_user_claims(w.user, noon));

  EXPECT_TRUE(check_account_claims(w.account, noon));
  w.account.nats.exports.push_back({.subject = "a.*", .type = "stream"});
  w.account.nats.limits.exports = -1;
  EXPECT_FALSE(check_account_claims(w.account, noon)) << "wildcards";
  w.account.nats.limits.wildcards = true;
  EXPECT_TRUE(check_account_claims(w.account, noon));
  w.account.nats.limits.exports = 0;
  EXPECT_FALSE(check_account_claims(w.account, noon));
}

TEST(user_admission, strict_operators_sign_with_their_signing_keys_alone_core_3_5) {
  operator_claims claims;
  claims.sub = "OMAIN";
  claims.nats.signing_keys = {"OSIGN"};
  operator_trust trust;
  trust.add(claims);
  EXPECT_TRUE(trust.trusts("OMAIN"));
  EXPECT_TRUE(trust.trusts("OSIGN"));
  claims.nats.strict_signing_key_usage = true;
  operator_trust strict;
  strict.add(claims);
  EXPECT_FALSE(strict.trusts("OMAIN"));
  EXPECT_TRUE(strict.trusts("OSIGN"));
}

TEST(user_admission, an_activation_is_for_one_account_kind_and_subject_core_3_5) {
  world w;
  export_claims exported{.subject = "s.>", .type = "stream"};
  activation_claims activation;
  activation.iss = w.account.sub;
  activation.sub = "AIMP";
  activation.iat = 5;
  activation.nats.subject = "s.a";
  activation.nats.kind = "stream";
  EXPECT_TRUE(check_activation(activation, "AIMP", w.account, exported, noon));
  EXPECT_FALSE(check_activation(activation, "AOTHER", w.account, exported, noon));
  exported.revocations["AIMP"] = 5;
  EXPECT_FALSE(check_activation(activation, "AIMP", w.account, exported, noon));
  exported.revocations.clear();
  activation.nats.subject = "t.a";
  EXPECT_FALSE(check_activation(activation, "AIMP", w.account, exported, noon));
  activation.nats.subject = "s.a";
  activation.nats.kind = "service";
  EXPECT_FALSE(check_activation(activation, "AIMP", w.account, exported, noon));
}

TEST(permission_template, tags_make_each_combination_core_3_5) {
  world w;
  w.user.nats.tags = {"team:red", "team:blue", "zone:1", "zone:2"};
  w.account.nats.tags = {"org:x"};
  user_rights scope;
  scope.sub.allow = {"{{account-tag(org)}}.{{tag(team)}}.{{ tag(zone) }}", "plain"};
  const auto made = apply_template(scope, w.user, w.account);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->sub.allow, (std::vector<std::string>{"x.red.1", "x.red.2", "x.blue.1", "x.blue.2", "plain"}));
  scope.sub.allow = {"{{what()}}"};
  EXPECT_FALSE(apply_template(scope, w.user, w.account));
}

TEST(permission_template, a_missing_tag_allows_nothing_and_is_refused_where_it_would_deny_core_3_5) {
  world w;
  user_rights scope;
  scope.pub.allow = {"a.{{tag(none)}}"};
  const auto made = apply_template(scope, w.user, w.account);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->pub.allow.empty());
  EXPECT_EQ(made->pub.deny, std::vector<std::string>{">"});
  scope.pub = {.allow = {}, .deny = {"a.{{tag(none)}}"}};
  EXPECT_FALSE(apply_template(scope, w.user, w.account));
}

TEST(permission_template, makes_a_bounded_number_of_subjects_core_3_5) {
  world w;
  for (int value = 0; value < 17; ++value) w.user.nats.tags.push_back("t:" + std::to_string(value));
  user_rights scope;
  scope.pub.allow = {"{{tag(t)}}.{{tag(t)}}.{{tag(t)}}"};
  EXPECT_FALSE(apply_template(scope, w.user, w.account));
  scope.pub.allow = {"{{tag(t)}}.{{tag(t)}}"};
  EXPECT_EQ(apply_template(scope, w.user, w.account)->pub.allow.size(), 289u);
}

TEST(address_range, reads_both_versions_core_3_5) {
  const auto in = [](std::string_view range, std::string_view address) {
    const auto one = parse_address_range(range);
    const auto other = parse_address(address);
    return one && other && one->contains(*other);
  };
  EXPECT_TRUE(in("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(in("::/0", "1.2.3.4")) << "of the other version";
  EXPECT_TRUE(in("::/0", "fe80::1%eth0"));
  EXPECT_TRUE(in("192.168.1.128/25", "192.168.1.200"));
  EXPECT_FALSE(in("192.168.1.128/25", "192.168.1.100"));
  EXPECT_TRUE(in("2001:db8::1/128", "2001:db8:0:0:0:0:0:1"));
  EXPECT_TRUE(in("1::2:0/112", "1:0:0::2:ffff"));
  for (const std::string_view bad : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "a.b.c.d", ":", ":::", "1::2::3", "1:2",
                                     "1:2:3:4:5:6:7:8:9", "12345::", "g::", "1.2.3.", "::1.2.3", "1:2:3:4:5:6:7:8::"})
    EXPECT_FALSE(parse_address(bad)) << bad;
  for (const std::string_view bad : {"1.2.3.4", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/", "::/129", "::/1x"})
    EXPECT_FALSE(parse_address_range(bad)) << bad;
}

}  // namespace
}  // namespace tern::auth
