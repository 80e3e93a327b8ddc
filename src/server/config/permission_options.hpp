// The block `permissions` of a user (core 3.3).
#pragma once

#include "auth/permissions.hpp"
#include "server/config/block_errors.hpp"

#include <optional>

namespace tern::server {

// Empty, with the complaints noted, when it is of no use.
std::optional<auth::permission_settings> read_permissions(const config_value& block, block_errors& errors);

}  // namespace tern::server
