#include "runtime/host/signal_command.hpp"

#include "base/numbers.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::runtime::host {
namespace {

int signal_of(std::string_view command) {
  constexpr std::pair<std::string_view, int> known[] = {{"stop", SIGKILL},   {"quit", SIGINT},   {"term", SIGTERM},
                                                        {"reopen", SIGUSR1}, {"reload", SIGHUP}, {"ldm", SIGUSR2}};
  for (const auto& [word, number] : known)
    if (word == command) return number;
  return 0;
}

std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find_first_of(" \t\r\n"))); }

std::vector<std::uint64_t> processes_named(const std::string& program) {
  std::vector<std::uint64_t> found;
  const auto entries = list_directory("/proc");
  if (!entries) return found;
  for (const std::string& entry : *entries) {
    const auto id = parse_decimal(entry);
    if (!id || std::cmp_equal(*id, process_id())) continue;
    const auto name = read_text_file("/proc/" + entry + "/comm");
    if (name && first_word(*name) == program.substr(0, 15)) found.push_back(*id);  // the kernel keeps 15 letters
  }
  return found;
}

}  // namespace

result<void> send_signal_command(const std::string& command_and_target, const std::string& program) {
  const std::size_t equals = command_and_target.find('=');
  const std::string command = command_and_target.substr(0, equals);
  const int number = signal_of(command);
  if (number == 0) return fail(errc::invalid_argument, "unknown signal \"" + command + "\"");
  std::optional<std::uint64_t> target;
  if (equals != std::string::npos) {
    const std::string given = command_and_target.substr(equals + 1);
    target = parse_decimal(given);
    if (!target) {
      const auto text = read_text_file(given);
      if (!text) return std::unexpected(text.error());
      target = parse_decimal(first_word(*text));
    }
    if (!target) return fail(errc::invalid_argument, "invalid pid: " + given);
  } else {
    const auto found = processes_named(program);
    if (found.empty()) return fail(errc::not_found, "no " + program + " processes running");
    if (found.size() > 1) return fail(errc::invalid_argument, "multiple " + program + " processes running");
    target = found.front();
  }
  if (::kill(static_cast<pid_t>(*target), number) != 0)
    return fail(errc::io_error,
                "signal \"" + command + "\" to process " + std::to_string(*target) + ": " + go_error_text(errno));
  return {};
}

}  // namespace tern::runtime::host
