// Durations as Go's time package reads and prints them, since configuration files, monitoring and API answers carry
// them.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <string>
#include <string_view>

namespace tern {

// "1h30m", "300ms", "1.5h", "-5s", "0". Units: ns us µs ms s m h. A number without a unit is refused, as Go refuses it.
result<nanoseconds> parse_go_duration(std::string_view text);
// "1h0m0s", "1m0s", "1.5s", "300ms", "1.2µs", "0s".
std::string to_go_duration(nanoseconds value);
void append_go_duration(std::string& out, nanoseconds value);

}  // namespace tern
