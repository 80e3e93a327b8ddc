#include "runtime/host/service_manager.hpp"

#include "runtime/host/process.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstddef>
#include <cstring>

namespace tern::runtime::host {

void notify_service_manager(std::string_view state) {
  const auto path = environment_variable("NOTIFY_SOCKET");
  sockaddr_un name{};
  if (!path || path->size() < 2 || path->size() >= sizeof name.sun_path) return;
  if (path->front() != '/' && path->front() != '@') return;
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path->data(), path->size());
  if (path->front() == '@') name.sun_path[0] = '\0';  // the abstract name space
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path->size());
  // One that nobody reads tells nothing; the service manager has its own timeout.
  (void)::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&name), size);
  ::close(socket);
}

}  // namespace tern::runtime::host
