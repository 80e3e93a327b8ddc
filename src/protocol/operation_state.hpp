// Where a parser stands between two bytes. The numbers are the peer's, because operators know them from its log lines.
#pragma once

#include <cstdint>

namespace tern::protocol {

enum class operation_state : std::uint8_t { start };

}  // namespace tern::protocol
