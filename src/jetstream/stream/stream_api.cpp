#include "jetstream/stream/stream_api.hpp"

#include "base/numbers.hpp"
#include "jetstream/advisory.hpp"
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/stream/direct_get.hpp"
#include "jetstream/stream/origin_checks.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_config_checks.hpp"
#include "jetstream/stream/stream_info.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream::stream_api {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr std::size_t identity_size = 8;

struct names_request {
  std::int64_t offset = 0;
  std::string subject;
};

struct info_request {
  std::int64_t offset = 0;
  bool deleted_details = false;
  std::string subjects_filter;
};

struct purge_body {
  std::uint64_t seq = 0;
  std::string filter;
  std::uint64_t keep = 0;
};

struct delete_body {
  std::uint64_t seq = 0;
  bool no_erase = false;
};

void announce(stream& about, std::string_view event, std::string_view action) {
  const std::string subject = "STREAM." + std::string(event) + "." + about.name();
  if (!wants_advisory(about.account(), subject)) return;
  advisory body(about.surroundings(), "io.nats.jetstream.advisory.v1.stream_action");
  body.add("stream", about.name()).add("action", action);
  about.advise(subject, std::move(body).finish());
}

std::string created_answer(api_request& request, stream& made) {
  std::string json = request.envelope() + ",";
  append_stream_info(json, made, request.surroundings);
  return json + ",\"did_create\":true}";
}

// What STREAM.CREATE looks at before the configuration as a whole, in the order that clients observe (3).
std::optional<protocol::api_error> check_create(account_streams& in, const stream_config& config, std::string_view name,
                                                const stream* existing) {
  if (config.name != name) return make_api_error(jetstream_errc::stream_mismatch);
  if (has_path_separator(name)) return make_api_error(jetstream_errc::stream_name_contains_path_separators);
  if (config.sealed) return invalid_stream_config("stream configuration for create can not be sealed");
  if (config.mirror_direct && !config.mirror)
    return invalid_stream_config("stream has no mirror but does have mirror direct");
  if (existing != nullptr) return {};
  if (in.at_stream_limit()) return make_api_error(jetstream_errc::maximum_streams_limit);
  return in.check_reservation(config, nullptr);
}

result<stream*> make_stream(account_streams& in, stream_config config) {
  environment& surroundings = in.surroundings();
  stored_stream what{.config = std::move(config),
                     .created = surroundings.now(),
                     .identity = surroundings.ids.random_text(identity_size)};
  what.first_sequence = what.config.first_seq;
  const std::string name = what.config.name;
  const auto first = std::max<storage::sequence>(what.config.first_seq, 1);
  const auto level = durability_of(what.config, surroundings.settings);
  auto record = surroundings.store.create_stream(in.account().name(), name, codec::to_json(what), level, first);
  if (!record) return std::unexpected(std::move(record).error());
  auto made = std::make_unique<stream>(in, **record, std::move(what));
  stream* at = made.get();
  in.streams.emplace(name, std::move(made));
  at->open();
  return at;
}

// Consumers whose own settings the new limits would forbid (4).
std::optional<protocol::api_error> check_consumers(stream& of, const consumer_limits& limits) {
  std::string violating;
  of.consumers().for_each([&](consumer& one) {
    const auto& config = one.config();
    const bool idles_longer =
        limits.inactive_threshold.count() > 0 && config.inactive_threshold > limits.inactive_threshold;
    const bool holds_more = limits.max_ack_pending > 0 && config.max_ack_pending > limits.max_ack_pending;
    if (config.direct || (!idles_longer && !holds_more)) return;
    violating += violating.empty() ? "" : ", ";
    violating += one.name();
  });
  if (violating.empty()) return {};
  return make_api_error(jetstream_errc::stream_update, {{"err", "change to limits violates consumers: " + violating}});
}

std::optional<protocol::api_error> check_origins(const account_streams& in, stream_config& config) {
  return check_visible_origins(config, [&in](std::string_view name) -> const stream_config* {
    const stream* found = in.find(name);
    return found == nullptr ? nullptr : &found->config();
  });
}

