#include "storage/segment/name_encoding.hpp"

#include "base/hash.hpp"

namespace tern::storage {

namespace {
constexpr std::size_t name_limit = 200;  // file systems allow 255 bytes; the rest is for the hash
constexpr char upper_digits[] = "0123456789ABCDEF";
constexpr char lower_digits[] = "0123456789abcdef";

bool stands_for_itself(char c, bool first) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c == '-' || c == '_' || c == '$' || (c == '.' && !first);
}
}  // namespace

std::string encode_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (stands_for_itself(c, out.empty())) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', upper_digits[byte >> 4], upper_digits[byte & 15]});
    }
  }
  if (out.empty()) out = "%";
  if (out.size() > name_limit) {
    out.resize(name_limit - 17);
    out.push_back('~');
    out.append(hex_number(hash64(name)));
  }
  return out;
}

std::string hex_number(unsigned long long value) {
  std::string out(16, '0');
  for (std::size_t at = 16; at-- > 0; value >>= 4) out[at] = lower_digits[value & 15];
  return out;
}

bool parse_hex_number(std::string_view text, unsigned long long& value) {
  if (text.size() != 16) return false;
  value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    value = value << 4 | static_cast<unsigned>(digit);
  }
  return true;
}

}  // namespace tern::storage
