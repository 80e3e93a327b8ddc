// The `leafnodes {}` block (core 4.2, 10): what its listener needs. Links that this server would dial are refused.
#pragma once

#include "server/config/tls_options.hpp"

#include <optional>

namespace tern::server {

struct leafnode_options {
  std::string host;  // empty: as that of the client port
  int port = 0;      // 0: none
  std::string advertise;
  bool no_advertise = false;
  std::optional<tls_options> tls;
  std::string min_version;  // of a peer, "2.11.0"
  nanoseconds auth_timeout = std::chrono::seconds(2);
  std::string user, password, account;
};

void read_leafnodes_block(const config_value& block, leafnode_options& into, config_findings& findings);
// Dotted numbers, compared part by part; text behind a dash does not count.
bool is_older_version(std::string_view one, std::string_view than);

}  // namespace tern::server