// What a newer server, or we, wrote into the stored metadata (1.7, 22).
int stored_api_level(const stream_config& config) {
  const auto found = config.metadata.find("_nats.req.level");
  const auto level = found == config.metadata.end() ? std::nullopt : parse_decimal(found->second);
  return level && *level < 1000 ? static_cast<int>(*level) : 0;
}

}  // namespace

stream* find_or_answer(account_streams& in, api_request& request, std::string_view name) {
  if (stream* found = in.find(name)) return found;
  if (const auto offline = in.offline.find(name); offline != in.offline.end()) {
    request.respond_error(jetstream_errc::stream_offline_reason, {{"err", offline->second}});
  } else {
    request.respond_error(jetstream_errc::stream_not_found);
  }
  return nullptr;
}

void create(account_streams& in, api_request& request, std::string_view name) {
  stream_config_request body;
  if (!request.decode(body)) return;
  if (in.offline.contains(name)) {
    find_or_answer(in, request, name);
    return;
  }
  stream* existing = in.find(name);
  if (const auto found = check_create(in, body.config, name, existing)) return request.respond_error(*found);
  auto config = normalise_stream_config(std::move(body.config), body.pedantic, request.surroundings.settings);
  if (!config) return request.respond_error(config.error());
  if (const auto found = check_origins(in, *config)) return request.respond_error(*found);
  if (existing != nullptr) {
    if (*config != existing->config()) return request.respond_error(jetstream_errc::stream_name_exist);
    return request.respond_when_durable(created_answer(request, *existing));
  }
  if (in.overlaps(config->subjects, name)) return request.respond_error(jetstream_errc::stream_subject_overlap);
  const auto made = make_stream(in, std::move(*config));
  if (!made) return request.respond_error(jetstream_errc::stream_create, {{"err", made.error().message()}});
  announce(**made, "CREATED", "create");
  request.respond_when_durable(created_answer(request, **made));
}

void update(account_streams& in, api_request& request, std::string_view name) {
  stream_config_request body;
  if (!request.decode(body)) return;
  auto config = normalise_stream_config(std::move(body.config), body.pedantic, request.surroundings.settings);
  if (!config) return request.respond_error(config.error());
  if (config->name != name) return request.respond_error(jetstream_errc::stream_mismatch);
  stream* existing = find_or_answer(in, request, name);
  if (existing == nullptr) return;
  if (const auto found = check_stream_update(existing->config(), *config)) return request.respond_error(*found);
  if (const auto found = check_origins(in, *config)) return request.respond_error(*found);
  if (const auto found = in.check_reservation(*config, &existing->config())) return request.respond_error(*found);
  if (in.overlaps(config->subjects, name)) return request.respond_error(jetstream_errc::stream_subject_overlap);
  if (const auto found = check_consumers(*existing, config->consumer_limits)) return request.respond_error(*found);
  existing->update(std::move(*config));
  announce(*existing, "UPDATED", "modify");
  std::string json = request.envelope() + ",";
  append_stream_info(json, *existing, request.surroundings, {.domain = true});
  request.respond_when_durable(json + "}");
}

void info(account_streams& in, api_request& request, std::string_view name) {
  info_request body;
  if (!request.decode_optional(body)) return;
  const stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  stream_info_parts parts{.domain = true, .cluster = true, .deleted_details = body.deleted_details};
  parts.subjects_filter = body.subjects_filter;
  parts.subjects_offset = body.offset > 0 ? static_cast<std::uint64_t>(body.offset) : 0;
  std::string state;
  page shown;
  shown.total = append_stream_info(state, *found, request.surroundings, parts);
  if (shown.total > 0) {
    shown.offset = parts.subjects_offset;  // not clamped here (1.9)
    shown.limit = subjects_page_limit;
  }
  std::string json = request.envelope();
  shown.append_to(json);
  json.append(",").append(state).append("}");
  request.respond(json);
}

