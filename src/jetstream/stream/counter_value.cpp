#include "jetstream/stream/counter_value.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>

namespace tern::jetstream {
namespace {

struct signed_digits {
  bool negative = false;
  std::string_view digits;
};

signed_digits split_sign(std::string_view text) {
  signed_digits out;
  if (text.starts_with('+') || text.starts_with('-')) {
    out.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  out.digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
  return out;
}

// Of magnitudes without leading zeros.
bool is_smaller(std::string_view left, std::string_view right) {
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

char digit_from_end(std::string_view digits, std::size_t index) {
  return index < digits.size() ? static_cast<char>(digits[digits.size() - 1 - index] - '0') : char{0};
}

std::string sum_of(std::string_view left, std::string_view right) {
  std::string out;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()) || carry != 0; ++i) {
    const int digit = digit_from_end(left, i) + digit_from_end(right, i) + carry;
    out += static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  std::ranges::reverse(out);
  return out;
}

// `larger` is at least `smaller`.
std::string difference_of(std::string_view larger, std::string_view smaller) {
  std::string out;
  int borrow = 0;
  for (std::size_t i = 0; i < larger.size(); ++i) {
    int digit = digit_from_end(larger, i) - digit_from_end(smaller, i) - borrow;
    borrow = digit < 0 ? 1 : 0;
    if (digit < 0) digit += 10;
    out += static_cast<char>('0' + digit);
  }
  while (!out.empty() && out.back() == '0') out.pop_back();
  std::ranges::reverse(out);
  return out;
}

struct stored_counter {
  std::string val;
  static constexpr codec::member_option json_members[] = {{"val", {.required = true}}};
};

}  // namespace

bool is_decimal_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string add_decimal_integers(std::string_view left, std::string_view right) {
  const signed_digits a = split_sign(left), b = split_sign(right);
  std::string digits;
  bool negative = a.negative;
  if (a.negative == b.negative) {
    digits = sum_of(a.digits, b.digits);
  } else if (is_smaller(a.digits, b.digits)) {
    digits = difference_of(b.digits, a.digits);
    negative = b.negative;
  } else {
    digits = difference_of(a.digits, b.digits);
  }
  if (digits.empty()) return "0";
  return negative ? "-" + digits : digits;
}

std::string counter_body(std::string_view total) {
  std::string body = "{\"val\":\"";
  body.append(total).append("\"}");
  return body;
}

std::optional<std::string> parse_counter_body(std::string_view body) {
  auto read = codec::read_json<stored_counter>(body);
  if (!read || !is_decimal_integer(read->val)) return std::nullopt;
  return std::move(read->val);
}

}  // namespace tern::jetstream
