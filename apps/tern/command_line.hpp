// The command line of tern: which command, with which options. What it prints and how it ends is decided by the
// commands.
#pragma once

#include "session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tern::command {

inline constexpr int exit_failed = 1;  // the server or the network said no
inline constexpr int exit_usage = 2;   // the command line did

// What parsing found: a command to run, or an exit code when all is said already (help, version, a mistake).
struct invocation {
  global_options globals;
  std::function<result<void>(session&)> action;
  std::string said;  // help, version or the mistake, to be printed
  int exit_code = 0;
};

// `arguments` without the program's name. `defaults` come from the environment.
invocation parse_command_line(const std::vector<std::string>& arguments, const global_options& defaults);

// Which of the two codes an error is worth.
int exit_code_of(const error& problem);

// The whole program. `arguments` without the program's name; returns the exit code.
int run(const std::vector<std::string>& arguments);

}  // namespace tern::command
