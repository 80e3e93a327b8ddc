// The parts of an account's block, each read by itself (core 3.4, 7.1).
#pragma once

#include "server/config/block_errors.hpp"
#include "server/config/security_options.hpp"

#include <vector>

namespace tern::server {

void read_exports(const config_value& from, account_options& to, block_errors& errors);
void read_imports(const config_value& from, account_options& to, block_errors& errors);
void read_mappings(const config_value& from, std::vector<routing::mapping>& to, block_errors& errors);

}  // namespace tern::server
