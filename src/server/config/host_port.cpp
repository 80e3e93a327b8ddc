#include "server/config/host_port.hpp"

#include "base/numbers.hpp"

namespace tern::server {

result<std::pair<std::string, int>> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find(']', colon) != std::string_view::npos)
    return fail(errc::config_error, "could not parse address string \"" + std::string(text) + "\"");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const auto port = parse_signed_decimal(digits);
  if (!port || *port < -1 || *port > 65535)
    return fail(errc::config_error, "could not parse port \"" + std::string(digits) + "\"");
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair(std::string(host), static_cast<int>(*port));
}

}  // namespace tern::server
