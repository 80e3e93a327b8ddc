#include "runtime/transport.hpp"

namespace tern::runtime {

std::string endpoint::text() const {
  if (in_process) return host;
  if (unix_socket) return "unix:" + host;
  const std::string number = std::to_string(port);
  return host.find(':') == std::string::npos ? host + ":" + number : "[" + host + "]:" + number;
}

}  // namespace tern::runtime
