// The scalars and blanks of the configuration language (core 4.1). Walks one text; the parser asks for what may come
// next. Reports errors with the peer's words: "Parse error on line N: '...'".
#pragma once

#include "server/config/config_value.hpp"

#include <tern/base/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tern::server {

class config_lexer {
 public:
  explicit config_lexer(std::string_view text) : text_(text) {}

  static constexpr int end = -1;
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : end; }
  int take();
  bool at_comment() const;
  void skip_comment();  // the line feed is left
  void skip_blanks();   // not over line ends
  void skip_blanks_and_lines();
  int line() const { return line_; }
  int column() const;          // of the next letter
  std::string letter() const;  // the next one, for error texts

  std::unexpected<error> fail_here(std::string_view what) const;

  struct key {
    std::string text;
    int line = 0, column = 0;
    bool quoted = false;
    bool ends_at_blank = false;  // only then it may be the word `include`
  };
  // A bare or quoted key. `in_map` tells what the end of the text means.
  result<key> read_key(bool in_map);

  struct scalar {
    config_value value;
    std::optional<std::string> variable;  // set: the value is that of this name
  };
  // Anything but an array and a map; the next letter begins it.
  result<scalar> read_scalar();
  // What follows the word `include`.
  result<std::string> read_include_path();

 private:
  result<scalar> read_quoted();
  result<scalar> read_raw_quoted();
  result<scalar> read_block();
  result<scalar> read_number();
  result<scalar> read_bare(std::size_t begin);
  result<scalar> read_fraction(std::size_t begin);
  result<scalar> read_date(std::size_t begin);
  result<void> read_escape(std::string& out);
  result<scalar> integer_of(std::string_view digits) const;
  bool at_value_end() const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

}  // namespace tern::server
