#include "auth/nkey.hpp"

#include <openssl/evp.h>

#include <cassert>
#include <memory>

namespace tern::auth {
namespace {

constexpr std::uint8_t seed_prefix = 18 << 3;  // S

// CRC-16/XMODEM.
std::uint16_t checksum(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char byte : bytes) {
    crc = static_cast<std::uint16_t>(crc ^ (static_cast<unsigned char>(byte) << 8));
    for (int bit = 0; bit < 8; ++bit)
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
  }
  return crc;
}

std::string encode_base32(std::string_view raw) {
  constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string out;
  out.reserve((raw.size() * 8 + 4) / 5);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : raw) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 5; held -= 5) out += alphabet[(bits >> (held - 5)) & 31];
  }
  if (held > 0) out += alphabet[(bits << (5 - held)) & 31];
  return out;
}

result<std::string> decode_base32(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 5 / 8);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    std::uint32_t value = 0;
    if (letter >= 'A' && letter <= 'Z')
      value = static_cast<std::uint32_t>(letter - 'A');
    else if (letter >= '2' && letter <= '7')
      value = static_cast<std::uint32_t>(letter - '2' + 26);
    else
      return fail(errc::invalid_argument, "not a letter of a key");
    bits = (bits << 5) | value;
    if ((held += 5) < 8) continue;
    held -= 8;
    out += static_cast<char>((bits >> held) & 0xff);
  }
  return out;
}

std::string with_checksum(std::string raw) {
  const std::uint16_t crc = checksum(raw);
  raw += static_cast<char>(crc & 0xff);
  raw += static_cast<char>(crc >> 8);
  return raw;
}

// The bytes without their checksum, which held.
result<std::string> decode_checked(std::string_view text, std::size_t size) {
  auto raw = decode_base32(text);
  if (!raw) return raw;
  if (raw->size() != size + 2) return fail(errc::invalid_argument, "a key has another length");
  if (with_checksum(raw->substr(0, size)) != *raw)
    return fail(errc::invalid_argument, "the checksum of a key is wrong");
  raw->resize(size);
  return raw;
}

using key_handle = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using digest_handle = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

std::string encode_public_key(key_kind kind, const key_bytes& key) {
  std::string raw(1, static_cast<char>(kind));
  raw.append(key.begin(), key.end());
  return encode_base32(with_checksum(std::move(raw)));
}

result<key_bytes> decode_public_key(key_kind kind, std::string_view text) {
  const auto raw = decode_checked(text, 33);
  if (!raw) return std::unexpected(raw.error());
  if (static_cast<std::uint8_t>((*raw)[0]) != static_cast<std::uint8_t>(kind))
    return fail(errc::invalid_argument, "a key of another kind");
  key_bytes out{};
  for (std::size_t at = 0; at < out.size(); ++at) out[at] = static_cast<unsigned char>((*raw)[at + 1]);
  return out;
}

bool is_public_key(key_kind kind, std::string_view text) { return decode_public_key(kind, text).has_value(); }

// Five bits say that it is a seed, the next eight of what kind.
result<key_seed> decode_seed(std::string_view text) {
  const auto raw = decode_checked(text, 34);
  if (!raw) return std::unexpected(raw.error());
  const auto first = static_cast<std::uint8_t>((*raw)[0]), second = static_cast<std::uint8_t>((*raw)[1]);
  if ((first & 0xf8) != seed_prefix) return fail(errc::invalid_argument, "a key that is no seed");
  key_seed out;
  out.kind = static_cast<key_kind>(static_cast<std::uint8_t>((first & 7) << 5 | (second & 0xf8) >> 3));
  for (std::size_t at = 0; at < out.secret.size(); ++at) out.secret[at] = static_cast<unsigned char>((*raw)[at + 2]);
  return out;
}

std::string encode_seed(const key_seed& seed) {
  const auto kind = static_cast<std::uint8_t>(seed.kind);
  std::string raw(1, static_cast<char>(seed_prefix | kind >> 5));
  raw += static_cast<char>((kind & 31) << 3);
  raw.append(seed.secret.begin(), seed.secret.end());
  return encode_base32(with_checksum(std::move(raw)));
}

key_bytes public_key_of(const key_bytes& secret) {
  key_bytes out{};
  std::size_t size = out.size();
  const key_handle key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(), secret.size()),
                       EVP_PKEY_free);
  [[maybe_unused]] const bool made = key && EVP_PKEY_get_raw_public_key(key.get(), out.data(), &size) == 1;
  assert(made && "any 32 bytes are a secret key");
  return out;
}

std::string sign(const key_bytes& secret, std::string_view text) {
  std::string out(64, '\0');
  std::size_t size = out.size();
  const key_handle key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(), secret.size()),
                       EVP_PKEY_free);
  const digest_handle digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  [[maybe_unused]] const bool made = EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                                     EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                                                    bytes_of(text), text.size()) == 1;
  assert(made && size == 64);
  return out;
}

bool signature_is_valid(const key_bytes& key, std::string_view text, std::string_view signature) {
  if (signature.size() != 64) return false;
  const key_handle handle(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()),
                          EVP_PKEY_free);
  const digest_handle digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return handle && EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, handle.get()) == 1 &&
         EVP_DigestVerify(digest.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()) == 1;
}

std::string encode_base64url(std::string_view bytes) {
  constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  out.reserve((bytes.size() * 8 + 5) / 6);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) out += alphabet[(bits >> (held - 6)) & 63];
  }
  if (held > 0) out += alphabet[(bits << (6 - held)) & 63];
  return out;
}

}  // namespace tern::auth
