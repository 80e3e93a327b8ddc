// What events and services tell of a client (core 6).
#pragma once

#include "server/monitoring/json_builder.hpp"

#include "routing/account.hpp"

#include <string>
#include <string_view>

namespace tern::server {

class connection;

std::string_view account_name_of(const connection& who);
// `stop` at the epoch: it is still open.
void append_client_object(json_builder& out, std::string_view key, const connection& who, time_point stop);
// What JetStream's audit tells of the caller (jetstream 19).
std::string audit_client_object(const connection& who, std::string_view server_id);
// `Nats-Request-Info`: who asks a service of another account (core 3.4). `service`: the account in the middle, or null.
void append_requester(std::string& out, const routing::receiver* who, std::string_view account,
                      const routing::account* service, bool share, std::string_view server_name);
// The data of `$SYS.REQ.USER.INFO`.
std::string user_info_object(const connection& who);

}  // namespace tern::server
