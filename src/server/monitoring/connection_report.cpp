#include "server/monitoring/connection_report.hpp"

#include "server/connection/connection.hpp"

#include <utility>

namespace tern::server {
namespace {

std::size_t subscription_bytes(const connection_report& of) {
  std::size_t bytes = 0;
  for (const subscription_report& one : of.subscriptions)
    bytes += sizeof one + one.subject.size() + one.queue.size() + one.sid.size();
  return bytes;
}

}  // namespace

void closed_connections::add(connection_report what) {
  if (capacity_ == 0) return;
  if (kept_.size() == capacity_) {
    subscription_bytes_ -= subscription_bytes(kept_.front());
    kept_.pop_front();
    if (forgotten_ != 0) --forgotten_;
  }
  subscription_bytes_ += subscription_bytes(what);
  kept_.push_back(std::move(what));
  for (; subscription_bytes_ > subscription_bytes_max && forgotten_ + 1 < kept_.size(); ++forgotten_) {
    connection_report& oldest = kept_[forgotten_];
    subscription_bytes_ -= subscription_bytes(oldest);
    oldest.subscriptions = {};
  }
}

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
  out.account = what.account().name();
  out.user = what.user();
  out.name = what.name();
  out.language = what.language();
  out.version = what.version();
  if (const connection_facts* const facts = what.facts()) {
    out.tls = facts->tls;
    out.tls_first = facts->tls_first;
    out.websocket = facts->websocket.has_value();
  }
  what.subscriptions().each([&](const routing::subscription& one) {
    if (out.subscriptions.size() >= subscriptions_max) return;
    out.subscriptions.push_back({one.subject, one.queue, one.sid, one.delivered, one.maximum, out.id});
  });
  return out;
}

}  // namespace tern::server
