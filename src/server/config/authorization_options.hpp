// Users, wherever they stand in a configuration (core 3.1).
#pragma once

#include "server/config/block_errors.hpp"
#include "server/config/security_options.hpp"

#include <string_view>
#include <vector>

namespace tern::server {

void read_users(const config_value& from, std::string_view account, std::vector<user_options>& to,
                block_errors& errors);

}  // namespace tern::server
