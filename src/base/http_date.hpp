// Dates of HTTP headers.
#pragma once

#include <tern/base/time.hpp>

#include <ctime>
#include <string>

namespace tern {

// "Tue, 01 Dec 2026 00:34:22 GMT"
inline std::string http_date(time_point at) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace tern
