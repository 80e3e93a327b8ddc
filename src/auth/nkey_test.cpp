#include "auth/nkey.hpp"

#include <tern/codec/json.hpp>

#include <gtest/gtest.h>

namespace tern::auth {
namespace {

key_bytes some_bytes(int factor) {
  key_bytes key{};
  for (std::size_t at = 0; at < key.size(); ++at) key[at] = static_cast<unsigned char>(static_cast<int>(at) * factor);
  return key;
}

TEST(nkey, a_public_key_has_56_letters_of_base32_and_begins_with_its_kind_core_3_1) {
  const std::string server = encode_public_key(key_kind::server, some_bytes(7));
  EXPECT_EQ(server.size(), 56u);
  EXPECT_EQ(server[0], 'N');
  EXPECT_EQ(server.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), std::string::npos);
  for (const auto& [kind, letter] :
       {std::pair{key_kind::account, 'A'}, {key_kind::operator_, 'O'}, {key_kind::user, 'U'}, {key_kind::curve, 'X'}})
    EXPECT_EQ(encode_public_key(kind, some_bytes(3))[0], letter);
}

TEST(nkey, what_was_encoded_is_decoded_and_one_changed_letter_is_refused_core_3_1) {
  const key_bytes key = some_bytes(11);
  const std::string text = encode_public_key(key_kind::user, key);
  EXPECT_EQ(decode_public_key(key_kind::user, text), key);
  EXPECT_FALSE(decode_public_key(key_kind::account, text));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(decode_public_key(key_kind::user, changed)) << at;
  }
  EXPECT_FALSE(decode_public_key(key_kind::user, "UABC"));
  EXPECT_FALSE(decode_public_key(key_kind::user, ""));
  EXPECT_FALSE(decode_public_key(key_kind::user, std::string(56, '@')));
}

TEST(nkey, a_seed_of_the_peers_tools_gives_the_peers_public_key_core_3_1) {
  const auto seed = decode_seed("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY");
  ASSERT_TRUE(seed) << seed.error().message();
  EXPECT_EQ(seed->kind, key_kind::user);
  EXPECT_EQ(encode_public_key(key_kind::user, public_key_of(seed->secret)),
            "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
  EXPECT_EQ(encode_seed(*seed), "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY");
}

TEST(nkey, only_the_signature_of_this_text_by_this_key_is_valid_core_3_1) {
  const key_bytes secret = some_bytes(5);
  const key_bytes key = public_key_of(secret);
  const std::string signature = sign(secret, "nonce");
  EXPECT_TRUE(signature_is_valid(key, "nonce", signature));
  EXPECT_FALSE(signature_is_valid(key, "nonc", signature));
  EXPECT_FALSE(signature_is_valid(public_key_of(some_bytes(6)), "nonce", signature));
  EXPECT_FALSE(signature_is_valid(key, "nonce", signature.substr(1)));
  EXPECT_FALSE(signature_is_valid(key, "nonce", {}));
}

TEST(base64url, round_trips_every_length) {
  std::string bytes;
  for (int size = 0; size < 70; ++size) {
    EXPECT_EQ(codec::from_base64(encode_base64url(bytes)), bytes);
    bytes += static_cast<char>(size * 37);
  }
}

}  // namespace
}  // namespace tern::auth
