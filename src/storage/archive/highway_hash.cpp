#include "storage/archive/highway_hash.hpp"

#include <algorithm>
#include <cstring>

#include <openssl/sha.h>

namespace tern::storage::archive {
namespace {

constexpr std::uint64_t start0[4] = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3};
constexpr std::uint64_t start1[4] = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377};

std::uint64_t swap_halves(std::uint64_t value) { return value >> 32 | value << 32; }

// Bytes of two words change places and are added to two others.
void zipper_merge(std::uint64_t high, std::uint64_t low, std::uint64_t& to_high, std::uint64_t& to_low) {
  to_low += (((low & 0xff000000) | (high & 0xff00000000)) >> 24) |
            (((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16) | (low & 0xff0000) | ((low & 0xff00) << 32) |
            ((high & 0xff00000000000000) >> 8) | (low << 56);
  to_high += (((high & 0xff000000) | (low & 0xff00000000)) >> 24) | (high & 0xff0000) |
             ((high & 0xff0000000000) >> 16) | ((high & 0xff00) << 24) | ((low & 0xff000000000000) >> 8) |
             ((high & 0xff) << 48) | (low & 0xff00000000000000);
}

std::uint64_t rotate_halves(std::uint64_t value, unsigned count) {
  const auto low = static_cast<std::uint32_t>(value), high = static_cast<std::uint32_t>(value >> 32);
  const auto rotate = [count](std::uint32_t half) { return count == 0 ? half : half << count | half >> (32 - count); };
  return std::uint64_t{rotate(high)} << 32 | rotate(low);
}

}  // namespace

highway_hash::key highway_hash::key_of(std::string_view name) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest);
  key made;
  std::memcpy(made.data(), digest, sizeof digest);
  return made;
}

highway_hash::highway_hash(const key& with) {
  for (std::size_t i = 0; i < 4; ++i) {
    state_.mul0[i] = start0[i];
    state_.mul1[i] = start1[i];
    state_.v0[i] = start0[i] ^ with[i];
    state_.v1[i] = start1[i] ^ swap_halves(with[i]);
  }
}

void highway_hash::lanes::update(const std::uint64_t (&words)[4]) {
  for (int i = 0; i < 4; ++i) {
    v1[i] += mul0[i] + words[i];
    mul0[i] ^= (v1[i] & 0xffffffff) * (v0[i] >> 32);
    v0[i] += mul1[i];
    mul1[i] ^= (v0[i] & 0xffffffff) * (v1[i] >> 32);
  }
  zipper_merge(v1[1], v1[0], v0[1], v0[0]);
  zipper_merge(v1[3], v1[2], v0[3], v0[2]);
  zipper_merge(v0[1], v0[0], v1[1], v1[0]);
  zipper_merge(v0[3], v0[2], v1[3], v1[2]);
}

void highway_hash::lanes::update(const char* packet) {
  std::uint64_t words[4];
  std::memcpy(words, packet, sizeof words);
  update(words);
}

// The last 1 to 31 bytes, spread over a packet in the way that the definition says.
void highway_hash::lanes::update_rest(const char* bytes, std::size_t size) {
  const std::size_t odd = size & 3;
  const char* rest = bytes + (size & ~std::size_t{3});
  for (auto& each : v0) each += (std::uint64_t{size} << 32) + size;
  for (auto& each : v1) each = rotate_halves(each, static_cast<unsigned>(size));
  char packet[32] = {};
  std::memcpy(packet, bytes, size & ~std::size_t{3});
  if ((size & 16) != 0) {
    for (std::size_t i = 0; i < 4; ++i) packet[28 + i] = bytes[size - 4 + i];
  } else if (odd != 0) {
    packet[16] = rest[0];
    packet[17] = rest[odd >> 1];
    packet[18] = rest[odd - 1];
  }
  update(packet);
}

highway_hash& highway_hash::update(std::string_view bytes) {
  if (bytes.empty()) return *this;
  if (count_ > 0) {
    const std::size_t take = std::min(bytes.size(), sizeof waiting_ - count_);
    std::memcpy(waiting_ + count_, bytes.data(), take);
    count_ += take;
    bytes.remove_prefix(take);
    if (count_ < sizeof waiting_) return *this;
    state_.update(waiting_);
    count_ = 0;
  }
  for (; bytes.size() >= sizeof waiting_; bytes.remove_prefix(sizeof waiting_)) state_.update(bytes.data());
  if (!bytes.empty()) std::memcpy(waiting_, bytes.data(), bytes.size());
  count_ = bytes.size();
  return *this;
}

std::uint64_t highway_hash::finish() const {
  lanes last = state_;
  if (count_ > 0) last.update_rest(waiting_, count_);
  for (int round = 0; round < 4; ++round) {
    const std::uint64_t turned[4] = {swap_halves(last.v0[2]), swap_halves(last.v0[3]), swap_halves(last.v0[0]),
                                     swap_halves(last.v0[1])};
    last.update(turned);
  }
  return last.v0[0] + last.v1[0] + last.mul0[0] + last.mul1[0];
}

std::string hash_text(std::uint64_t hash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 8; ++i, hash >>= 8) text.append({digits[hash >> 4 & 15], digits[hash & 15]});
  return text;
}

}  // namespace tern::storage::archive
