// Names of accounts and streams as names of directories: any bytes, any length, no collisions, readable where possible.
#pragma once

#include <string>
#include <string_view>

namespace tern::storage {

// Letters, digits, `-`, `_` and `$` stand for themselves, `.` too but not in front; other bytes become %XX. What would
// be longer than 200 bytes keeps a beginning and gets `~` and a hash. The true name stands in the state file.
std::string encode_name(std::string_view name);

// 16 lower-case hexadecimal digits, so that listings sort by number.
std::string hex_number(unsigned long long value);
// The other way; false when it is not such a text.
bool parse_hex_number(std::string_view text, unsigned long long& value);

}  // namespace tern::storage