// A stream that cannot be served may still be given up (22).
bool remove_offline(account_streams& in, api_request& request, std::string_view name) {
  const auto found = in.offline.find(name);
  if (found == in.offline.end()) return false;
  storage::store& store = request.surroundings.store;
  storage::stream_record* record = store.find_stream(in.account().name(), std::string(name));
  if (record == nullptr) return false;
  store.remove_stream(*record);
  in.offline.erase(found);
  request.respond_when_durable(request.envelope() + ",\"success\":true}");
  return true;
}

void remove(account_streams& in, api_request& request, std::string_view name) {
  if (!request.expect_no_body() || remove_offline(in, request, name)) return;
  stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  storage::stream_record& record = found->record();
  found->close_for_deletion();
  announce(*found, "DELETED", "delete");
  in.streams.erase(in.streams.find(name));
  request.surroundings.store.remove_stream(record);
  request.respond_when_durable(request.envelope() + ",\"success\":true}");
}

void purge(account_streams& in, api_request& request, std::string_view name) {
  purge_body body;
  if (!request.decode_optional(body)) return;
  if (body.seq > 0 && body.keep > 0) return request.respond_error(jetstream_errc::bad_request);
  stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  if (found->config().sealed) return request.respond_error(jetstream_errc::stream_sealed);
  if (found->config().deny_purge)
    return request.respond_error(jetstream_errc::stream_purge_failed, {{"err", "stream purge not permitted"}});
  if (body.filter == ">") body.filter.clear();
  const auto removed = found->purge({.subject = body.filter, .below = body.seq, .keep = body.keep});
  std::string json = request.envelope() + ",\"success\":true,\"purged\":";
  append_decimal(json, removed);
  request.respond_when_durable(json + "}");
}

void get_message(account_streams& in, api_request& request, std::string_view name) {
  if (request.is_empty_body()) return request.respond_error(jetstream_errc::bad_request);
  message_get_request what;
  if (!request.decode(what)) return;
  if (!is_single_selection(what)) return request.respond_error(jetstream_errc::bad_request);
  stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  const auto number = select_message(found->log(), what);
  if (!number) return request.respond_error(jetstream_errc::no_message_found);
  const auto message = found->log().load(*number);
  if (!message) return request.respond_error(jetstream_errc::no_message_found);
  std::string json = request.envelope() + ",\"message\":{\"subject\":";
  codec::write_json_string(json, message->subject);
  json += ",\"seq\":";
  append_decimal(json, message->number);
  if (!message->headers.empty() && !what.no_hdr)
    json.append(",\"hdrs\":\"").append(codec::to_base64(message->headers)).append("\"");
  if (!message->payload.empty()) json.append(",\"data\":\"").append(codec::to_base64(message->payload)).append("\"");
  json += ",\"time\":\"";
  append_rfc3339(json, message->timestamp);
  request.respond(json + "\"}}");
}

void delete_message(account_streams& in, api_request& request, std::string_view name) {
  if (request.is_empty_body()) return request.respond_error(jetstream_errc::bad_request);
  delete_body body;
  if (!request.decode(body)) return;
  stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  const auto refused = [&request](std::string_view text) {
    request.respond_error(jetstream_errc::stream_msg_delete_failed, {{"err", text}});
  };
  if (found->config().sealed) return request.respond_error(jetstream_errc::stream_sealed);
  if (found->config().deny_delete) return refused("message delete not permitted");
  if (found->delete_message(body.seq, !body.no_erase))
    return request.respond_when_durable(request.envelope() + ",\"success\":true}");
  const auto& state = found->state();
  const bool on_disk = found->config().storage == storage_type::file;
  if (on_disk && body.seq > state.last) return refused("stream store EOF");
  if (on_disk && body.seq < state.first) return refused("no message found");
  request.respond_error(jetstream_errc::sequence_not_found, {{"seq", std::to_string(body.seq)}});
}

void names(account_streams& in, api_request& request) {
  names_request body;
  if (!request.decode_optional(body)) return;
  const auto found = in.matching(body.subject);
  const page shown = page::of(found.size(), body.offset, names_page_limit);
  std::string json = request.envelope();
  shown.append_to(json);
  json += ",\"streams\":";
  for (std::size_t i = shown.offset; i < shown.end; ++i) {
    json += i == shown.offset ? "[" : ",";
    codec::write_json_string(json, found[i]->name());
  }
  json += shown.offset == shown.end ? "null}" : "]}";  // as the peer writes a list without elements
  request.respond(json);
}

