// Where log lines go that the system's log or a syslog server takes (core 4.2: syslog, remote_syslog). Any thread, one
// at a time. Never waits: what a slow or absent server does not take is lost.
#pragma once

#include "runtime/host/log.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tern::runtime::host {

class syslog_target {
 public:
  virtual ~syslog_target() = default;
  virtual void write(log_level level, std::string_view message, time_point at) = 0;
};

std::unique_ptr<syslog_target> open_local_syslog();
// `udp://host:port`, `tcp://host:port` or `unix://path`. Looks the host up and, but for udp, connects: at start and
// reload.
result<std::unique_ptr<syslog_target>> open_remote_syslog(const std::string& url);

// "<PRI>TIME HOST TAG[PID]: text" and a line feed.
std::string syslog_line(log_level level, std::string_view message, time_point at, std::string_view host,
                        std::string_view tag, int pid);

}  // namespace tern::runtime::host
