#include "protocol/subject.hpp"

namespace tern::protocol {
namespace {

constexpr std::string_view partial = "*";
constexpr std::string_view full = ">";

bool is_wildcard(std::string_view token) { return token == partial || token == full; }

// The next token; `rest` moves behind its dot. `more` is false after the last one.
std::string_view take_token(std::string_view& rest, bool& more) {
  const std::size_t dot = rest.find('.');
  more = dot != std::string_view::npos;
  const std::string_view token = rest.substr(0, dot);
  rest = more ? rest.substr(dot + 1) : std::string_view();
  return token;
}

bool has_config_blank(std::string_view subject) { return subject.find_first_of(" \t\r\n\f") != std::string_view::npos; }

// Walks both until one ends. `left_part` and `right_part` say whether a token may stand for any token of the other
// side.
template <bool LeftPattern, bool RightPattern, bool Subset>
bool walk(std::string_view left, std::string_view right) {
  for (bool left_more = true, right_more = true;;) {
    const std::string_view left_token = take_token(left, left_more);
    const std::string_view right_token = take_token(right, right_more);
    // A `>` needs at least one token, and there is one.
    if (LeftPattern && left_token == full && !left_more) return true;
    if (RightPattern && right_token == full && !right_more) return !Subset;
    const bool same = left_token == right_token;
    const bool left_any = LeftPattern && left_token == partial;
    const bool right_any = RightPattern && right_token == partial;
    if (Subset ? !same && !left_any : !same && !left_any && !right_any) return false;
    if (!left_more || !right_more) return left_more == right_more;
  }
}

}  // namespace

bool is_valid_subject(std::string_view subject) {
  for (bool more = true; more;) {
    const std::string_view token = take_token(subject, more);
    if (token.empty() || (token == full && more)) return false;
  }
  return true;
}

bool is_valid_literal(std::string_view subject) {
  for (bool more = true; more;) {
    const std::string_view token = take_token(subject, more);
    if (token.empty() || is_wildcard(token)) return false;
  }
  return true;
}

bool is_valid_config_subject(std::string_view subject) {
  return is_valid_subject(subject) && !has_config_blank(subject);
}
bool is_valid_config_literal(std::string_view subject) {
  return is_valid_literal(subject) && !has_config_blank(subject);
}

bool is_literal(std::string_view subject) {
  if (subject.find_first_of("*>") == std::string_view::npos) return true;
  for (bool more = true; more;) {
    if (is_wildcard(take_token(subject, more))) return false;
  }
  return true;
}

std::size_t token_count(std::string_view subject) {
  std::size_t count = 1;
  for (const char letter : subject) count += letter == '.' ? 1 : 0;
  return count;
}

std::string_view nth_token(std::string_view subject, std::size_t index) {
  for (bool more = true; more;) {
    const std::string_view token = take_token(subject, more);
    if (index-- == 0) return token;
  }
  return {};
}

bool subject_matches(std::string_view pattern, std::string_view subject) {
  return walk<true, false, false>(pattern, subject);
}

bool subjects_overlap(std::string_view left, std::string_view right) { return walk<true, true, false>(left, right); }

bool is_subset(std::string_view pattern, std::string_view of) { return walk<true, true, true>(of, pattern); }

}  // namespace tern::protocol
