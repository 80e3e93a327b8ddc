// JSON Web Tokens as NATS signs them (core 3.5): `header.claims.signature`, Ed25519 by the nkey that the claims name as
// their issuer. Says that a token is whole; whether the issuer is trusted is for others to say. Stateless; any thread.
//     auto claims = open_token(text);          // JSON, or why not
//     std::string text = seal_token(claims, account_seed);
#pragma once

#include "auth/nkey.hpp"

#include <tern/base/error.hpp>

#include <string>
#include <string_view>

namespace tern::auth {

inline constexpr std::size_t token_size_max = std::size_t{1} << 20;  // more than any account needs; less than a payload

// The word on the lines behind the one with `mark`; empty when there is none.
std::string_view word_after_mark(std::string_view text, std::string_view mark);
// What stands between `-----BEGIN NATS ... JWT-----` and its END, or the text itself without blanks around it.
std::string_view undecorate_token(std::string_view text);

// The claims of a token whose signature is by its own `iss`: an operator, account, user or server key.
result<std::string> open_token(std::string_view text);
// `claims` name the seed's public key as `iss`.
std::string seal_token(std::string_view claims, const key_seed& seed);

// Of any kind that may issue tokens; the kind is the first letter's.
struct named_key {
  key_kind kind = key_kind::user;
  key_bytes key{};
};
result<named_key> decode_any_public_key(std::string_view text);

}  // namespace tern::auth
