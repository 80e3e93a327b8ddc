// Reads the configuration language into a tree: structure, variables, includes (core 4.1). Total: any text gives a tree
// or an error. Files and the environment come through `config_source`, so that tests and fuzzing need neither.
#pragma once

#include "server/config/config_value.hpp"

#include <tern/base/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tern::server {

struct config_source {
  // The text of a file; the error's context is the peer's ("open /path/x: no such file or directory").
  std::function<result<std::string>(const std::string& path)> read_file;
  std::function<std::optional<std::string>(const std::string& name)> environment;
};
config_source config_source_of_host();

// `path` is that of the text: it stands in the places of errors, and includes are relative to its directory.
result<config_value> parse_config(std::string_view text, const std::string& path, const config_source& source);
result<config_value> parse_config_file(const std::string& path, const config_source& source);

}  // namespace tern::server
