// What systemd is told: sd_notify(3) over the socket that it names in the environment. Nothing happens without one. Any
// thread.
#pragma once

#include <string_view>

namespace tern::runtime::host {

// "READY=1", "STOPPING=1", "STATUS=..."; several parted by line feeds.
void notify_service_manager(std::string_view state);

}  // namespace tern::runtime::host
