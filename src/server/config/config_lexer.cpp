#include "server/config/config_lexer.hpp"

#include "base/ascii.hpp"
#include "base/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace tern::server {
namespace {

bool is_blank(int letter) { return letter == ' ' || letter == '\t' || letter == '\v' || letter == '\f'; }
bool is_line_end(int letter) { return letter == '\n' || letter == '\r'; }
bool is_space(int letter) { return is_blank(letter) || is_line_end(letter); }
bool is_digit(int letter) { return letter >= '0' && letter <= '9'; }
bool is_size_letter(int letter) { return letter > 0 && std::strchr("kKmMgGtTpPeE", letter) != nullptr; }

int hex_value(int letter) {
  if (is_digit(letter)) return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

config_lexer::scalar text_scalar(std::string text) {
  config_lexer::scalar out;
  out.value.what = config_value::kind::text;
  out.value.text = std::move(text);
  return out;
}

}  // namespace

int config_lexer::take() {
  const int letter = peek();
  if (letter == end) return end;
  ++at_;
  if (letter == '\n') {
    ++line_;
    line_begin_ = at_;
  }
  return letter;
}

int config_lexer::column() const { return static_cast<int>(at_ - line_begin_) + (line_ == 1 ? 0 : 1); }

std::string config_lexer::letter() const {
  const int first = peek();
  if (first == end) return "EOF";
  if (first == '\n') return "\\n";
  std::size_t size = 1;
  if (first >= 0xC0)
    while (at_ + size < text_.size() && (static_cast<unsigned char>(text_[at_ + size]) & 0xC0) == 0x80) ++size;
  return std::string(text_.substr(at_, size));
}

std::unexpected<error> config_lexer::fail_here(std::string_view what) const {
  return fail(errc::config_error, "Parse error on line " + std::to_string(line_) + ": '" + std::string(what) + "'");
}

bool config_lexer::at_comment() const { return peek() == '#' || text_.substr(at_).starts_with("//"); }

void config_lexer::skip_comment() {
  while (peek() != end && !is_line_end(peek())) take();
}

void config_lexer::skip_blanks() {
  while (is_blank(peek())) take();
}

void config_lexer::skip_blanks_and_lines() {
  while (is_space(peek())) take();
}

result<config_lexer::key> config_lexer::read_key(bool in_map) {
  key out{.text = {}, .line = line_, .column = column()};
  const int first = peek();
  if (first == '=' || first == ':') return fail_here("Unexpected key separator '" + letter() + (in_map ? "'." : "'"));
  if (first == '"' || first == '\'') {
    take();
    out.quoted = true;
    while (peek() != first) {
      if (peek() == end) return fail_here(in_map ? "Unexpected EOF processing quoted map key." : "Unexpected EOF.");
      out.text += static_cast<char>(take());
    }
    take();
    return out;
  }
  while (peek() != end && !is_space(peek()) && peek() != '=' && peek() != ':') out.text += static_cast<char>(take());
  if (peek() == end && in_map) return fail_here("Unexpected EOF processing map.");
  out.ends_at_blank = is_space(peek());
  return out;
}

result<std::string> config_lexer::read_include_path() {
  skip_blanks();
  const int first = peek();
  std::string out;
  if (first == '"' || first == '\'') {
    take();
    while (peek() != first) {
      if (peek() == end) return fail_here("Unexpected EOF in quoted include");
      out += static_cast<char>(take());
    }
    take();
    return out;
  }
  if (first == end || is_line_end(first)) return fail_here("Expected include value but found new line");
  while (peek() != end && !is_space(peek()) && peek() != ';' && peek() != '}' && peek() != ',')
    out += static_cast<char>(take());
  return out;
}

bool config_lexer::at_value_end() const {
  const int letter = peek();
  return letter == end || is_space(letter) || letter == ';' || letter == ',' || letter == ']' || letter == '}';
}

result<config_lexer::scalar> config_lexer::read_scalar() {
  const int first = peek();
  if (first == '"') return read_quoted();
  if (first == '\'') return read_raw_quoted();
  if (first == '(') return read_block();
  if (first == '.') return fail_here("Floats must start with a digit");
  if (is_digit(first) || first == '-') return read_number();
  if (is_line_end(first)) {
    take();
    return fail_here("Expected value but found new line");
  }
  return read_bare(at_);
}

result<config_lexer::scalar> config_lexer::read_quoted() {
  take();
  std::string out;
  while (true) {
    const int letter = peek();
    if (letter == end) return fail_here("Unexpected EOF.");
    take();
    if (letter == '"') return text_scalar(std::move(out));
    if (letter != '\\') {
      out += static_cast<char>(letter);
      continue;
    }
    if (auto read = read_escape(out); !read) return std::unexpected(std::move(read).error());
  }
}

result<void> config_lexer::read_escape(std::string& out) {
  switch (peek()) {
    case 't':
      out += '\t';
      break;
    case 'n':
      out += '\n';
      break;
    case 'r':
      out += '\r';
      break;
    case '"':
      out += '"';
      break;
    case '\\':
      out += '\\';
      break;
    case 'x': {
      take();
      const std::string digits(text_.substr(at_, 2));
      if (digits.size() < 2 || hex_value(digits[0]) < 0 || hex_value(digits[1]) < 0)
        return fail_here("Expected two hexadecimal digits after '\\x', but got '" + digits + "'");
      out += static_cast<char>(hex_value(digits[0]) * 16 + hex_value(digits[1]));
      take();
      break;
    }
    default:
      return fail_here("Invalid escape character '" + letter() +
                       "'. Only the following escape characters are allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\.");
  }
  take();
  return {};
}

result<config_lexer::scalar> config_lexer::read_raw_quoted() {
  take();
  std::string out;
  while (peek() != '\'') {
    if (peek() == end) return fail_here("Unexpected EOF.");
    out += static_cast<char>(take());
  }
  take();
  return text_scalar(std::move(out));
}

// Up to a `)` that stands alone on its line.
result<config_lexer::scalar> config_lexer::read_block() {
  take();
  const std::size_t begin = at_;
  while (true) {
    if (peek() == end) return fail_here("Unexpected EOF processing block.");
    const bool line_begins = at_ > begin && text_[at_ - 1] == '\n';
    const bool line_ends = at_ + 1 >= text_.size() || text_[at_ + 1] == '\n';
    if (peek() == ')' && line_begins && line_ends) break;
    take();
  }
  std::string out(text_.substr(begin, at_ - begin));
  take();
  return text_scalar(std::move(out));
}

result<config_lexer::scalar> config_lexer::read_bare(std::size_t begin) {
  std::string escaped(text_.substr(begin, at_ - begin));
  bool has_escapes = false;
  while (!at_value_end() && peek() != '\'') {
    const int letter = take();
    if (letter != '\\') {
      escaped += static_cast<char>(letter);
      continue;
    }
    has_escapes = true;
    if (auto read = read_escape(escaped); !read) return std::unexpected(std::move(read).error());
  }
  if (peek() == '\'') {
    take();
    return text_scalar(std::move(escaped));
  }
  if (has_escapes) return text_scalar(std::move(escaped));
  const std::string word = lower_case(escaped);
  const bool yes = word == "true" || word == "yes" || word == "on";
  if (yes || word == "false" || word == "no" || word == "off") {
    scalar out;
    out.value.what = config_value::kind::boolean;
    out.value.boolean = yes;
    return out;
  }
  // A bcrypt hash is no variable.
  if (escaped.starts_with('$') && !escaped.starts_with("$2a$")) {
    scalar out;
    out.variable = escaped.substr(1);
    return out;
  }
  return text_scalar(std::move(escaped));
}

result<config_lexer::scalar> config_lexer::read_number() {
  const std::size_t begin = at_;
  const bool negative = peek() == '-';
  if (negative) {
    take();
    if (peek() == '.') return fail_here("Floats must start with a digit");
    if (!is_digit(peek())) return fail_here("Expected a digit but got '" + letter() + "'.");
  }
  while (is_digit(peek())) take();
  if (peek() == '.') return read_fraction(begin);
  if (peek() == '-' && !negative) {
    if (at_ - begin != 4) return fail_here("All ISO8601 dates must be in full Zulu form.");
    return read_date(begin);
  }
  if (is_size_letter(peek())) {
    take();
    while (peek() != end && std::strchr("bBiI", peek()) != nullptr) take();
  }
  if (at_value_end()) return integer_of(text_.substr(begin, at_ - begin));
  if (negative) return integer_of(text_.substr(begin, at_ - begin));
  return read_bare(begin);
}

result<config_lexer::scalar> config_lexer::read_fraction(std::size_t begin) {
  take();
  if (!is_digit(peek()))
    return fail_here("Floats must have a digit after the '.', but got '" + letter() + "' instead.");
  while (is_digit(peek())) take();
  if (peek() == '.') {  // an address after all
    while (is_digit(peek()) || peek() == '.' || peek() == ':' || peek() == '-') take();
    return text_scalar(std::string(text_.substr(begin, at_ - begin)));
  }
  scalar out;
  out.value.what = config_value::kind::floating;
  const std::string_view digits = text_.substr(begin, at_ - begin);
  std::from_chars(digits.data(), digits.data() + digits.size(), out.value.floating);
  return out;
}

result<config_lexer::scalar> config_lexer::read_date(std::size_t begin) {
  for (const char wanted : std::string_view("-00-00T00:00:00Z")) {
    const bool fits = wanted == '0' ? is_digit(peek()) : peek() == wanted;
    if (!fits && wanted == '0')
      return fail_here("Expected digit in ISO8601 datetime, but found '" + letter() + "' instead.");
    if (!fits)
      return fail_here("Expected '" + std::string(1, wanted) + "' in ISO8601 datetime, but found '" + letter() +
                       "' instead.");
    take();
  }
  scalar out = text_scalar(std::string(text_.substr(begin, at_ - begin)));
  if (!parse_rfc3339(out.value.text))
    return fail(errc::config_error, "expected Zulu formatted DateTime, but got '" + out.value.text + "'.");
  out.value.what = config_value::kind::datetime;
  return out;
}

result<config_lexer::scalar> config_lexer::integer_of(std::string_view text) const {
  const std::size_t digits_end = text.find_last_of("0123456789") + 1;
  const std::string suffix = lower_case(text.substr(digits_end));
  const auto number = parse_signed_decimal(text.substr(0, digits_end));
  if (!number)
    return fail(errc::config_error, "integer '" + std::string(text.substr(0, digits_end)) + "' is out of the range");
  std::int64_t scale = 1;
  if (!suffix.empty()) {
    const bool binary = suffix.size() > 1;
    const auto power = static_cast<int>(std::string_view("kmgtpe").find(suffix[0])) + 1;
    if (binary && suffix.substr(1) != "b" && suffix.substr(1) != "i" && suffix.substr(1) != "ib")
      return fail(errc::config_error, "integer '" + std::string(text) + "' has an unknown size letter");
    for (int step = 0; step < power; ++step) scale *= binary ? 1024 : 1000;
  }
  scalar out;
  out.value.what = config_value::kind::integer;
  if (__builtin_mul_overflow(*number, scale, &out.value.integer))
    return fail(errc::config_error, "integer '" + std::string(text) + "' is out of the range");
  return out;
}

}  // namespace tern::server
