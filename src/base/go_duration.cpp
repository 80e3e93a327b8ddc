#include "base/go_duration.hpp"

#include "base/numbers.hpp"

#include <array>

namespace tern {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array<unit, 8> units{{{"ns", 1},
                                     {"us", 1'000},
                                     {"\xc2\xb5s", 1'000},  // U+00B5, the micro sign
                                     {"\xce\xbcs", 1'000},  // U+03BC, the Greek letter
                                     {"ms", 1'000'000},
                                     {"s", 1'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"h", 3'600'000'000'000}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<error> invalid(std::string_view text) {
  return fail(errc::invalid_argument, "invalid duration \"" + std::string(text) + "\"");
}

// Digits and the fraction "." digits, as whole units and a fraction numerator over scale.
struct number {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  double scale = 1;
};

constexpr std::uint64_t magnitude_limit = std::uint64_t{1} << 63;

// Takes a number off the front of `rest`; false when there is none or it overflows.
bool take_number(std::string_view& rest, number& out) {
  std::size_t digits = 0;
  while (!rest.empty() && is_digit(rest.front())) {
    if (out.whole > magnitude_limit / 10) return false;
    out.whole = out.whole * 10 + static_cast<std::uint64_t>(rest.front() - '0');
    if (out.whole > magnitude_limit) return false;
    rest.remove_prefix(1);
    ++digits;
  }
  if (rest.empty() || rest.front() != '.') return digits > 0;
  rest.remove_prefix(1);
  bool full = false;
  while (!rest.empty() && is_digit(rest.front())) {
    if (!full && out.fraction > (magnitude_limit - 1) / 10) full = true;  // further digits cannot change a nanosecond
    if (!full) {
      const std::uint64_t next = out.fraction * 10 + static_cast<std::uint64_t>(rest.front() - '0');
      if (next > magnitude_limit) {
        full = true;
      } else {
        out.fraction = next;
        out.scale *= 10;
      }
    }
    rest.remove_prefix(1);
    ++digits;
  }
  return digits > 0;
}

const unit* take_unit(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
  const std::string_view name = rest.substr(0, length);
  for (const unit& candidate : units) {
    if (candidate.name == name) {
      rest.remove_prefix(length);
      return &candidate;
    }
  }
  return nullptr;
}

// The fraction of a second, a millisecond or a microsecond: `value` in units of 10^-digits, without trailing zeros.
void append_fraction(std::string& out, std::uint64_t value, int digits) {
  if (value == 0) return;
  char text[10];
  for (int i = digits - 1; i >= 0; --i, value /= 10) text[i] = static_cast<char>('0' + value % 10);
  int length = digits;
  while (text[length - 1] == '0') --length;
  out += '.';
  out.append(text, length);
}

}  // namespace

result<nanoseconds> parse_go_duration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return nanoseconds(0);
  if (rest.empty()) return invalid(text);
  std::uint64_t total = 0;
  while (!rest.empty()) {
    number value;
    if (!take_number(rest, value)) return invalid(text);
    if (rest.empty()) return fail(errc::invalid_argument, "missing unit in duration \"" + std::string(text) + "\"");
    const unit* scale = take_unit(rest);
    if (scale == nullptr) return fail(errc::invalid_argument, "unknown unit in duration \"" + std::string(text) + "\"");
    if (value.whole > magnitude_limit / scale->nanoseconds) return invalid(text);
    std::uint64_t part = value.whole * scale->nanoseconds;
    if (value.fraction > 0) {
      part += static_cast<std::uint64_t>(static_cast<double>(value.fraction) *
                                         (static_cast<double>(scale->nanoseconds) / value.scale));
    }
    total += part;
    if (part > magnitude_limit || total > magnitude_limit) return invalid(text);
  }
  if (negative) return nanoseconds(static_cast<std::int64_t>(0 - total));
  if (total > magnitude_limit - 1) return invalid(text);
  return nanoseconds(static_cast<std::int64_t>(total));
}

void append_go_duration(std::string& out, nanoseconds value) {
  const bool negative = value.count() < 0;
  std::uint64_t rest = static_cast<std::uint64_t>(value.count());
  if (negative) rest = 0 - rest;
  if (rest == 0) {
    out += "0s";
    return;
  }
  if (negative) out += '-';
  if (rest < 1'000) {
    append_decimal(out, rest);
    out += "ns";
  } else if (rest < 1'000'000) {
    append_decimal(out, rest / 1'000);
    append_fraction(out, rest % 1'000, 3);
    out += "\xc2\xb5s";
  } else if (rest < 1'000'000'000) {
    append_decimal(out, rest / 1'000'000);
    append_fraction(out, rest % 1'000'000, 6);
    out += "ms";
  } else {
    const std::uint64_t seconds = rest / 1'000'000'000;
    const std::uint64_t minutes = seconds / 60;
    if (minutes >= 60) {
      append_decimal(out, minutes / 60);
      out += 'h';
    }
    if (minutes > 0) {
      append_decimal(out, minutes % 60);
      out += 'm';
    }
    append_decimal(out, seconds % 60);
    append_fraction(out, rest % 1'000'000'000, 9);
    out += 's';
  }
}

std::string to_go_duration(nanoseconds value) {
  std::string out;
  append_go_duration(out, value);
  return out;
}

}  // namespace tern
