#include "server/connection_report.hpp"

#include "server/connection.hpp"

namespace tern::server {

connection_report report_on(const connection& what, std::size_t subscriptions_max) {
  connection_report out;
  out.id = what.id();
  out.ip = what.peer().host;
  out.port = what.peer().port;
  out.in_process = what.peer().in_process;
  out.start = what.started();
  out.last_activity = what.last_activity();
  out.round_trip = what.round_trip();
  out.pending_bytes = what.pending_bytes();
  out.counts = what.counts();
  out.stalls = what.stalls();
  out.subscription_count = what.subscriptions().size();
  out.name = what.name();
  out.language = what.language();
  out.version = what.version();
  what.subscriptions().each([&](const routing::subscription& one) {
    if (out.subscriptions.size() >= subscriptions_max) return;
    out.subscriptions.push_back({one.subject, one.queue, one.sid, one.delivered, one.maximum, out.id});
  });
  return out;
}

}  // namespace tern::server
