#include "auth/credentials.hpp"

#include "auth/token.hpp"

#include <tern/codec/json.hpp>

namespace tern::auth {
namespace {

constexpr std::string_view seed_mark = "BEGIN USER NKEY SEED", token_mark = "BEGIN NATS USER JWT";

}  // namespace

result<user_credentials> read_credentials(std::string_view text) {
  user_credentials out;
  out.token = word_after_mark(text, token_mark);
  if (out.token.empty()) return fail(errc::decode_error, "no user JWT in the credentials");
  const std::string_view seed = word_after_mark(text, seed_mark);
  if (seed.empty()) return fail(errc::decode_error, "no seed in the credentials");
  const auto key = decode_seed(seed);
  if (!key) return fail(errc::decode_error, "the seed of the credentials is not valid");
  if (key->kind != key_kind::user) return fail(errc::decode_error, "the seed of the credentials is not a user's");
  out.seed = *key;
  return out;
}

std::string write_credentials(const user_credentials& what) {
  return "-----BEGIN NATS USER JWT-----\n" + what.token +
         "\n------END NATS USER JWT------\n\n"
         "************************* IMPORTANT *************************\n"
         "NKEY Seed printed below can be used to sign and prove identity.\n"
         "NKEYs are sensitive and should be treated as secrets.\n\n" +
         "-----" + std::string(seed_mark) + "-----\n" + encode_seed(what.seed) + "\n------END USER NKEY SEED------\n";
}

result<key_seed> read_seed_file(std::string_view text) {
  const std::string_view marked = word_after_mark(text, seed_mark);
  return decode_seed(marked.empty() ? undecorate_token(text) : marked);
}

std::string sign_nonce(const key_seed& seed, std::string_view nonce) {
  return encode_base64url(sign(seed.secret, nonce));
}

bool nonce_signature_is_valid(std::string_view public_key, std::string_view nonce, std::string_view coded) {
  const auto key = decode_public_key(key_kind::user, public_key);
  if (!key || coded.size() > 128) return false;
  const auto signature = codec::from_base64(coded);
  return signature && signature_is_valid(*key, nonce, *signature);
}

}  // namespace tern::auth
