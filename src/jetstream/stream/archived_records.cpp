#include "jetstream/stream/archived_records.hpp"

#include "base/numbers.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <map>

namespace tern::jetstream {
namespace {

using storage::archive::peer_consumer_state;

// As the peer writes them: sequences of maps are texts, members of a pending message begin with capitals.
struct sequence_pair_record {
  std::uint64_t consumer_seq = 0;
  std::uint64_t stream_seq = 0;
};
struct pending_record {
  std::uint64_t Sequence = 0;  // NOLINT(readability-identifier-naming): the name on the wire
  std::int64_t Timestamp = 0;  // NOLINT(readability-identifier-naming)
};
struct state_record {
  sequence_pair_record delivered;
  sequence_pair_record ack_floor;
  std::map<std::string, pending_record> pending;
  std::map<std::string, std::uint64_t> redelivered;

  static constexpr codec::member_option json_members[] = {{"pending", {.omit = codec::omit_when::empty}},
                                                          {"redelivered", {.omit = codec::omit_when::empty}}};
};
struct consumer_record_json {
  std::optional<consumer_config> config;
  std::optional<state_record> state;
};

nanoseconds wait_of(const consumer_config& config, std::uint64_t deliveries) {
  if (config.backoff.empty()) return config.ack_wait;
  return config.backoff[std::min<std::size_t>(std::max<std::uint64_t>(deliveries, 1), config.backoff.size()) - 1];
}

}  // namespace

result<archived_state> read_archived_state(std::string_view json) {
  auto state = codec::read_json<archived_state>(json, codec::peer_lenient);
  if (!state) return std::unexpected(std::move(state.error()).within("error in state.json"));
  const auto refuse = [](const char* why) {
    return fail(errc::corrupted, std::string("invalid stream state: ") + why);
  };
  if (state->consumer_count < 0) return refuse("negative consumer count");
  constexpr const char* inconsistent = "inconsistent message count or sequence range";
  if (state->first_seq == 0) {
    if (state->last_seq != 0 || state->messages != 0) return refuse(inconsistent);
  } else if (state->first_seq > state->last_seq) {
    if (state->first_seq - 1 != state->last_seq || state->messages != 0) return refuse(inconsistent);
  } else if (state->messages > state->last_seq - state->first_seq + 1) {
    return refuse("message count exceeds sequence range");
  }
  return state;
}

result<archived_consumer> read_archived_consumer(std::string_view name, std::string_view json) {
  const std::string quoted = "consumer \"" + std::string(name) + "\"";
  auto record = codec::read_json<consumer_record_json>(json, codec::peer_lenient);
  if (!record) return std::unexpected(std::move(record.error()).within("failed to decode " + quoted + " state"));
  if (!record->config) return fail(errc::corrupted, quoted + " is missing config");
  if (!record->state) return fail(errc::corrupted, quoted + " is missing state");
  archived_consumer made{.name = std::string(name), .config = std::move(*record->config), .state = {}};
  made.state.delivered_consumer = record->state->delivered.consumer_seq;
  made.state.delivered_stream = record->state->delivered.stream_seq;
  made.state.floor_consumer = record->state->ack_floor.consumer_seq;
  made.state.floor_stream = record->state->ack_floor.stream_seq;
  const auto bad_number = [&] { return fail(errc::corrupted, "failed to decode " + quoted + " state"); };
  for (const auto& [key, value] : record->state->pending) {
    const auto number = parse_decimal(key);
    if (!number) return bad_number();
    made.state.pending[*number] = {value.Sequence, value.Timestamp};
  }
  for (const auto& [key, value] : record->state->redelivered) {
    const auto number = parse_decimal(key);
    if (!number) return bad_number();
    made.state.redelivered[*number] = value;
  }
  return made;
}

std::string write_archived_consumer(const consumer_config& config, std::string_view name,
                                    const peer_consumer_state& state) {
  consumer_record_json record;
  record.config = config;
  record.config->name = name;
  state_record& out = record.state.emplace();
  out.delivered = {state.delivered_consumer, state.delivered_stream};
  out.ack_floor = {state.floor_consumer, state.floor_stream};
  for (const auto& [number, each] : state.pending)
    out.pending[std::to_string(number)] = {each.consumer_sequence, each.delivered_at};
  for (const auto& [number, count] : state.redelivered) out.redelivered[std::to_string(number)] = count;
  return codec::to_json(record);
}

peer_consumer_state to_peer_state(const consumer_state& state, const consumer_config& config, storage::sequence last,
                                  time_point now) {
  peer_consumer_state made;
  made.delivered_consumer = state.next_consumer - 1;
  made.delivered_stream = std::min(state.delivered_stream, last);
  made.floor_consumer = state.floor_consumer;
  made.floor_stream = std::min(state.floor_stream, last);
  state.pending.for_each([&](const pending_entry& entry) {
    if (entry.number > last) return;
    const nanoseconds wait = wait_of(config, entry.deliveries);
    const time_point since =
        entry.ticket != 0 || entry.due == time_point{} ? std::min(entry.delivered_at, now - wait) : entry.due - wait;
    made.pending[entry.number] = {entry.consumer_sequence, to_unix_nanoseconds(since)};
    if (entry.deliveries > 1) made.redelivered[entry.number] = entry.deliveries - 1;
  });
  for (const auto& [number, deliveries] : state.exhausted) {
    if (number <= last && deliveries > 1) made.redelivered[number] = deliveries - 1;
  }
  return made;
}

consumer_state from_peer_state(const peer_consumer_state& state, const consumer_config& config) {
  consumer_state made;
  made.next_consumer = state.delivered_consumer + 1;
  made.delivered_stream = state.delivered_stream;
  made.next_stream = state.delivered_stream + 1;
  made.floor_consumer = state.floor_consumer;
  made.floor_stream = state.floor_stream;
  for (const auto& [number, each] : state.pending) {
    pending_entry& entry = made.pending.append(number);
    entry.consumer_sequence = std::max<std::uint64_t>(each.consumer_sequence, 1);
    const auto repeated = state.redelivered.find(number);
    entry.deliveries = repeated == state.redelivered.end() ? 1 : repeated->second + 1;
    entry.delivered_at = from_unix_nanoseconds(each.delivered_at);
    entry.due = entry.delivered_at + wait_of(config, entry.deliveries);
  }
  if (config.max_deliver > 0 && config.ack_policy != ack_mode::none) {
    for (const auto& [number, count] : state.redelivered) {
      const bool given_up = count + 1 >= static_cast<std::uint64_t>(config.max_deliver);
      if (given_up && number > state.floor_stream && !state.pending.contains(number))
        made.exhausted[number] = count + 1;
    }
  }
  return made;
}

}  // namespace tern::jetstream
