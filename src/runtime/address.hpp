// Numeric addresses of the network as text and as bytes. Functions.
#pragma once

#include <string>
#include <string_view>

namespace tern::runtime {

enum class address_kind { none, v4, v6 };

address_kind kind_of_address(const std::string& text);  // "127.0.0.1", "::1"; none: a name, or nonsense
// Of 4 or 16 bytes in network order; empty for any other number of them.
std::string address_text(std::string_view bytes);

}  // namespace tern::runtime
