// The groups of commands register themselves with the parser. Each command's arguments live in a shared record that the
// chosen action keeps.
#pragma once

#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <utility>

namespace tern::command {

void add_message_commands(CLI::App& app, invocation& chosen);   // pub, sub, req, reply
void add_stream_commands(CLI::App& app, invocation& chosen);    // stream ...
void add_consumer_commands(CLI::App& app, invocation& chosen);  // consumer ...
void add_bench_commands(CLI::App& app, invocation& chosen);     // bench ...
void add_account_commands(CLI::App& app, invocation& chosen);   // account info, rtt, server ping
void add_store_commands(CLI::App& app, invocation& chosen);     // store ...

// An option that may be repeated and takes one value each time, so that it swallows no positional argument behind it.
template <class T>
CLI::Option* add_repeated(CLI::App* to, const std::string& name, T& into, const std::string& what) {
  return to->add_option(name, into, what)->allow_extra_args(false);
}

// A subcommand whose arguments are an Arguments record and whose work is `run`.
template <class Arguments>
std::pair<CLI::App*, std::shared_ptr<Arguments>> add_command(CLI::App& group, invocation& chosen,
                                                             const std::string& name, const std::string& what,
                                                             result<void> (*run)(session&, const Arguments&)) {
  CLI::App* command = group.add_subcommand(name, what);
  auto arguments = std::make_shared<Arguments>();
  command->callback(
      [arguments, run, &chosen] { chosen.action = [arguments, run](session& in) { return run(in, *arguments); }; });
  return {command, arguments};
}

// A duration written as text; a mistake in it is one of the command line.
CLI::Option* add_duration(CLI::App* to, const std::string& name, nanoseconds& into, const std::string& what);

}  // namespace tern::command
