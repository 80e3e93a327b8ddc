#include "server/server_identity.hpp"

#include "runtime/random.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <memory>
#include <string_view>
#include <vector>

namespace tern::server {
namespace {

std::vector<unsigned char> decoded(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::vector<unsigned char> out;
  unsigned bits = 0;
  int held = 0;
  for (const char letter : text) {
    bits = (bits << 5) | static_cast<unsigned>(alphabet.find(letter));
    if ((held += 5) < 8) continue;
    held -= 8;
    out.push_back(static_cast<unsigned char>(bits >> held));
  }
  return out;
}

TEST(server_identity, the_id_verifies_what_the_seed_signs_core_1_1) {
  runtime::seeded_random randomness{3};
  const server_identity made(randomness);
  EXPECT_EQ(made.id.size(), 56u);
  EXPECT_EQ(made.id.front(), 'N');
  EXPECT_EQ(made.curve_key.front(), 'X');
  const auto free = [](auto* key) { EVP_PKEY_free(key); };
  const std::unique_ptr<EVP_PKEY, decltype(free)> secret(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, made.signing_seed.data(), 32));
  const std::vector<unsigned char> raw = decoded(made.id);
  const std::unique_ptr<EVP_PKEY, decltype(free)> open(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data() + 1, 32));
  const unsigned char text[] = "a claim";
  unsigned char signature[64];
  std::size_t size = sizeof signature;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> work(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  ASSERT_EQ(EVP_DigestSignInit(work.get(), nullptr, nullptr, nullptr, secret.get()), 1);
  ASSERT_EQ(EVP_DigestSign(work.get(), signature, &size, text, sizeof text), 1);
  EVP_MD_CTX_reset(work.get());
  ASSERT_EQ(EVP_DigestVerifyInit(work.get(), nullptr, nullptr, nullptr, open.get()), 1);
  EXPECT_EQ(EVP_DigestVerify(work.get(), signature, size, text, sizeof text), 1);
}

TEST(server_identity, the_same_randomness_gives_the_same_server) {
  runtime::seeded_random first{5}, again{5}, other{6};
  const server_identity one(first), two(again), three(other);
  EXPECT_EQ(one.id, two.id);
  EXPECT_EQ(one.curve_key, two.curve_key);
  EXPECT_NE(one.id, three.id);
}

}  // namespace
}  // namespace tern::server
