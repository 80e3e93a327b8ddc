// Where a command's output goes: results to the standard output, what happens on the way to the standard error with the
// time in front. One thread at a time for results; notes from any.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <string>
#include <string_view>

namespace tern::command {

class console {
 public:
  void print(std::string_view text);  // as it is
  void print_line(std::string_view text);
  void note(time_point now, std::string_view text);  // "21:19:07 Published 7 bytes to "orders.1""
  void print_error(std::string_view text);           // as it is, to the standard error
  void complain(const error& problem);               // "tern: error: ..."
  result<void> flush();                              // errc::io_error when nobody reads the output
};

// The whole standard input. errc::io_error.
result<std::string> read_standard_input();

}  // namespace tern::command
