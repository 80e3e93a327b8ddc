#include "server/system/client_facts.hpp"

#include "server/connection/connection.hpp"

namespace tern::server {

namespace {

void append_list(json_builder& out, std::string_view key, const std::vector<std::string>& subjects) {
  if (subjects.empty()) return;
  out.begin_array(key);
  for (const std::string& one : subjects) out.element(one);
  out.end_array();
}

void append_subjects(json_builder& out, std::string_view key, const auth::subject_permission& rules) {
  if (rules.allow.empty() && rules.deny.empty()) return;
  out.begin_object(key);
  append_list(out, "allow", rules.allow);
  append_list(out, "deny", rules.deny);
  out.end_object();
}

}  // namespace

std::string_view account_name_of(const connection& who) { return who.account().name(); }

void append_client_object(json_builder& out, std::string_view key, const connection& who, time_point stop) {
  out.begin_object(key).field("start", who.started());
  out.field_unless_empty("host", who.peer().in_process ? std::string() : who.peer().host);
  out.field("id", who.id()).field("acc", account_name_of(who));
  out.field_unless_empty("user", who.user()).field_unless_empty("name", who.name());
  out.field_unless_empty("lang", who.language()).field_unless_empty("ver", who.version());
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

void append_requester(std::string& out, const routing::receiver* who, std::string_view account,
                      const routing::account* service, bool share, std::string_view server_name) {
  const auto* const client = dynamic_cast<const connection*>(who);
  json_builder text;
  text.begin_object();
  if (share && client != nullptr) {
    text.field("start", client->started());
    text.field_unless_empty("host", client->peer().in_process ? std::string() : client->peer().host);
    text.field("id", client->id());
  }
  text.field("acc", account);
  if (service != nullptr) text.field("svc", service->name());
  if (share && client != nullptr) {
    text.field_unless_empty("user", client->user()).field_unless_empty("name", client->name());
    text.field_unless_empty("lang", client->language()).field_unless_empty("ver", client->version());
  }
  if (client != nullptr) text.field("rtt", client->round_trip().count());
  if (share && client != nullptr)
    text.field("server", server_name).field("kind", "Client").field("client_type", "nats");
  text.end_object();
  out += text.text();
}

std::string user_info_object(const connection& who) {
  json_builder out;
  out.begin_object().field("user", who.user()).field("account", account_name_of(who));
  out.field("account_name", account_name_of(who));
  if (const auth::permissions* const rules = who.permissions(); rules != nullptr) {
    const auth::permission_settings& told = rules->settings();
    out.begin_object("permissions");
    append_subjects(out, "publish", told.publish);
    append_subjects(out, "subscribe", told.subscribe);
    if (told.responses)
      out.begin_object("responses")
          .field("max", told.responses->max)
          .field("ttl", told.responses->expires.count())
          .end_object();
    out.end_object();
  }
  out.end_object();
  return out.text();
}

}  // namespace tern::server
