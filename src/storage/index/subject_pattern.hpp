// Subject patterns as storage needs them: `*` stands for one whole token, a last `>` for one or more. Texts are taken
// as they are; who accepts them from the wire has validated them (core 2.2).
#pragma once

#include <string_view>

namespace tern::storage {

// No wildcard token: the pattern names one subject.
bool is_literal(std::string_view pattern);

// `pattern` matches the literal `subject`.
bool pattern_matches(std::string_view pattern, std::string_view subject);

// Some literal subject matches both.
bool patterns_overlap(std::string_view left, std::string_view right);

// Every subject that matches `inner` matches `outer`.
bool pattern_contains(std::string_view outer, std::string_view inner);

// Takes the first token off `rest`. Call until `done`.
struct token_reader {
  std::string_view rest;
  bool done = false;
  std::string_view next() {
    const auto dot = rest.find('.');
    const auto token = rest.substr(0, dot);
    if (dot == std::string_view::npos) {
      rest = {};
      done = true;
    } else {
      rest.remove_prefix(dot + 1);
    }
    return token;
  }
};

}  // namespace tern::storage
