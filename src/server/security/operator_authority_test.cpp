#include "server/security/operator_authority.hpp"

#include "auth/credentials.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tern::server {
namespace {

using namespace auth;
using namespace std::chrono_literals;

const time_point now = time_point(std::chrono::sys_days{std::chrono::year{2026} / 12 / 1});

key_seed some_seed(key_kind kind, unsigned char first) { return {.kind = kind, .secret = {first}}; }
std::string name_of(const key_seed& seed) { return encode_public_key(seed.kind, public_key_of(seed.secret)); }

template <class Claims>
std::string seal(Claims claims, const key_seed& issuer) {
  claims.iss = name_of(issuer);
  claims.nats.type = Claims::token_type;
  claims.nats.version = 2;
  return seal_token(codec::to_json(claims), issuer);
}

// An operator with two accounts; the first has a user.
struct world {
  key_seed top = some_seed(key_kind::operator_, 1);
  key_seed seller = some_seed(key_kind::account, 2), buyer = some_seed(key_kind::account, 3);
  key_seed user_seed = some_seed(key_kind::user, 4);
  account_claims selling = account(seller, "seller"), buying = account(buyer, "buyer");
  user_claims user;
  security_options options;

  world() {
    user.sub = name_of(user_seed);
    user.name = "ann";
    user.iat = 1000;
    user.nats.rights.subs = user.nats.rights.payload = user.nats.rights.data = -1;
  }
  static account_claims account(const key_seed& seed, std::string name) {
    account_claims out;
    out.sub = name_of(seed);
    out.name = std::move(name);
    out.nats.limits = {
        .subs = -1, .data = -1, .payload = -1, .imports = -1, .exports = -1, .wildcards = true, .conn = -1, .leaf = -1};
    return out;
  }
  result<operator_authority> authority(const key_seed* other_issuer = nullptr) {
    operator_claims claims;
    claims.sub = name_of(top);
    options.operators = {.tokens = {seal(claims, top)}, .memory_resolver = true};
    options.operators.preload[selling.sub] = seal(selling, other_issuer != nullptr ? *other_issuer : top);
    options.operators.preload[buying.sub] = seal(buying, top);
    return operator_authority::create(options, now);
  }
  result<token_login> log_in(const operator_authority& authority, const key_seed& issuer) const {
    protocol::connect_options shown;
    shown.jwt = seal(user, issuer);
    const std::string signature = sign_nonce(user_seed, "nonce");
    return authority.log_in(shown, {.nonce = "nonce",
                                    .signature = signature,
                                    .address = "127.0.0.1",
                                    .connection_type = "STANDARD",
                                    .now = now,
                                    .find_zone = {}});
  }
};

TEST(operator_authority, admits_users_of_accounts_that_the_operator_signed_core_3_5) {
  world w;
  const auto authority = w.authority();
  ASSERT_TRUE(authority) << authority.error().message();
  const auto login = w.log_in(*authority, w.seller);
  ASSERT_TRUE(login) << login.error().message();
  EXPECT_EQ(login->account, name_of(w.seller));
  EXPECT_EQ(login->account_name, "seller");
  EXPECT_EQ(login->user_name, "ann");
  EXPECT_EQ(login->max_subscriptions, -1);
  EXPECT_FALSE(login->permissions);
  EXPECT_FALSE(w.log_in(*authority, some_seed(key_kind::account, 9))) << "an account that is not there";
  EXPECT_FALSE(authority->log_in({}, {.now = now})) << "no token";
}

TEST(operator_authority, leaves_out_accounts_of_another_operator_or_another_time_core_3_5) {
  world w;
  const key_seed stranger = some_seed(key_kind::operator_, 8);
  const auto of_stranger = w.authority(&stranger);
  ASSERT_TRUE(of_stranger) << "it does not stop the start";
  EXPECT_FALSE(w.log_in(*of_stranger, w.seller));
  w.selling.exp = 1;
  EXPECT_FALSE(w.log_in(*w.authority(), w.seller));
}

TEST(operator_authority, pinned_accounts_keep_the_others_out_core_3_5) {
  world w;
  w.options.operators.pinned_accounts = {name_of(w.buyer)};
  auto authority = w.authority();
  EXPECT_TRUE(w.log_in(*authority, w.seller)) << "what create() was not given";
  w.options.operators.pinned_accounts = {name_of(w.buyer)};
  authority = operator_authority::create(w.options, now);
  EXPECT_FALSE(w.log_in(*authority, w.seller));
  EXPECT_TRUE(w.log_in(*authority, w.buyer));
}

TEST(operator_authority, the_system_account_is_the_configured_one_or_the_operators_core_3_5) {
  world w;
  EXPECT_TRUE(w.authority()->system_account().empty());
  EXPECT_TRUE(w.authority()->with_accounts(w.options, now).no_system_account);
  w.options.system_account = name_of(w.buyer);
  EXPECT_EQ(w.authority()->with_accounts(w.options, now).system_account, name_of(w.buyer));
  w.options.system_account = "SYS";
  EXPECT_EQ(w.authority().error().context(), "error resolving system account: will only fetch valid account keys");
  w.options.system_account = name_of(some_seed(key_kind::account, 77));
  EXPECT_EQ(w.authority().error().context(), "error resolving system account: account missing");
}

const account_options& account_of(const security_options& what, const key_seed& seed) {
  const auto found = std::ranges::find(what.accounts, name_of(seed), &account_options::name);
  EXPECT_NE(found, what.accounts.end());
  return *found;
}

TEST(operator_authority, claims_become_the_options_of_an_account_core_3_5) {
  world w;
  w.selling.nats.limits.conn = 5;
  w.selling.nats.limits.jetstream = {.mem_storage = 10, .disk_storage = -1, .streams = 3};
  w.selling.nats.mappings["in"] = {{.subject = "out"}};
  w.selling.nats.exports = {{.subject = "s.>", .type = "stream"},
                            {.subject = "q", .type = "service", .response_type = "Chunked"}};
  w.buying.nats.imports = {
      {.subject = "s.>", .account = name_of(w.seller), .local_subject = "in.>", .type = "stream"},
      {.subject = "q", .account = name_of(w.seller), .local_subject = "ask", .type = "service", .share = true},
      {.subject = "secret", .account = name_of(w.seller), .type = "stream"}};
  const auto made = w.authority()->with_accounts(w.options, now);
  const account_options& selling = account_of(made, w.seller);
  EXPECT_EQ(selling.limits.max_connections, 5);
  ASSERT_TRUE(selling.jetstream);
  EXPECT_EQ(selling.jetstream->max_memory, 10);
  EXPECT_EQ(selling.jetstream->max_streams, 3);
  EXPECT_EQ(selling.mappings[0].destinations[0].weight, 100);
  EXPECT_FALSE(selling.exports[0].accounts) << "for everybody";
  EXPECT_EQ(selling.exports[1].responses, response_type::chunked);
  const account_options& buying = account_of(made, w.buyer);
  EXPECT_FALSE(buying.jetstream);
  ASSERT_EQ(buying.imports.size(), 2u) << "what nobody exports is left out";
  EXPECT_EQ(buying.imports[0].to, "in.>");
  EXPECT_TRUE(buying.imports[1].service && buying.imports[1].share);
}

TEST(operator_authority, a_private_export_is_imported_with_an_activation_core_3_5) {
  world w;
  w.selling.nats.exports = {{.subject = "s.>", .type = "stream", .token_req = true}};
  import_claims wanted{.subject = "s.a", .account = name_of(w.seller), .type = "stream"};
  w.buying.nats.imports = {wanted};
  EXPECT_TRUE(account_of(w.authority()->with_accounts(w.options, now), w.buyer).imports.empty());
  activation_claims activation;
  activation.sub = name_of(w.buyer);
  activation.nats.subject = "s.a";
  activation.nats.kind = "stream";
  // Its `type` is that of the token.
  w.buying.nats.imports[0].token = seal(activation, w.seller);
  const auto made = w.authority()->with_accounts(w.options, now);
  EXPECT_EQ(account_of(made, w.buyer).imports.size(), 1u);
  EXPECT_EQ(account_of(made, w.seller).exports[0].accounts, std::vector{name_of(w.buyer)});
  w.buying.nats.imports[0].token = seal(activation, w.buyer);
  EXPECT_TRUE(account_of(w.authority()->with_accounts(w.options, now), w.buyer).imports.empty())
      << "not the exporter's";
}

TEST(operator_authority, who_is_revoked_later_is_not_valid_any_more_core_3_5) {
  world w;
  const auto login = w.log_in(*w.authority(), w.seller);
  ASSERT_TRUE(login);
  EXPECT_TRUE(w.authority()->still_valid(*login, now));
  w.selling.nats.revocations[login->user] = 1000;
  EXPECT_FALSE(w.authority()->still_valid(*login, now));
}

TEST(operator_options, what_stands_beside_an_operator_is_refused_with_the_peers_texts_core_3_5) {
  world w;
  ASSERT_TRUE(w.authority());
  const auto text_of = [&w](auto change) {
    security_options changed = w.options;
    change(changed);
    const auto checked = check_operators(changed);
    return checked ? std::string() : checked.error().context();
  };
  EXPECT_EQ(text_of([](security_options& what) { what.accounts_configured = true; }),
            "operators do not allow Accounts to be configured directly");
  EXPECT_EQ(text_of([](security_options& what) { what.users.emplace_back(); }),
            "operators do not allow users to be configured directly");
  EXPECT_EQ(text_of([](security_options& what) { what.no_auth_user = "a"; }),
            "no_auth_user not compatible with Trusted Operator");
  EXPECT_EQ(text_of([](security_options& what) { what.operators.trusted_keys = {"O"}; }),
            "conflicting options for 'TrustedKeys' and 'TrustedOperators'");
  EXPECT_EQ(text_of([](security_options& what) { what.operators.pinned_accounts = {"abc"}; }),
            "pinned account key \"abc\" is not a valid public account nkey");
  EXPECT_TRUE(check_operators({}));
}

}  // namespace
}  // namespace tern::server
