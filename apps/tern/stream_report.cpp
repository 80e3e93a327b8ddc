#include "stream_report.hpp"

#include "base/go_duration.hpp"
#include "text.hpp"

#include <tern/codec/reflect.hpp>

#include <algorithm>

namespace tern::command {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out.append(out.empty() ? "" : ", ").append(text);
  return out;
}

std::string age_limit_text(std::optional<nanoseconds> age) {
  return !age || age->count() == 0 ? "unlimited" : to_go_duration(*age);
}

// A time of the server; Go's zero time stands for none.
bool is_set(const std::optional<time_point>& at) { return at && at->time_since_epoch().count() > 0; }

std::string sequence_text(std::uint64_t sequence, const std::optional<time_point>& at) {
  std::string out = with_thousands(sequence);
  if (is_set(at)) out += " @ " + day_and_time(*at);
  return out;
}

void add_options(field_list& out, const client::stream_config& config) {
  out.section("Options");
  out.field("Retention", std::string(codec::to_word(config.retention.value_or(client::retention_policy::limits))));
  out.field("Acknowledgments", !config.no_ack.value_or(false));
  const auto discard = config.discard.value_or(client::discard_policy::old_messages);
  out.field("Discard Policy", std::string(codec::to_word(discard)) +
                                  (config.discard_new_per_subject.value_or(false) ? " per subject" : ""));
  out.field("Duplicate Window", to_go_duration(config.duplicate_window.value_or(nanoseconds(0))));
  out.field("Direct Get", config.allow_direct.value_or(false));
  out.field("Allows Msg Delete", !config.deny_delete.value_or(false));
  out.field("Allows Purge", !config.deny_purge.value_or(false));
  out.field("Allows Rollups", config.allow_rollup_hdrs.value_or(false));
  if (config.sealed.value_or(false)) out.field("Sealed", true);
}

void add_limits(field_list& out, const client::stream_config& config) {
  out.section("Limits");
  out.field("Maximum Messages", limit_text(config.max_msgs.value_or(-1)));
  out.field("Maximum Per Subject", limit_text(config.max_msgs_per_subject.value_or(-1)));
  out.field("Maximum Bytes", byte_limit_text(config.max_bytes.value_or(-1)));
  out.field("Maximum Age", age_limit_text(config.max_age));
  out.field("Maximum Message Size", byte_limit_text(config.max_msg_size.value_or(-1)));
  out.field("Maximum Consumers", limit_text(config.max_consumers.value_or(-1)));
}

void add_state(field_list& out, const client::stream_state& state) {
  out.section("State");
  out.field("Messages", with_thousands(state.messages));
  out.field("Bytes", human_bytes(state.bytes));
  out.field("First Sequence", sequence_text(state.first_seq, state.first_ts));
  out.field("Last Sequence", sequence_text(state.last_seq, state.last_ts));
  out.field("Active Consumers", std::to_string(state.consumer_count));
  if (state.num_subjects > 0) out.field("Number of Subjects", with_thousands(state.num_subjects));
  if (state.num_deleted > 0) out.field("Deleted Messages", with_thousands(state.num_deleted));
}

std::string created_text(const client::stream_info& stream) {
  return is_set(stream.created) ? " created " + day_and_time(*stream.created) : "";
}

}  // namespace

std::string describe_stream(const client::stream_info& stream) {
  const client::stream_config& config = stream.config;
  field_list out;
  out.section("Information for Stream " + config.name + created_text(stream));
  if (config.description && !config.description->empty()) out.field("Description", *config.description);
  out.field("Subjects", joined(config.subjects));
  out.field("Replicas", std::to_string(config.num_replicas.value_or(1)));
  out.field("Storage", std::string(codec::to_word(config.storage.value_or(client::storage_type::file))));
  if (config.persist_mode && !config.persist_mode->empty()) out.field("Persist Mode", *config.persist_mode);
  add_options(out, config);
  add_limits(out, config);
  add_state(out, stream.state);
  return out.text();
}

std::string describe_stream_state(const client::stream_info& stream) {
  field_list out;
  add_state(out, stream.state);
  return "State for Stream " + stream.config.name + created_text(stream) + "\n\n" + out.text();
}

std::string describe_streams(std::vector<client::stream_info> streams, time_point now) {
  std::ranges::sort(streams, {}, [](const client::stream_info& one) { return one.config.name; });
  table out;
  out.column("NAME");
  out.column("STORAGE");
  out.column("CREATED");
  out.column("MESSAGES", table::alignment::right);
  out.column("SIZE", table::alignment::right);
  out.column("CONSUMERS", table::alignment::right);
  out.column("LAST MESSAGE");
  for (const auto& one : streams) {
    const bool ever = is_set(one.state.last_ts);
    out.row({one.config.name, std::string(codec::to_word(one.config.storage.value_or(client::storage_type::file))),
             is_set(one.created) ? day_and_time(*one.created) : "", with_thousands(one.state.messages),
             human_bytes(one.state.bytes), std::to_string(one.state.consumer_count),
             ever ? short_duration(now - *one.state.last_ts) + " ago" : "never"});
  }
  return out.text();
}

}  // namespace tern::command
