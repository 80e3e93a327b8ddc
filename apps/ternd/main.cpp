// ternd: the server. All it does is in src/server.
#include "server/process.hpp"

#include <string>
#include <vector>

int main(int argument_count, char** arguments) {
  const std::vector<std::string> rest(arguments + 1, arguments + argument_count);
  return tern::server::run_process(arguments[0], rest);
}
