// How the peer encrypts its files at rest, for reading. The server's key and the account make, with a context, the key
// that a `*.key` file's seed is sealed with; metadata is sealed with the seed, message blocks are a key stream of it.
//
//   key of a context   HMAC-SHA-256(server key, account || context)
//   contexts           "<stream>" (meta.inf, index.db), "<stream>:<n>" (n.blk), "<stream>.<consumer>"
//   seals              XChaCha20-Poly1305, or AES-256-GCM with a nonce of 16 bytes; nonce first
//   blocks             XChaCha20, or AES-256-CTR, from the nonce of the key file on
//
// Which cipher it was is found out by opening the seed. One thread.
#pragma once

#include <tern/base/error.hpp>

#include <string>
#include <string_view>

namespace tern::storage::archive {

class peer_keys {
 public:
  peer_keys(std::string server_key, std::string account)
      : server_key_(std::move(server_key)), account_(std::move(account)) {}
  bool given() const { return !server_key_.empty(); }

  enum class cipher { chacha, aes };
  struct asset_key {
    cipher kind = cipher::chacha;
    std::string seed, nonce;
  };
  // Opens a key file. errc::invalid_argument when this is not the key.
  result<asset_key> open(std::string_view key_file, std::string_view context) const;

  static result<std::string> unseal(const asset_key& key, std::string_view sealed);
  // A block as it is on disk, in place.
  static result<void> decrypt_block(const asset_key& key, std::string& block);

 private:
  std::string server_key_, account_;
};

}  // namespace tern::storage::archive
