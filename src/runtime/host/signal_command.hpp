// `--signal COMMAND[=PID]`: tells a running server (core 4.5).
#pragma once

#include <tern/base/error.hpp>

#include <string>

namespace tern::runtime::host {

// Commands: stop quit term reopen reload ldm. The process is given by its id or a pid file; without one it is the only
// other process of the name `program`.
result<void> send_signal_command(const std::string& command_and_target, const std::string& program);

}  // namespace tern::runtime::host
