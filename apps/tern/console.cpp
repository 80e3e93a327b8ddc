#include "console.hpp"

#include "text.hpp"

#include <cstdio>

namespace tern::command {

void console::print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void console::print_line(std::string_view text) {
  print(text);
  std::fputc('\n', stdout);
}

void console::print_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void console::note(time_point now, std::string_view text) {
  const std::string line = time_of_day(now) + " " + std::string(text) + "\n";
  print_error(line);
}

void console::complain(const error& problem) {
  const std::string line = "tern: error: " + problem.message() + "\n";
  print_error(line);
}

result<void> console::flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail(errc::io_error, "the standard output is closed");
  return {};
}

result<std::string> read_standard_input() {
  std::string out;
  char block[64 * 1024];
  while (const std::size_t size = std::fread(block, 1, sizeof block, stdin)) out.append(block, size);
  if (std::ferror(stdin) != 0) return fail(errc::io_error, "the standard input cannot be read");
  return out;
}

}  // namespace tern::command
