#include <array>

#include <tern/codec/json.hpp>

namespace tern::codec {
namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> values = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (int value = 0; value < 64; ++value) {
    table[static_cast<unsigned char>(alphabet[value])] = static_cast<std::int8_t>(value);
  }
  table['-'] = 62;
  table['_'] = 63;
  return table;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = bytes.size() - at < 3 ? bytes.size() - at : 3;
    std::uint32_t group = 0;
    for (std::size_t index = 0; index < 3; ++index) {
      group = group << 8 | (index < count ? static_cast<unsigned char>(bytes[at + index]) : 0u);
    }
    for (std::size_t index = 0; index < 4; ++index) {
      text += index <= count ? alphabet[group >> (18 - 6 * index) & 63] : '=';
    }
  }
  return text;
}

result<std::string> from_base64(std::string_view text) {
  std::size_t size = text.size();
  if (size % 4 == 0) {
    for (int padding = 0; padding < 2 && size > 0 && text[size - 1] == '='; ++padding) --size;
  }
  if (size % 4 == 1) return fail(errc::decode_error, "base64 of a wrong length");
  std::string bytes;
  bytes.reserve(size / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char letter : text.substr(0, size)) {
    const std::int8_t value = values[static_cast<unsigned char>(letter)];
    if (value < 0) return fail(errc::decode_error, "a byte that is no base64");
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return bytes;
}

}  // namespace tern::codec
