#include "storage/index/subject_pattern.hpp"

namespace tern::storage {

bool is_literal(std::string_view pattern) {
  for (token_reader tokens{pattern}; !tokens.done;) {
    const auto token = tokens.next();
    if (token == "*" || (token == ">" && tokens.done)) return false;
  }
  return true;
}

bool pattern_matches(std::string_view pattern, std::string_view subject) {
  token_reader wanted{pattern}, given{subject};
  while (!wanted.done && !given.done) {
    const auto token = wanted.next();
    if (token == ">" && wanted.done) return true;
    const auto other = given.next();
    if (token != "*" && token != other) return false;
  }
  return wanted.done && given.done;
}

bool patterns_overlap(std::string_view left, std::string_view right) {
  token_reader one{left}, two{right};
  while (!one.done && !two.done) {
    const auto first = one.next();
    const auto second = two.next();
    if ((first == ">" && one.done) || (second == ">" && two.done)) return true;
    if (first != "*" && second != "*" && first != second) return false;
  }
  return one.done && two.done;
}

bool pattern_contains(std::string_view outer, std::string_view inner) {
  token_reader wanted{outer}, given{inner};
  while (!wanted.done && !given.done) {
    const auto token = wanted.next();
    if (token == ">" && wanted.done) return true;
    const auto other = given.next();
    if (other == ">" && given.done) return false;
    if (token != "*" && token != other) return false;
  }
  return wanted.done && given.done;
}

}  // namespace tern::storage
