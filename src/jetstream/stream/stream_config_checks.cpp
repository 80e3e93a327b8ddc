#include "jetstream/stream/stream_config_checks.hpp"

#include "base/go_duration.hpp"
#include "jetstream/stream/origin_checks.hpp"
#include "protocol/subject.hpp"
#include "routing/subject_transform.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::api_error;
using protocol::jetstream_errc;
using protocol::make_api_error;
using problem = std::optional<api_error>;

constexpr std::string_view name_text = "stream name is required and can not contain '.', '*', '>', '\\', '/'";

api_error pedantic_error(std::string_view text) { return make_api_error(jetstream_errc::pedantic, {{"err", text}}); }

problem check_texts(const stream_config& config) {
  if (!is_valid_asset_name(config.name)) return invalid_stream_config(name_text);
  if (config.name.size() > name_size_max)
    return invalid_stream_config("stream name is too long, maximum allowed is " + std::to_string(name_size_max));
  if (config.description.size() > description_size_max)
    return invalid_stream_config("stream description is too long, maximum allowed is " +
                                 std::to_string(description_size_max));
  std::size_t metadata_size = 0;
  for (const auto& [key, value] : config.metadata) metadata_size += key.size() + value.size();
  if (metadata_size > metadata_size_max)
    return invalid_stream_config("stream metadata exceeds maximum size of " + std::to_string(metadata_size_max) +
                                 " bytes");
  return {};
}

problem check_replicas(stream_config& config) {
  if (config.num_replicas == 0) config.num_replicas = 1;
  if (config.num_replicas > replicas_max)
    return invalid_stream_config("maximum replicas is " + std::to_string(replicas_max));
  if (config.num_replicas < 0) return make_api_error(jetstream_errc::replicas_count_cannot_be_negative);
  if (config.num_replicas > 1) return make_api_error(jetstream_errc::stream_replicas_not_supported);
  return {};
}

template <class Limit>
problem normalise_limit(Limit& value, std::string_view name, bool pedantic) {
  if (value < -1 && pedantic) return pedantic_error(std::string(name) + " must be set to -1");
  if (value <= 0) value = -1;
  return {};
}

problem check_limits(stream_config& config, bool pedantic) {
  if (auto found = normalise_limit(config.max_msgs, "max_msgs", pedantic)) return found;
  if (auto found = normalise_limit(config.max_bytes, "max_bytes", pedantic)) return found;
  if (auto found = normalise_limit(config.max_msgs_per_subject, "max_msgs_per_subject", pedantic)) return found;
  if (auto found = normalise_limit(config.max_msg_size, "max_msg_size", pedantic)) return found;
  if (auto found = normalise_limit(config.max_consumers, "max_consumers", pedantic)) return found;
  if (config.max_age.count() < 0) return invalid_stream_config("max age can not be negative");
  if (config.max_age.count() != 0 && config.max_age < age_minimum)
    return invalid_stream_config("max age needs to be >= 100ms");
  return {};
}

problem check_duplicate_window(stream_config& config, bool pedantic, nanoseconds server_limit) {
  nanoseconds& window = config.duplicate_window;
  const bool own_messages = !config.mirror && config.sources.empty();
  if (window.count() < 0) return invalid_stream_config("duplicates window can not be negative");
  if (window.count() == 0 && own_messages) {
    window = duplicate_window_default;
    if (server_limit.count() > 0 && window > server_limit) {
      if (pedantic) return pedantic_error("duplicate window limits are higher than current limits");
      window = server_limit;
    }
    if (config.max_age.count() != 0 && config.max_age < window) {
      if (pedantic) return pedantic_error("duplicate window cannot be bigger than max age");
      window = config.max_age;
    }
  }
  if (config.max_age.count() > 0 && window > config.max_age)
    return invalid_stream_config("duplicates window can not be larger then max age");
  if (server_limit.count() > 0 && window > server_limit)
    return invalid_stream_config("duplicates window can not be larger then server limit of " +
                                 to_go_duration(server_limit));
  if (window.count() > 0 && window < age_minimum)
    return invalid_stream_config("duplicates window needs to be >= 100ms");
  return {};
}

problem check_delete_markers(stream_config& config, bool pedantic) {
  if (config.subject_delete_marker_ttl.count() < 0)
    return invalid_stream_config("subject delete marker TTL must not be negative");
  if (config.subject_delete_marker_ttl.count() == 0) return {};
  if (config.subject_delete_marker_ttl < std::chrono::seconds(1))
    return invalid_stream_config("subject delete marker TTL must be at least 1 second");
  if (config.mirror) return invalid_stream_config("subject delete markers forbidden on mirrors");
  if (pedantic && !config.allow_msg_ttl)
    return invalid_stream_config("subject delete marker cannot be set if message TTLs are disabled");
  if (pedantic && !config.allow_rollup_hdrs)
    return invalid_stream_config("subject delete marker cannot be set if roll-ups are disabled");
  config.allow_msg_ttl = true;
  config.allow_rollup_hdrs = true;
  if (!pedantic) config.deny_purge = false;
  return {};
}

