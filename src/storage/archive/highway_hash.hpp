// HighwayHash-64, the checksum of the peer's message records and metadata. A plain portable one: Debian's package of it
// is an unmaintained snapshot without a pkg-config file, and the function is a page. Kept up by the test's vectors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::storage::archive {

class highway_hash {
 public:
  using key = std::array<std::uint64_t, 4>;
  // The peer's keys are the SHA-256 of a name.
  static key key_of(std::string_view name);

  explicit highway_hash(const key& with);
  highway_hash& update(std::string_view bytes);
  std::uint64_t finish() const;

 private:
  struct lanes {
    std::uint64_t v0[4], v1[4], mul0[4], mul1[4];
    void update(const char* packet);
    void update(const std::uint64_t (&words)[4]);
    void update_rest(const char* bytes, std::size_t size);
  };
  lanes state_;
  char waiting_[32];
  std::size_t count_ = 0;
};

// As meta.sum has it: the eight bytes in the order of the wire, in hexadecimal.
std::string hash_text(std::uint64_t hash);

}  // namespace tern::storage::archive
