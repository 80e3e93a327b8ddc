#include "auth/token.hpp"

#include "auth/claims.hpp"
#include "auth/credentials.hpp"

#include <gtest/gtest.h>

namespace tern::auth {
namespace {

key_seed some_seed(key_kind kind, unsigned char first) {
  key_seed out{.kind = kind, .secret = {}};
  out.secret[0] = first;
  return out;
}

std::string name_of(const key_seed& seed) { return encode_public_key(seed.kind, public_key_of(seed.secret)); }

// Made by the peer's own tools.
constexpr std::string_view peer_operator =
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJYIiwiaWF0IjoxNzAwMDAwMDAwLCJpc3MiOiJPREVHMkFOTlJNWDNO"
    "RkZTRjczQTRQRTVUWjdOU0ROVk1CRFhGTjJFS0RLQVNFNVpWSEYyNkczUyIsIm5hbWUiOiJvcCIsInN1YiI6Ik9ERUcyQU5OUk1YM05GRlNGNzNB"
    "NFBFNVRaN05TRE5WTUJEWEZOMkVLREtBU0U1WlZIRjI2RzNTIiwibmF0cyI6eyJ0eXBlIjoib3BlcmF0b3IiLCJ2ZXJzaW9uIjoyfX0.GHPPHOnF"
    "-lm0eP6gx84uXc_0G8PhLXytrq_udAcu7VHBNZx-1S5Unjt4PHKHSPvw4OzaBNZmNNHC5lxO1bA1BA";

TEST(token, one_that_the_peer_signed_is_opened_core_3_5) {
  const auto claims = open_claims<operator_claims>(peer_operator);
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(claims->sub, "ODEG2ANNRMX3NFFSF73A4PE5TZ7NSDNVMBDXFN2EKDKASE5ZVHF26G3S");
  EXPECT_EQ(claims->iat, 1'700'000'000);
  EXPECT_FALSE(open_claims<account_claims>(peer_operator)) << "another type";
}

TEST(token, any_changed_letter_is_refused_core_3_5) {
  for (std::size_t at = 0; at < peer_operator.size(); ++at) {
    std::string changed(peer_operator);
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    // The last letter's lowest bits are of no byte.
    if (at + 1 == peer_operator.size()) continue;
    EXPECT_FALSE(open_token(changed)) << at;
  }
  EXPECT_FALSE(open_token(""));
  EXPECT_FALSE(open_token("a.b"));
  EXPECT_FALSE(open_token(std::string(peer_operator) + ".x"));
  EXPECT_FALSE(open_token(std::string(token_size_max + 1, 'a')));
}

TEST(token, what_was_sealed_is_opened_core_3_5) {
  const key_seed account = some_seed(key_kind::account, 3);
  const std::string claims = R"({"iss":")" + name_of(account) + R"(","name":"x"})";
  EXPECT_EQ(open_token(seal_token(claims, account)), claims);
  EXPECT_FALSE(open_token(seal_token(claims, some_seed(key_kind::account, 4)))) << "signed by another key";
}

TEST(token, who_may_issue_what_is_checked_core_3_5) {
  const key_seed user = some_seed(key_kind::user, 1), account = some_seed(key_kind::account, 2);
  const auto claims = [](const key_seed& issuer, const std::string& subject, const std::string& more) {
    return R"({"iss":")" + name_of(issuer) + R"(","sub":")" + subject + R"(","nats":{)" + more + "}}";
  };
  const std::string block = R"("type":"user","version":2)";
  EXPECT_TRUE(read_claims<user_claims>(claims(account, name_of(user), block)));
  EXPECT_FALSE(read_claims<user_claims>(claims(user, name_of(user), block))) << "a user issues nobody";
  EXPECT_FALSE(read_claims<user_claims>(claims(account, "someone", block)));
  EXPECT_FALSE(read_claims<user_claims>(claims(account, name_of(user), R"("type":"user","version":1)")));
  EXPECT_FALSE(read_claims<user_claims>("[]"));
}

TEST(token, lines_around_it_are_taken_off_core_3_5) {
  EXPECT_EQ(undecorate_token(" a.b.c\n"), "a.b.c");
  EXPECT_EQ(undecorate_token("x\n-----BEGIN NATS OPERATOR JWT-----\na---b.c.d\n------END NATS OPERATOR JWT------\n"),
            "a---b.c.d");
  EXPECT_EQ(undecorate_token("-----BEGIN NATS OPERATOR JWT-----"), "");
}

TEST(claims, forms_with_two_spellings_are_read_core_3_5) {
  const key_seed account = some_seed(key_kind::account, 2);
  const std::string key = name_of(account);
  const auto read = read_claims<account_claims>(
      R"({"iss":")" + key + R"(","sub":")" + key + R"(","nats":{"type":"account","version":2,"limits":{"conn":5,)" +
      R"("mem_storage":7,"subs":-1},"signing_keys":["AK",{"kind":"user_scope","key":"AS","role":"r",)" +
      R"("template":{"pub":{"allow":["x"]},"src":"10.0.0.0/8, fd00::/8","subs":-1}}],)" +
      R"("exports":[{"subject":"q","type":"service","service_latency":{"sampling":"headers","results":"l"}}],)" +
      R"("mappings":{"in":[{"subject":"out"}]},"revocations":{"*":3}}})");
  ASSERT_TRUE(read) << read.error().message();
  const account_block& block = read->nats;
  EXPECT_EQ(block.limits.conn, 5);
  EXPECT_EQ(block.limits.jetstream.mem_storage, 7);
  ASSERT_EQ(block.signing_keys.size(), 2u);
  EXPECT_EQ(block.signing_keys[0].key, "AK");
  EXPECT_FALSE(block.signing_keys[0].scope);
  ASSERT_TRUE(block.signing_keys[1].scope);
  EXPECT_EQ(block.signing_keys[1].scope->src.networks, (std::vector<std::string>{"10.0.0.0/8", "fd00::/8"}));
  EXPECT_EQ(block.exports[0].service_latency->sampling.percent, 0);
  EXPECT_EQ(block.mappings.at("in")[0].subject, "out");
  const auto again = codec::read_json<account_claims>(codec::to_json(*read));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->nats.signing_keys[1].scope, block.signing_keys[1].scope);
}

TEST(credentials, are_written_and_read_and_sign_a_nonce_core_3_5) {
  const user_credentials mine{.token = "a.b---.c", .seed = some_seed(key_kind::user, 9)};
  const auto read = read_credentials(write_credentials(mine));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->token, mine.token);
  EXPECT_EQ(read->seed.secret, mine.seed.secret);
  const std::string signature = sign_nonce(read->seed, "nonce");
  EXPECT_TRUE(nonce_signature_is_valid(name_of(mine.seed), "nonce", signature));
  EXPECT_TRUE(nonce_signature_is_valid(name_of(mine.seed), "nonce", signature + "=="));
  EXPECT_FALSE(nonce_signature_is_valid(name_of(mine.seed), "other", signature));
  EXPECT_FALSE(read_credentials("-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n"));
  EXPECT_FALSE(read_credentials(write_credentials({"a.b.c", some_seed(key_kind::account, 1)})));
  EXPECT_EQ(read_seed_file(encode_seed(mine.seed) + "\n")->secret, mine.seed.secret);
}

}  // namespace
}  // namespace tern::auth
