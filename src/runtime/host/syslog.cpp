#include "runtime/host/syslog.hpp"

#include "base/numbers.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tern::runtime::host {
namespace {

int severity_of(log_level level) {
  switch (level) {
    case log_level::trace:
    case log_level::debug:
      return LOG_DEBUG;
    case log_level::info:
      return LOG_NOTICE;
    case log_level::warn:
      return LOG_WARNING;
    case log_level::error:
      return LOG_ERR;
    case log_level::fatal:
      return LOG_CRIT;
  }
  return LOG_NOTICE;
}

class local_syslog final : public syslog_target {
 public:
  local_syslog() : tag_(program_name()) { ::openlog(tag_.c_str(), LOG_PID | LOG_NDELAY, LOG_DAEMON); }
  ~local_syslog() override { ::closelog(); }
  void write(log_level level, std::string_view message, time_point) override {
    ::syslog(severity_of(level), "%.*s", static_cast<int>(message.size()), message.data());
  }

 private:
  const std::string tag_;  // openlog() keeps the pointer
};

// An address to connect to; copied from what the resolver gives.
struct remote_address {
  int family = AF_UNSPEC, type = SOCK_STREAM;
  sockaddr_storage address{};
  socklen_t size = 0;
};

result<int> connected_socket(const remote_address& to) {
  const int made = ::socket(to.family, to.type | SOCK_CLOEXEC, 0);
  if (made < 0) return fail(errc::io_error, go_error_text(errno));
  // A server that is away must not hold up the start or, later, the loop.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&to.address), to.size) == 0) return made;
  const int why = errno;
  ::close(made);
  return fail(errc::io_error, go_error_text(why));
}

class remote_syslog final : public syslog_target {
 public:
  remote_syslog(remote_address to, int socket)
      : to_(to), socket_(socket), host_(host_name()), tag_(program_name()), pid_(process_id()) {}
  ~remote_syslog() override {
    if (socket_ >= 0) ::close(socket_);
  }

  void write(log_level level, std::string_view message, time_point at) override {
    constexpr nanoseconds between_tries = std::chrono::seconds(10);
    if (socket_ < 0) {
      if (at - broken_at_ < between_tries) return;
      broken_at_ = at;
      const auto again = connected_socket(to_);
      if (!again) return;
      socket_ = *again;
    }
    const std::string line = syslog_line(level, message, at, host_, tag_, pid_);
    if (::send(socket_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
    if (errno == EAGAIN || errno == EWOULDBLOCK || to_.type == SOCK_DGRAM) return;
    ::close(std::exchange(socket_, -1));
    broken_at_ = at;
  }

 private:
  const remote_address to_;
  int socket_;
  const std::string host_, tag_;
  const int pid_;
  time_point broken_at_{};
};

result<remote_address> unix_address(const std::string& path) {
  remote_address out{.family = AF_UNIX, .type = SOCK_DGRAM};
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path)
    return fail(errc::config_error, "invalid syslog path " + path);
  std::memcpy(name.sun_path, path.data(), path.size());
  std::memcpy(&out.address, &name, sizeof name);
  out.size = sizeof name;
  return out;
}

result<remote_address> network_address(const std::string& scheme, const std::string& rest) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos) return fail(errc::config_error, "missing port in address " + rest);
  std::string host = rest.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  remote_address out{.type = scheme == "udp" ? SOCK_DGRAM : SOCK_STREAM};
  addrinfo wanted{};
  wanted.ai_socktype = out.type;
  addrinfo* found = nullptr;
  if (const int problem = ::getaddrinfo(host.c_str(), rest.c_str() + colon + 1, &wanted, &found); problem != 0)
    return fail(errc::io_error, std::string("lookup ") + host + ": " + ::gai_strerror(problem));
  out.family = found->ai_family;
  out.size = found->ai_addrlen;
  std::memcpy(&out.address, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return out;
}

}  // namespace

std::unique_ptr<syslog_target> open_local_syslog() { return std::make_unique<local_syslog>(); }

result<std::unique_ptr<syslog_target>> open_remote_syslog(const std::string& url) {
  const std::size_t colon = url.find("://");
  const std::string scheme = url.substr(0, colon);
  if (colon == std::string::npos || (scheme != "udp" && scheme != "tcp" && scheme != "unix"))
    return fail(errc::config_error, "invalid remote syslog URL " + url + ": udp://, tcp:// or unix:// is wanted");
  const std::string rest = url.substr(colon + 3);
  const auto to = scheme == "unix" ? unix_address(rest) : network_address(scheme, rest);
  if (!to) return std::unexpected(to.error());
  const auto socket = connected_socket(*to);
  if (!socket) return fail(errc::io_error, "error connecting to syslog: " + url + ": " + socket.error().context());
  return std::make_unique<remote_syslog>(*to, *socket);
}

std::string syslog_line(log_level level, std::string_view message, time_point at, std::string_view host,
                        std::string_view tag, int pid) {
  std::string out = "<" + std::to_string(LOG_DAEMON | severity_of(level)) + ">";
  append_rfc3339(out, std::chrono::floor<std::chrono::seconds>(at));
  out.append(" ").append(host).append(" ").append(tag).append("[").append(std::to_string(pid)).append("]: ");
  return out.append(message).append("\n");
}

}  // namespace tern::runtime::host
