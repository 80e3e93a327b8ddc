#include "server/server_identity.hpp"

#include "auth/nkey.hpp"
#include "runtime/random.hpp"

#include <openssl/evp.h>

#include <cassert>
#include <memory>

namespace tern::server {
namespace {

key_seed public_key_of(int type, const key_seed& secret) {
  key_seed out{};
  std::size_t size = out.size();
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_private_key(type, nullptr, secret.data(), secret.size()), EVP_PKEY_free);
  [[maybe_unused]] const bool made = key && EVP_PKEY_get_raw_public_key(key.get(), out.data(), &size) == 1;
  assert(made && "any 32 bytes are a secret key");
  return out;
}

key_seed random_seed(runtime::random& randomness) {
  key_seed out{};
  randomness.fill(out);
  return out;
}

}  // namespace

server_identity::server_identity(runtime::random& randomness)
    : signing_seed(random_seed(randomness)),
      curve_seed(random_seed(randomness)),
      id(auth::encode_public_key(auth::key_kind::server, public_key_of(EVP_PKEY_ED25519, signing_seed))),
      curve_key(auth::encode_public_key(auth::key_kind::curve, public_key_of(EVP_PKEY_X25519, curve_seed))) {}

}  // namespace tern::server
