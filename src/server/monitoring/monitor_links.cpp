// /leafz, /routez and /gatewayz of a server without such links, and what is shown of its own machinery: /ipqueuesz and
// /debug/vars (core 5).
#include "runtime/host/process.hpp"
#include "server/connection/connection.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"

#include <utility>

namespace tern::server {

endpoint_answer leafz(server& from, const leafz_options&) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  out.field("leafnodes", 0).begin_array("leafs").end_array().end_object();
  return {.body = out.text()};
}

endpoint_answer routez(server& from) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("server_name", from.name());
  out.field("now", from.loop().now()).field("num_routes", 0).begin_array("routes").end_array().end_object();
  return {.body = out.text()};
}

endpoint_answer gatewayz(server& from) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  out.begin_object("outbound_gateways").end_object().begin_object("inbound_gateways").end_object().end_object();
  return {.body = out.text()};
}

// What waits for the end of the turn. Nothing does between two turns, so that only `all` shows the queues.
endpoint_answer ipqueuesz(server& from, const ipqueuesz_options& asked) {
  const std::pair<std::string_view, std::size_t> queues[] = {{"connections with output", from.context().dirty.size()},
                                                             {"stalled publishers", from.context().stalled.size()}};
  json_builder out;
  out.begin_object();
  for (const auto& [name, pending] : queues) {
    if (!asked.filter.empty() ? name.find(asked.filter) == std::string_view::npos : !asked.all && pending == 0)
      continue;
    out.begin_object(name).field("pending", pending).end_object();
  }
  out.end_object();
  return {.body = out.text()};
}

// The names are those of Go's runtime where there is something of the kind.
endpoint_answer expvarz(server&) {
  json_builder out;
  const std::uint64_t resident = runtime::host::resident_bytes();
  // Without the arguments, which may hold a password.
  out.begin_object().begin_array("cmdline").element(runtime::host::program_name()).end_array();
  out.begin_object("memstats").field("Sys", resident).field("HeapAlloc", resident);
  out.end_object().end_object();
  return {.body = out.text()};
}

}  // namespace tern::server
