/// The one time axis of Tern: nanoseconds since the Unix epoch, which never go back while a process runs.
///
///     tern::time_point due = now + std::chrono::seconds(30);
///
/// Deadlines, message timestamps and acknowledgement waits share it, so a paused clock moves all of them together and a
/// deadline that was stored survives a restart. The runtime's clock advances it steadily and follows steps of the
/// system clock forward only. Thread safety: plain values.
#pragma once

#include <tern/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern {

using nanoseconds = std::chrono::nanoseconds;
using time_point = std::chrono::sys_time<nanoseconds>;

constexpr std::int64_t to_unix_nanoseconds(time_point at) { return at.time_since_epoch().count(); }
constexpr time_point from_unix_nanoseconds(std::int64_t count) { return time_point(nanoseconds(count)); }

/// RFC 3339 in UTC with as many fraction digits as needed (`2026-01-02T03:04:05.000000007Z`), as Go prints it.
std::string to_rfc3339(time_point at);
/// The same, appended.
void append_rfc3339(std::string& out, time_point at);

/// Reads RFC 3339 with `Z` or a numeric zone offset (`2026-01-02T03:04:05.5+02:00`) and any number of fraction digits,
/// of which nine count. Years 1678 to 2261 fit the axis; Go's zero time `0001-01-01T00:00:00Z` reads as the smallest
/// representable time. Anything else is errc::invalid_argument.
result<time_point> parse_rfc3339(std::string_view text);

}  // namespace tern
