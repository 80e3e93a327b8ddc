#include "server/config/options.hpp"

#include "base/go_duration.hpp"

namespace tern::server {

result<void> check_options(const options& what) {
  if (what.max_payload > what.max_pending)
    return fail(errc::config_error, "max_payload (" + std::to_string(what.max_payload) +
                                        ") cannot be higher than max_pending (" + std::to_string(what.max_pending) +
                                        ")");
  if (what.lame_duck_grace_period >= what.lame_duck_duration)
    return fail(errc::config_error, "lame duck grace period (" + to_go_duration(what.lame_duck_grace_period) +
                                        ") should be strictly lower than lame duck duration (" +
                                        to_go_duration(what.lame_duck_duration) + ")");
  if (what.server_name.find(' ') != std::string::npos)
    return fail(errc::config_error, "server name cannot contain spaces");
  if (auto checked = check_operators(what.security); !checked) return checked;
  if (auto checked = check_security(what.security); !checked) return checked;
  if (auto checked = check_accounts(what.security); !checked) return checked;
  return check_websocket_options(what.websocket);
}

std::map<std::string, bool> feature_flags_of(const options& what) {
  std::map<std::string, bool> out = {{"js_ack_fc_v2", false},
                                     {"js_api_reply_v2", false},
                                     {"js_raft_delete_range", true},
                                     {"js_snapshot_sources", false}};
  for (const auto& [flag, on] : what.feature_flags)
    if (const auto known = out.find(flag); known != out.end()) known->second = on;
  return out;
}

}  // namespace tern::server
