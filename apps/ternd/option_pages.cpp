// Prints a page that is made from the option table: `tern_option_pages configuration.md|ternd.conf.5|ternd.8`.
#include "server/config/option_pages.hpp"

#include <cstdio>
#include <string>
#include <string_view>

int main(int argument_count, char** arguments) {
  const std::string_view wanted = argument_count == 2 ? arguments[1] : "";
  std::string page;
  if (wanted == "configuration.md")
    page = tern::server::configuration_page();
  else if (wanted == "ternd.conf.5")
    page = tern::server::configuration_man_page();
  else if (wanted == "ternd.8")
    page = tern::server::command_line_man_page();
  else
    return std::fputs("tern_option_pages configuration.md|ternd.conf.5|ternd.8\n", stderr), 1;
  std::fwrite(page.data(), 1, page.size(), stdout);
  return 0;
}
