#include "jetstream/consumer/consumer_info.hpp"

#include "base/numbers.hpp"

#include <tern/codec/json.hpp>

namespace tern::jetstream {
namespace {

constexpr std::string_view zero_time = "0001-01-01T00:00:00Z";

void append_number(std::string& out, std::string_view key, std::uint64_t value) {
  out.append(",\"").append(key).append("\":");
  append_decimal(out, value);
}

void append_time(std::string& out, std::string_view key, const std::optional<time_point>& at) {
  out.append(",\"").append(key).append("\":\"");
  if (at) {
    append_rfc3339(out, *at);
  } else {
    out.append(zero_time);
  }
  out += '"';
}

void append_sequences(std::string& out, std::string_view key, const sequence_info& value) {
  out.append(",\"").append(key).append("\":{\"consumer_seq\":");
  append_decimal(out, value.consumer_seq);
  append_number(out, "stream_seq", value.stream_seq);
  if (value.last_active) append_time(out, "last_active", value.last_active);
  out += '}';
}

void append_config(std::string& out, const consumer_config& config, const shown_metadata* server) {
  if (server == nullptr) {
    codec::write_json(out, config);
    return;
  }
  consumer_config shown = config;
  shown.metadata["_nats.ver"] = server->version;
  shown.metadata["_nats.level"] = std::to_string(server->level);
  codec::write_json(out, shown);
}

void append_groups(std::string& out, const std::vector<priority_group_info>& groups) {
  out.append(",\"priority_groups\":[");
  for (const priority_group_info& group : groups) {
    if (&group != groups.data()) out += ',';
    out.append("{\"group\":");
    codec::write_json_string(out, group.group);
    if (!group.pinned_client_id.empty()) {
      out.append(",\"pinned_client_id\":");
      codec::write_json_string(out, group.pinned_client_id);
    }
    append_time(out, "pinned_ts", group.pinned_at);
    out += '}';
  }
  out += ']';
}

}  // namespace

void append_members(std::string& out, const consumer_info& info, const shown_metadata* server) {
  out.append("\"stream_name\":");
  codec::write_json_string(out, info.stream_name);
  out.append(",\"name\":");
  codec::write_json_string(out, info.name);
  append_time(out, "created", info.created);
  if (info.config != nullptr) {
    out.append(",\"config\":");
    append_config(out, *info.config, server);
  }
  append_sequences(out, "delivered", info.delivered);
  append_sequences(out, "ack_floor", info.ack_floor);
  append_number(out, "num_ack_pending", info.num_ack_pending);
  append_number(out, "num_redelivered", info.num_redelivered);
  append_number(out, "num_waiting", info.num_waiting);
  append_number(out, "num_pending", info.num_pending);
  if (info.push_bound) out.append(",\"push_bound\":true");
  if (info.pause_remaining) {
    out.append(",\"paused\":true,\"pause_remaining\":");
    append_signed_decimal(out, info.pause_remaining->count());
  }
  append_time(out, "ts", info.now);
  if (!info.priority_groups.empty()) append_groups(out, info.priority_groups);
}

}  // namespace tern::jetstream
