#include "client/jetstream/pull_request.hpp"

#include <tern/codec/json.hpp>

#include "base/numbers.hpp"
#include "protocol/headers.hpp"

namespace tern::client::detail {
namespace {

void append_member(std::string& out, std::string_view name, std::int64_t value) {
  if (value == 0) return;
  out.append(",\"").append(name).append("\":");
  append_signed_decimal(out, value);
}

std::int64_t number_of(std::optional<std::string_view> text) {
  if (!text) return -1;
  return parse_signed_decimal(*text).value_or(-1);
}

}  // namespace

std::string pull_request::to_json() const {
  std::string out = "{\"batch\":";
  append_decimal(out, batch);
  append_member(out, "expires", expires.count());
  append_member(out, "idle_heartbeat", heartbeat.count());
  append_member(out, "max_bytes", max_bytes);
  if (no_wait) out += ",\"no_wait\":true";
  if (!group.empty()) {
    out += ",\"group\":";
    codec::write_json_string(out, group);
  }
  append_member(out, "min_pending", min_pending);
  append_member(out, "min_ack_pending", min_ack_pending);
  out += '}';
  return out;
}

pull_status_report read_pull_status(const protocol::message_frame& frame) {
  pull_status_report report;
  // A stored message may carry any header, but no delivery of one comes without its ack subject.
  if (!frame.with_header || !frame.payload().empty() || frame.reply.starts_with("$JS.ACK.")) return report;
  const protocol::header_view view(frame.header());
  report.code = view.status();
  if (report.code == 0) return report;
  report.text = view.description();
  report.messages_left = number_of(view.get("Nats-Pending-Messages"));
  report.bytes_left = number_of(view.get("Nats-Pending-Bytes"));
  switch (report.code) {
    case 100:
      report.kind = pull_status::heartbeat;
      break;
    case 404:
      report.kind = pull_status::no_messages;
      break;
    case 408:
      report.kind = pull_status::expired;
      break;
    case 409:
      report.kind = report.text == "Consumer Deleted" || report.text == "Consumer is push based"
                        ? pull_status::consumer_deleted
                        : pull_status::conflict;
      break;
    case 503:
      report.kind = pull_status::no_responders;
      break;
    default:
      report.kind = pull_status::other;
      break;
  }
  return report;
}

}  // namespace tern::client::detail
