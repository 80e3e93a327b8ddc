#include "server/monitoring/json_builder.hpp"

#include "server/monitoring/endpoints.hpp"

#include <utility>

namespace tern::server {

std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool in_text = false;
  const auto new_line = [&out, &depth] { out.append("\n").append(depth * 2, ' '); };
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (in_text) {
      out += letter;
      if (letter == '\\')
        out += json[++at];
      else if (letter == '"')
        in_text = false;
      continue;
    }
    const char next = at + 1 < json.size() ? json[at + 1] : '\0';
    switch (letter) {
      case '"':
        in_text = true, out += letter;
        break;
      case '{':
      case '[':
        out += letter;
        if (next == '}' || next == ']')
          out += next, ++at;
        else
          ++depth, new_line();
        break;
      case '}':
      case ']':
        --depth, new_line(), out += letter;
        break;
      case ',':
        out += letter, new_line();
        break;
      case ':':
        out.append(": ");
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string friendly_uptime(nanoseconds value) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(value).count();
  std::string out;
  constexpr std::pair<std::int64_t, char> units[] = {{365 * 86400, 'y'}, {86400, 'd'}, {3600, 'h'}, {60, 'm'}};
  for (const auto& [length, letter] : units) {
    if (seconds < length && out.empty()) continue;
    out.append(std::to_string(seconds / length)) += letter;
    seconds %= length;
  }
  return out.append(std::to_string(seconds)) += 's';
}

}  // namespace tern::server
