#include "auth/password.hpp"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <memory>

namespace tern::auth {

bool is_bcrypt(std::string_view stored) {
  if (stored.size() < 7 || !stored.starts_with("$2") || stored[3] != '$' || stored[6] != '$') return false;
  return std::string_view("abxy").find(stored[2]) != std::string_view::npos;
}

bool bcrypt_matches(std::string_view stored, std::string_view shown) {
  const auto scratch = std::make_unique<crypt_data>();
  const std::string hash(stored);
  // What follows a zero byte, and what exceeds 72 bytes, does not count for the hash; so such passwords are refused.
  if (shown.find('\0') != std::string_view::npos) return false;
  const std::string text(shown);
  const char* const made = crypt_r(text.c_str(), hash.c_str(), scratch.get());
  return made != nullptr && equal_secret(made, hash);
}

bool equal_secret(std::string_view stored, std::string_view shown) {
  // Digests have one length, whatever is compared.
  unsigned char left[SHA256_DIGEST_LENGTH], right[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(stored.data()), stored.size(), left);
  SHA256(reinterpret_cast<const unsigned char*>(shown.data()), shown.size(), right);
  return CRYPTO_memcmp(left, right, sizeof left) == 0;
}

}  // namespace tern::auth
