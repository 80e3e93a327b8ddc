// Small pieces of JSON's grammar (RFC 8259) that the reader checks itself, and the search for a record's member.
#pragma once

#include <cstddef>
#include <string_view>

#include <tern/codec/json.hpp>

namespace tern::codec {

std::string_view without_blanks_behind(std::string_view text);

// No leading zeros, digits around the point, digits in the exponent.
bool is_json_number(std::string_view text);
bool is_json_integer(std::string_view text);

// The member of this name, or null. Most texts have the order of the record, so the search begins at `next`, which is
// moved behind the hit.
const member_type* find_member(const record_type& record, std::string_view key, std::size_t& next, key_case keys);

}  // namespace tern::codec
