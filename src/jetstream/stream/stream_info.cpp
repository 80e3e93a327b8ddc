#include "jetstream/stream/stream_info.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"
#include "jetstream/stream/stream_config_checks.hpp"

#include <tern/codec/json.hpp>

namespace tern::jetstream {
namespace {

constexpr std::string_view zero_time = "0001-01-01T00:00:00Z";
constexpr std::size_t listed_sequences_max = 1'000'000;  // bounds the answer to deleted_details

void append_number(std::string& json, std::string_view key, std::uint64_t value) {
  json.append(",\"").append(key).append("\":");
  append_decimal(json, value);
}

void append_time(std::string& json, std::string_view key, time_point at) {
  json.append(",\"").append(key).append("\":\"");
  if (at == time_point{}) {
    json += zero_time;
  } else {
    append_rfc3339(json, at);
  }
  json += '"';
}

void append_sequences(std::string& json, const std::vector<storage::sequence_range>& ranges) {
  json += '[';
  std::size_t listed = 0;
  for (const auto& range : ranges) {
    for (auto number = range.first; number <= range.last && listed < listed_sequences_max; ++number) {
      if (listed++ > 0) json += ',';
      append_decimal(json, number);
    }
  }
  json += ']';
}

std::uint64_t append_subjects(std::string& json, const stream& what, const stream_info_parts& parts) {
  std::size_t listed = 0;
  std::string subjects;
  const auto matching =
      what.log().for_each_subject(parts.subjects_filter, parts.subjects_offset,
                                  [&](std::string_view subject, const storage::subject_totals& totals) {
                                    subjects += listed++ == 0 ? "" : ",";
                                    codec::write_json_string(subjects, subject);
                                    subjects += ':';
                                    append_decimal(subjects, totals.messages);
                                    return listed < subjects_page_limit;
                                  });
  if (listed > 0) json.append(",\"subjects\":{").append(subjects).append("}");
  return matching;
}

// An untouched stream says 0 and 0; one that was emptied says where it goes on (2).
storage::sequence shown_first(const stream& what) {
  const auto& state = what.state();
  const bool untouched = state.messages == 0 && state.last == 0 && what.first_sequence() == 0;
  return untouched ? 0 : state.first;
}

}  // namespace

std::uint64_t append_stream_state(std::string& json, const stream& what, const stream_info_parts& parts) {
  const auto& state = what.state();
  std::uint64_t matching = 0;
  json += "{\"messages\":";
  append_decimal(json, state.messages);
  append_number(json, "bytes", state.bytes);
  append_number(json, "first_seq", shown_first(what));
  append_time(json, "first_ts", state.messages == 0 ? time_point{} : state.first_timestamp);
  append_number(json, "last_seq", state.last);
  append_time(json, "last_ts", state.last_timestamp);
  if (state.subjects > 0) append_number(json, "num_subjects", state.subjects);
  if (!parts.subjects_filter.empty()) matching = append_subjects(json, what, parts);
  if (state.messages > 0 && state.deleted > 0) {
    append_number(json, "num_deleted", state.deleted);
    if (parts.deleted_details) {
      json += ",\"deleted\":";
      append_sequences(json, what.log().deleted_ranges());
    }
  }
  if (!state.lost.empty()) {
    json += ",\"lost\":{\"msgs\":";
    append_sequences(json, state.lost);
    json += ",\"bytes\":0}";  // how many went with them is not known
  }
  append_number(json, "consumer_count", parts.consumer_count.value_or(what.consumers().size()));
  json += '}';
  return matching;
}

std::uint64_t append_stream_info(std::string& json, const stream& what, environment& surroundings,
                                 const stream_info_parts& parts) {
  json += "\"config\":";
  codec::write_json(json,
                    parts.server_metadata ? with_server_metadata(what.config(), surroundings.settings) : what.config());
  append_time(json, "created", what.created());
  json += ",\"state\":";
  const std::uint64_t matching = append_stream_state(json, what, parts);
  if (parts.domain && !surroundings.settings.domain.empty()) {
    json += ",\"domain\":";
    codec::write_json_string(json, surroundings.settings.domain);
  }
  if (parts.cluster) {
    json += ",\"cluster\":{\"leader\":";
    codec::write_json_string(json, surroundings.settings.server_name);
    json += '}';
  }
  what.intake().append_info(json);
  append_time(json, "ts", surroundings.now());
  return matching;
}

}  // namespace tern::jetstream
