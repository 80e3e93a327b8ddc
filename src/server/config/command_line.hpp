// The flags of the program, by the rules of Go's flag package (core 4.5): one or two dashes, `-x v` or `-x=v`, booleans
// only `-x=false`.
#pragma once

#include "server/config/options.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tern::server {

struct command_line {
  enum class action { run, test_config, show_version, show_help, send_signal, explain_option };

  action what = action::run;
  std::string config_file;
  std::string signal_command;                           // "ldm=1234"
  std::string option;                                   // to be explained
  std::vector<std::function<void(options&)>> settings;  // what the flags say, for after the file

  void apply_to(options& what_to) const {
    for (const auto& setting : settings) setting(what_to);
  }
};

// `arguments` without the program's name. The context of an error is what to print.
result<command_line> parse_command_line(std::span<const std::string> arguments);
std::string usage_text(const std::string& program);

}  // namespace tern::server
