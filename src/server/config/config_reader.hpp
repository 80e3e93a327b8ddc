// From a configuration tree to options (core 4.2): names, aliases, types, ranges, each complaint with its place.
#pragma once

#include "server/config/config_value.hpp"
#include "server/config/host_port.hpp"
#include "server/config/options.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tern::server {

struct config_findings {
  std::vector<std::string> errors;          // "file:line:col: text"; any of them ends the start
  std::vector<std::string> without_effect;  // the same for what is accepted and changes nothing here; to be logged
  std::vector<std::string> warnings;        // the same; they end only a test of the file (-t)
};

// Sets what the tree says and leaves the rest.
config_findings apply_config(const config_value& tree, options& into);

}  // namespace tern::server
