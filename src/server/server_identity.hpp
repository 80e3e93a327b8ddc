// The two key pairs of a server: Ed25519 for its id, with which it can sign, and X25519 for what is sealed to it
// (core 1.1, 3.6). Made from the Random seam, so that a simulation repeats them. Plain values.
#pragma once

#include <array>
#include <string>

namespace tern::runtime {
class random;
}

namespace tern::server {

using key_seed = std::array<unsigned char, 32>;

struct server_identity {
  key_seed signing_seed{}, curve_seed{};  // secret
  std::string id;                         // N..., the public key of the first
  std::string curve_key;                  // X..., that of the second

  explicit server_identity(runtime::random& randomness);
};

}  // namespace tern::server
