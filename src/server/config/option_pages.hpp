// Pages that are printed from the option table: the reference of the configuration file, and the manual pages. A tool
// writes them; a test keeps the reference equal to it.
#pragma once

#include <string>

namespace tern::server {

std::string configuration_page();      // docs/reference/configuration.md
std::string configuration_man_page();  // ternd.conf(5)
std::string command_line_man_page();   // ternd(8)

}  // namespace tern::server