problem check_counters(const stream_config& config) {
  if (!config.allow_msg_counter) return {};
  if (config.discard == discard_policy::new_messages)
    return invalid_stream_config("counter stream cannot use discard new");
  if (config.allow_msg_ttl) return invalid_stream_config("counter stream cannot use message TTLs");
  if (config.allow_msg_schedules) return invalid_stream_config("counter stream cannot use message schedules");
  if (config.retention != retention_policy::limits)
    return invalid_stream_config("counter stream can only use limits retention");
  return {};
}

problem check_schedules(stream_config& config, bool pedantic) {
  if (!config.allow_msg_schedules) return {};
  if (config.mirror) return make_api_error(jetstream_errc::mirror_with_msg_schedules);
  if (!config.sources.empty()) return make_api_error(jetstream_errc::source_with_msg_schedules);
  if (config.discard == discard_policy::new_messages)
    return invalid_stream_config("message scheduling cannot use discard new");
  if (pedantic && !config.allow_rollup_hdrs)
    return invalid_stream_config("message scheduling cannot be set if roll-ups are disabled");
  config.allow_rollup_hdrs = true;
  if (!pedantic) config.deny_purge = false;
  return {};
}

problem check_modes(stream_config& config) {
  if (config.persist_mode == persist_mode::async) {
    if (config.storage != storage_type::file)
      return invalid_stream_config("async persist mode is only supported on file storage");
    if (config.allow_atomic)
      return invalid_stream_config("async persist mode is not supported with atomic batch publish");
  }
  if (config.mirror && config.allow_atomic) return make_api_error(jetstream_errc::mirror_with_atomic_publish);
  if (config.mirror && config.allow_batched) return make_api_error(jetstream_errc::mirror_with_batch_publish);
  if (config.placement) {
    if (!config.placement->preferred.empty())
      return invalid_stream_config("preferred server not permitted in placement");
  }
  return {};
}

problem check_policies(stream_config& config, bool pedantic) {
  if (auto found = check_delete_markers(config, pedantic)) return found;
  if (auto found = check_counters(config)) return found;
  if (auto found = check_schedules(config, pedantic)) return found;
  if (config.deny_purge && config.allow_rollup_hdrs)
    return invalid_stream_config("roll-ups require the purge permission");
  if (config.discard_new_per_subject) {
    if (config.discard != discard_policy::new_messages)
      return invalid_stream_config("discard new per subject requires discard new policy to be set");
    if (config.max_msgs_per_subject <= 0)
      return invalid_stream_config("discard new per subject requires max msgs per subject > 0");
  }
  return check_modes(config);
}

problem check_reserved_space(std::string_view subject) {
  constexpr std::array<std::string_view, 3> api_spaces = {"$JS.>", "$JSC.>", "$NRG.>"};
  for (const std::string_view space : api_spaces) {
    if (protocol::subjects_overlap(subject, space) && !protocol::is_subset(subject, "$JS.EVENT.>"))
      return invalid_stream_config("subjects that overlap with jetstream api require no-ack to be true");
  }
  if (protocol::subjects_overlap(subject, "$SYS.>") && !protocol::is_subset(subject, "$SYS.ACCOUNT.>"))
    return invalid_stream_config("subjects that overlap with system api require no-ack to be true");
  return {};
}

problem check_subjects(stream_config& config) {
  auto& subjects = config.subjects;
  if (subjects.empty() && !config.mirror && config.sources.empty()) subjects.push_back(config.name);
  for (const auto& subject : subjects) {
    if (!protocol::is_valid_config_subject(subject)) return invalid_stream_config("invalid subject");
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (std::size_t j = i + 1; j < subjects.size(); ++j) {
      if (protocol::subjects_overlap(subjects[i], subjects[j]))
        return invalid_stream_config("subject \"" + subjects[i] + "\" overlaps with \"" + subjects[j] + "\"");
    }
  }
  if (config.no_ack) return {};
  for (const auto& subject : subjects) {
    if (subject == ">") return invalid_stream_config("capturing all subjects requires no-ack to be true");
    if (auto found = check_reserved_space(subject)) return found;
  }
  return {};
}

problem check_transform(const stream_config& config) {
  if (!config.subject_transform) return {};
  const auto& [source, destination] = *config.subject_transform;
  if (!source.empty() && !protocol::is_valid_config_subject(source))
    return make_api_error(jetstream_errc::stream_transform_invalid_source, {{"err", "invalid subject " + source}});
  if (destination.empty()) return {};
  const auto made = routing::subject_transform::create(source, destination);
  if (!made) return make_api_error(jetstream_errc::stream_transform_invalid_destination, {{"err", made.error()}});
  return {};
}

