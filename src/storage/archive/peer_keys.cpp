#include "storage/archive/peer_keys.hpp"

#include <memory>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>

namespace tern::storage::archive {
namespace {

constexpr std::size_t seed_size = 32, tag_size = 16;
constexpr std::size_t chacha_nonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, aes_nonce = 16;
constexpr std::size_t key_file_min = 64;

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

std::size_t nonce_size(peer_keys::cipher kind) { return kind == peer_keys::cipher::chacha ? chacha_nonce : aes_nonce; }

struct context_deleter {
  void operator()(EVP_CIPHER_CTX* what) const { EVP_CIPHER_CTX_free(what); }
};
using cipher_context = std::unique_ptr<EVP_CIPHER_CTX, context_deleter>;

bool open_aes(std::string_view key, std::string_view nonce, std::string_view sealed, std::string& plain) {
  const std::string_view body = sealed.substr(0, sealed.size() - tag_size);
  std::string tag(sealed.substr(sealed.size() - tag_size));
  plain.resize(body.size());
  const cipher_context context(EVP_CIPHER_CTX_new());
  int done = 0, end = 0;
  return context != nullptr && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, nullptr, nullptr) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_IVLEN, static_cast<int>(aes_nonce), nullptr) == 1 &&
         EVP_DecryptInit_ex(context.get(), nullptr, nullptr, raw(key), raw(nonce)) == 1 &&
         EVP_DecryptUpdate(context.get(), raw(plain), &done, raw(body), static_cast<int>(body.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(tag_size), tag.data()) == 1 &&
         EVP_DecryptFinal_ex(context.get(), raw(plain) + done, &end) == 1;
}

bool open_chacha(std::string_view key, std::string_view nonce, std::string_view sealed, std::string& plain) {
  plain.resize(sealed.size() - tag_size);
  return crypto_aead_xchacha20poly1305_ietf_decrypt(raw(plain), nullptr, nullptr, raw(sealed), sealed.size(), nullptr,
                                                    0, raw(nonce), raw(key)) == 0;
}

// `sealed` begins with the nonce.
bool open_seal(peer_keys::cipher kind, std::string_view key, std::string_view sealed, std::string& plain) {
  const std::size_t nonce = nonce_size(kind);
  if (sealed.size() < nonce + tag_size || sealed.size() > 0x7fffffff) return false;
  const auto open = kind == peer_keys::cipher::chacha ? open_chacha : open_aes;
  return open(key, sealed.substr(0, nonce), sealed.substr(nonce), plain);
}

}  // namespace

result<peer_keys::asset_key> peer_keys::open(std::string_view key_file, std::string_view context) const {
  if (key_file.size() < key_file_min) return fail(errc::corrupted, "the key file is too short");
  const std::string about = account_ + std::string(context);
  unsigned char derived[seed_size];
  unsigned size = sizeof derived;
  if (HMAC(EVP_sha256(), server_key_.data(), static_cast<int>(server_key_.size()), raw(about), about.size(), derived,
           &size) == nullptr) {
    return fail(errc::unsupported, "this OpenSSL does not offer HMAC-SHA-256");
  }
  const std::string_view key(reinterpret_cast<const char*>(derived), sizeof derived);
  for (const cipher kind : {cipher::chacha, cipher::aes}) {
    asset_key made{.kind = kind, .seed = {}, .nonce = std::string(key_file.substr(0, nonce_size(kind)))};
    if (open_seal(kind, key, key_file, made.seed) && made.seed.size() == seed_size) return made;
  }
  return fail(errc::invalid_argument, "the key does not open it",
              "give the server's `jetstream { key }`, and the name of the account's folder unchanged");
}

result<std::string> peer_keys::unseal(const asset_key& key, std::string_view sealed) {
  std::string plain;
  if (!open_seal(key.kind, key.seed, sealed, plain)) return fail(errc::corrupted, "an encrypted file is damaged");
  return plain;
}

result<void> peer_keys::decrypt_block(const asset_key& key, std::string& block) {
  if (key.kind == cipher::chacha) {
    crypto_stream_xchacha20_xor(raw(block), raw(block), block.size(), raw(key.nonce), raw(key.seed));
    return {};
  }
  const cipher_context context(EVP_CIPHER_CTX_new());
  int done = 0;
  if (context == nullptr || block.size() > 0x7fffffff ||
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, raw(key.seed), raw(key.nonce)) != 1 ||
      EVP_DecryptUpdate(context.get(), raw(block), &done, raw(block), static_cast<int>(block.size())) != 1) {
    return fail(errc::unsupported, "this OpenSSL does not offer AES-256-CTR");
  }
  return {};
}

}  // namespace tern::storage::archive