void list(account_streams& in, api_request& request) {
  names_request body;
  if (!request.decode_optional(body)) return;
  const auto found = in.matching(body.subject);
  const page shown = page::of(found.size(), body.offset, list_page_limit);
  std::string json = request.envelope();
  shown.append_to(json);
  json += ",\"streams\":[";
  for (std::size_t i = shown.offset; i < shown.end; ++i) {
    json += i == shown.offset ? "{" : ",{";
    append_stream_info(json, *found[i], request.surroundings, {.server_metadata = false});
    json += '}';
  }
  json += ']';
  if (!in.offline.empty()) {
    json += ",\"offline\":";
    codec::write_json(json, std::map<std::string, std::string>(in.offline.begin(), in.offline.end()));
  }
  request.respond(json + "}");
}

void account_info(account_streams& in, api_request& request) {
  std::uint64_t consumers = 0;
  for (const auto& [name, one] : in.streams) consumers += one->consumers().size();
  std::string json = request.envelope();
  const auto number = [&json](std::string_view key, std::int64_t value) {
    json.append(json.back() == '{' ? "\"" : ",\"").append(key).append("\":");
    append_signed_decimal(json, value);
  };
  number("memory", static_cast<std::int64_t>(in.used().memory));
  number("storage", static_cast<std::int64_t>(in.used().storage));
  number("reserved_memory", static_cast<std::int64_t>(in.reserved(storage_type::memory)));
  number("reserved_storage", static_cast<std::int64_t>(in.reserved(storage_type::file)));
  number("streams", static_cast<std::int64_t>(in.streams.size()));
  number("consumers", static_cast<std::int64_t>(consumers));
  json += ",\"limits\":{";
  number("max_memory", in.limits.max_memory);
  number("max_storage", in.limits.max_storage);
  number("max_streams", in.limits.max_streams);
  number("max_consumers", in.limits.max_consumers);
  number("max_ack_pending", in.limits.max_ack_pending);
  number("memory_max_stream_bytes", in.limits.memory_max_stream_bytes);
  number("storage_max_stream_bytes", in.limits.storage_max_stream_bytes);
  json += ",\"max_bytes_required\":";
  json += in.limits.max_bytes_required ? "true}" : "false}";
  if (const auto& domain = request.surroundings.settings.domain; !domain.empty()) {
    json += ",\"domain\":";
    codec::write_json_string(json, domain);
  }
  json += ",\"api\":{";
  number("level", request.surroundings.settings.api_level);
  number("total", static_cast<std::int64_t>(in.api_total));
  number("errors", static_cast<std::int64_t>(in.api_errors));
  request.respond(json + "}}");
}

void open_recovered(account_streams& in, storage::stream_record& record) {
  environment& surroundings = in.surroundings();
  const std::string& name = record.name();
  if (in.find(name) != nullptr) return;
  auto what = codec::read_json<stored_stream>(record.metadata());
  if (what && what->loading) {
    surroundings.warn("JetStream stream '" + in.account().name() + " > " + name +
                      "': a restore of it was cut off, what had come of it is removed");
    return surroundings.store.remove_stream(record);
  }
  std::string reason;
  if (!what) {
    reason = "its configuration cannot be read: " + what.error().message();
  } else if (const int level = stored_api_level(what->config); level > surroundings.settings.api_level) {
    reason = "unsupported - required API level: " + std::to_string(level) +
             ", current API level: " + std::to_string(surroundings.settings.api_level);
  }
  if (!reason.empty()) {
    surroundings.warn("JetStream stream '" + in.account().name() + " > " + name + "' is offline: " + reason);
    in.offline[name] = std::move(reason);
    return;
  }
  auto made = std::make_unique<stream>(in, record, std::move(*what));
  stream& opened = *made;
  in.streams.emplace(name, std::move(made));
  opened.recover();
  opened.open();
}

}  // namespace tern::jetstream::stream_api
