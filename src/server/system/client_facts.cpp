#include "server/system/client_facts.hpp"

#include "server/connection/connection.hpp"

namespace tern::server {

std::string_view account_name_of(const connection& who) { return who.account().name(); }

void append_client_object(json_builder& out, std::string_view key, const connection& who, time_point stop) {
  out.begin_object(key).field("start", who.started());
  out.field_unless_empty("host", who.peer().in_process ? std::string() : who.peer().host);
  out.field("id", who.id()).field("acc", account_name_of(who));
  out.field_unless_empty("name", who.name()).field_unless_empty("lang", who.language());
  out.field_unless_empty("ver", who.version());
  if (stop != time_point{}) {
    if (who.round_trip() > nanoseconds(0)) out.field("rtt", who.round_trip().count());
    out.field("stop", stop);
  }
  out.field("name_tag", account_name_of(who)).field("kind", "Client").field("client_type", "nats").end_object();
}

std::string audit_client_object(const connection& who, std::string_view server_id) {
  json_builder out;
  out.begin_object().field("start", who.started());
  out.field_unless_empty("host", who.peer().in_process ? std::string() : who.peer().host);
  out.field("id", who.id()).field("acc", account_name_of(who));
  out.field_unless_empty("name", who.name()).field_unless_empty("lang", who.language());
  out.field_unless_empty("ver", who.version()).field("rtt", who.round_trip().count());
  out.field("server", server_id).field("kind", "Client").field("client_type", "nats").end_object();
  return out.text();
}

std::string user_info_object(const connection& who) {
  json_builder out;
  out.begin_object().field("user", "").field("account", account_name_of(who));
  out.field("account_name", account_name_of(who)).end_object();
  return out.text();
}

}  // namespace tern::server