problem check_republish(stream_config& config, bool pedantic) {
  if (!config.republish) return {};
  auto& [source, destination, headers_only] = *config.republish;
  if (source.empty()) {
    if (pedantic) return pedantic_error("republish source can not be empty");
    source = ">";
  }
  if (destination.empty()) return {};  // it goes nowhere, and is kept as it was given
  const auto made = routing::subject_transform::create(source, destination);
  const std::string produced = made ? made->destination_pattern() : destination;
  for (const auto& subject : config.subjects) {
    if (protocol::subjects_overlap(subject, produced))
      return invalid_stream_config("stream configuration for republish destination forms a cycle");
  }
  if (!made)
    return invalid_stream_config("stream configuration for republish with transform from '" + source + "' to '" +
                                 destination + "' not valid");
  return {};
}

}  // namespace

bool is_valid_asset_name(std::string_view name) {
  return !name.empty() && std::ranges::none_of(name, [](unsigned char c) {
    return c <= ' ' || c == 0x7f || c == '.' || c == '*' || c == '>' || c == '\\' || c == '/';
  });
}

bool has_path_separator(std::string_view name) { return name.find_first_of("/\\") != std::string_view::npos; }

api_error invalid_stream_config(std::string_view text) {
  return make_api_error(jetstream_errc::stream_invalid_config, {{"err", text}});
}

std::expected<stream_config, api_error> normalise_stream_config(stream_config config, bool pedantic,
                                                                const options& settings) {
  problem found = check_texts(config);
  if (!found) found = check_replicas(config);
  if (!found) found = check_limits(config, pedantic);
  if (!found) found = check_duplicate_window(config, pedantic, settings.server_limits.duplicate_window);
  if (!found) found = check_mirror(config);
  if (!found) found = check_sources(config);
  if (!found) found = check_policies(config, pedantic);
  if (!found) found = check_subjects(config);
  if (!found) found = check_transform(config);
  if (!found) found = check_republish(config, pedantic);
  if (found) return std::unexpected(std::move(*found));
  if (config.placement && *config.placement == placement_config{}) config.placement.reset();
  // An empty list is not an absent one for the peer, which then shows an empty object.
  if (config.placement && config.placement->tags && config.placement->tags->empty()) config.placement->tags.reset();
  config.metadata.erase("_nats.ver");
  config.metadata.erase("_nats.level");
  config.metadata["_nats.req.level"] = std::to_string(required_api_level(config));
  return config;
}

std::optional<api_error> check_stream_update(const stream_config& before, stream_config& after) {
  const auto cannot = [](std::string_view what) {
    return invalid_stream_config("stream configuration update can not " + std::string(what));
  };
  if (after.name != before.name) return invalid_stream_config("stream configuration name must match original");
  if (after.storage != before.storage) return cannot("change storage type");
  if (after.retention != before.retention &&
      (after.retention == retention_policy::workqueue || before.retention == retention_policy::workqueue))
    return cannot("change retention policy to/from workqueue");
  if (before.sealed && !after.sealed) return cannot("unseal a sealed stream");
  if (before.deny_delete && !after.deny_delete) return cannot("cancel deny message deletes");
  if (before.deny_purge && !after.deny_purge) return cannot("cancel deny purge");
  if (after.mirror && after.mirror != before.mirror) return make_api_error(jetstream_errc::stream_mirror_not_updatable);
  if (before.allow_msg_ttl && !after.allow_msg_ttl)
    return invalid_stream_config("message TTL status can not be disabled");
  if (before.allow_msg_counter != after.allow_msg_counter) return cannot("change message counter setting");
  if (before.allow_msg_schedules && !after.allow_msg_schedules)
    return invalid_stream_config("message schedules can not be disabled");
  if (before.persist_mode != after.persist_mode) return cannot("change persist mode");
  if (after.sealed) {
    after.max_age = nanoseconds(0);
    after.discard = discard_policy::new_messages;
    after.deny_delete = true;
    after.deny_purge = true;
    after.allow_rollup_hdrs = false;
  }
  return {};
}

int required_api_level(const stream_config& config) {
  if (config.allow_batched) return 4;
  if (config.allow_msg_counter || config.allow_atomic || config.allow_msg_schedules ||
      config.persist_mode == persist_mode::async)
    return 2;
  if (config.allow_msg_ttl || config.subject_delete_marker_ttl.count() != 0) return 1;
  return 0;
}

stream_config with_server_metadata(stream_config config, const options& settings) {
  config.metadata["_nats.ver"] = settings.version;
  config.metadata["_nats.level"] = std::to_string(settings.api_level);
  return config;
}

}  // namespace tern::jetstream
