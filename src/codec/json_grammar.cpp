#include "codec/json_grammar.hpp"

namespace tern::codec {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

}  // namespace

std::string_view without_blanks_behind(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > begin;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else if (!digits()) {
    return false;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

bool is_json_integer(std::string_view text) {
  return is_json_number(text) && text.find_first_of(".eE") == std::string_view::npos;
}

const member_type* find_member(const record_type& record, std::string_view key, std::size_t& next, key_case keys) {
  const std::size_t count = record.members.size();
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t index = next + step < count ? next + step : next + step - count;
    if (record.members[index].name == key) {
      next = index + 1 == count ? 0 : index + 1;
      return &record.members[index];
    }
  }
  if (keys == key_case::insensitive) {
    for (const member_type& member : record.members) {
      if (detail::equal_ignoring_case(member.name, key)) return &member;
    }
  }
  return nullptr;
}

}  // namespace tern::codec
