// Keys as NATS writes them: base32 of a prefix, 32 bytes and a checksum (core 3.1). Ed25519 for all but curve keys.
//     auto key = decode_public_key(key_kind::user, "UCXQ...");
//     if (key && signature_is_valid(*key, nonce, signature)) ...
// Stateless; any thread.
#pragma once

#include <tern/base/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::auth {

// The first letter, shifted to where base32 shows it.
enum class key_kind : std::uint8_t {
  account = 0,          // A
  server = 13 << 3,     // N
  operator_ = 14 << 3,  // O
  user = 20 << 3,       // U
  curve = 23 << 3,      // X
};

using key_bytes = std::array<unsigned char, 32>;

// 56 letters and digits.
std::string encode_public_key(key_kind kind, const key_bytes& key);
// Fails for another kind, a wrong length, letter or checksum.
result<key_bytes> decode_public_key(key_kind kind, std::string_view text);
bool is_public_key(key_kind kind, std::string_view text);

// `SU...`, `SA...`: the secret of a pair. Wipe the text when it is done with.
struct key_seed {
  key_kind kind = key_kind::user;
  key_bytes secret{};
};
result<key_seed> decode_seed(std::string_view text);
std::string encode_seed(const key_seed& seed);

key_bytes public_key_of(const key_bytes& secret);
// 64 bytes.
std::string sign(const key_bytes& secret, std::string_view text);
bool signature_is_valid(const key_bytes& key, std::string_view text, std::string_view signature);

// Base64url without padding, as tokens have it; codec::from_base64() reads it.
std::string encode_base64url(std::string_view bytes);

}  // namespace tern::auth
