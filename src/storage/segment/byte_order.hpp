// Little-endian numbers, varints and counted text, as the store's files carry them. Readers are total: any bytes are
// safe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tern::storage {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian; a big-endian build needs swaps here");

template <class Number>
void put(char* to, Number value) {
  std::memcpy(to, &value, sizeof value);
}

template <class Number>
Number get(const char* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Number>
void append_number(std::string& out, Number value) {
  char bytes[sizeof value];
  put(bytes, value);
  out.append(bytes, sizeof bytes);
}

inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

inline void append_signed_varint(std::string& out, std::int64_t value) {
  append_varint(out, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

inline void append_text(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out.append(text);
}

// Reads what the functions above wrote. After the first thing that does not fit, ok() is false and all reads give
// zeros.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == end_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }

  template <class Number>
  Number number() {
    if (remaining() < sizeof(Number)) return fail<Number>();
    const auto value = get<Number>(at_);
    at_ += sizeof(Number);
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail<std::uint64_t>();
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail<std::uint64_t>();
  }

  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }

  std::string_view text() {
    const std::uint64_t size = varint();
    if (!ok_ || size > remaining()) return fail<std::string_view>();
    const std::string_view value(at_, static_cast<std::size_t>(size));
    at_ += size;
    return value;
  }

  std::string_view rest() {
    const std::string_view value(at_, remaining());
    at_ = end_;
    return value;
  }

 private:
  template <class Value>
  Value fail() {
    ok_ = false;
    at_ = end_;
    return Value{};
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace tern::storage
