// Letters of ASCII, whatever the locale: names in protocols and configurations. Stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern {

constexpr char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}
constexpr char upper_case(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - ('a' - 'A')) : letter;
}

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& letter : out) letter = lower_case(letter);
  return out;
}
inline std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& letter : out) letter = upper_case(letter);
  return out;
}

inline bool equal_in_any_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (std::size_t at = 0; at < left.size(); ++at)
    if (lower_case(left[at]) != lower_case(right[at])) return false;
  return true;
}

}  // namespace tern
