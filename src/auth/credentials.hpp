// A credentials file: a user's token and the seed that signs the server's nonce (core 3.5). Stateless; any thread.
//     auto mine = read_credentials(text);
//     connect.jwt = mine->token;
//     connect.sig = sign_nonce(mine->seed, info.nonce);
#pragma once

#include "auth/nkey.hpp"

#include <tern/base/error.hpp>

#include <string>
#include <string_view>

namespace tern::auth {

struct user_credentials {
  std::string token;
  key_seed seed;
};

result<user_credentials> read_credentials(std::string_view text);
std::string write_credentials(const user_credentials& what);

// A file with a seed alone, or between marks.
result<key_seed> read_seed_file(std::string_view text);

// As CONNECT has it in `sig`.
std::string sign_nonce(const key_seed& seed, std::string_view nonce);
// Base64 with or without padding, of either alphabet.
bool nonce_signature_is_valid(std::string_view public_key, std::string_view nonce, std::string_view coded);

}  // namespace tern::auth
