// Addresses as configuration and flags spell them.
#pragma once

#include <tern/base/error.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace tern::server {

// "host:port" or ":port"; the text of the error is the peer's.
result<std::pair<std::string, int>> parse_host_port(std::string_view text);

}  // namespace tern::server
