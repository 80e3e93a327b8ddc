// Counters of a stream with allow_msg_counter: decimal integers of any length (jetstream 5.7).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

// [+|-]digits, nothing else.
bool is_decimal_integer(std::string_view text);
// The sum of two such texts, in its shortest form: no plus, no leading zeros, no "-0".
std::string add_decimal_integers(std::string_view left, std::string_view right);

// The body of a stored counter message: {"val":"<total>"}.
std::string counter_body(std::string_view total);
// The total in such a body; empty when it is none.
std::optional<std::string> parse_counter_body(std::string_view body);

}  // namespace tern::jetstream
