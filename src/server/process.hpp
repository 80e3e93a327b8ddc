// A server as a process: flags, configuration file, log, signals, pid and ports files, exit code (core 4.5-4.7).
#pragma once

#include <span>
#include <string>

namespace tern::server {

// `program` is argv[0], `arguments` what follows. Returns the exit code.
int run_process(const std::string& program, std::span<const std::string> arguments);

}  // namespace tern::server
