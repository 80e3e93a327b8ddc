// The machine's time zones, by IANA name.
#pragma once

#include "base/time_zone.hpp"

#include <memory>
#include <string_view>

namespace tern::runtime::host {

// Empty when there is none of that name. `UTC` is always there, `Local` is the machine's own.
std::shared_ptr<const time_zone> find_time_zone(std::string_view name);

}  // namespace tern::runtime::host
