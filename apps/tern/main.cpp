// tern: the command. All it does is in the files beside this one.
#include "command_line.hpp"

#include <string>
#include <vector>

int main(int argument_count, char** arguments) {
  return tern::command::run(std::vector<std::string>(arguments + 1, arguments + argument_count));
}
