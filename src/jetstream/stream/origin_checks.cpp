#include "jetstream/stream/origin_checks.hpp"

#include "jetstream/stream/source_header.hpp"
#include "jetstream/stream/stream_config_checks.hpp"
#include "protocol/subject.hpp"
#include "routing/subject_transform.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tern::jetstream {
namespace {

using protocol::api_error;
using protocol::jetstream_errc;
using protocol::make_api_error;
using problem = std::optional<api_error>;

// Mirrors and sources obey the same rules and break them under different numbers.
struct rule_numbers {
  jetstream_errc two_filters, bad_filter, bad_destination, overlap, bad_consumer;
};
constexpr rule_numbers of_mirror{
    jetstream_errc::mirror_multiple_filters_not_allowed, jetstream_errc::mirror_invalid_subject_filter,
    jetstream_errc::mirror_invalid_transform_destination, jetstream_errc::mirror_overlapping_subject_filters,
    jetstream_errc::mirror_durable_consumer_cfg_invalid};
constexpr rule_numbers of_source{
    jetstream_errc::source_multiple_filters_not_allowed, jetstream_errc::source_invalid_subject_filter,
    jetstream_errc::source_invalid_transform_destination, jetstream_errc::source_overlapping_subject_filters,
    jetstream_errc::source_durable_consumer_cfg_invalid};

std::string_view or_everything(std::string_view subject) { return subject.empty() ? std::string_view(">") : subject; }

problem check_transforms(const stream_source& from, const rule_numbers& numbers) {
  const auto& all = from.subject_transforms;
  if (!from.filter_subject.empty() && !all.empty()) return make_api_error(numbers.two_filters);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].src.empty() && !protocol::is_valid_config_subject(all[i].src))
      return make_api_error(numbers.bad_filter, {{"err", "invalid subject " + all[i].src}});
    if (!all[i].dest.empty()) {
      const auto made = routing::subject_transform::create(all[i].src, all[i].dest);
      if (!made) return make_api_error(numbers.bad_destination, {{"err", made.error()}});
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (protocol::subjects_overlap(or_everything(all[i].src), or_everything(all[j].src)))
        return make_api_error(numbers.overlap);
    }
  }
  return {};
}

problem check_external(const stream_source& from) {
  if (!from.external) return {};
  const auto& [api, deliver] = *from.external;
  if (!deliver.empty() && !protocol::is_literal(deliver))
    return make_api_error(jetstream_errc::stream_invalid_external_delivery_subj, {{"prefix", deliver}});
  if (api.empty()) return {};
  if (!protocol::is_valid_config_subject(api) || !protocol::is_literal(api))
    return invalid_stream_config("stream external api prefix \"" + api +
                                 "\" must be a valid subject without wildcards");
  constexpr std::string_view own = "$JS.API";
  if (api == own || protocol::subjects_overlap(api, "$JS.API.>"))
    return make_api_error(jetstream_errc::stream_external_api_overlap, {{"prefix", api}, {"subject", own}});
  return {};
}

problem check_consumer(const stream_source& from, const rule_numbers& numbers) {
  if (!from.consumer) return {};
  const auto& [name, deliver] = *from.consumer;
  // What such a consumer filters is its own business.
  if (!from.filter_subject.empty() || !from.subject_transforms.empty()) return make_api_error(numbers.bad_consumer);
  if (!is_valid_asset_name(name) || !protocol::is_valid_config_subject(deliver) || !protocol::is_literal(deliver))
    return make_api_error(numbers.bad_consumer);
  return {};
}

problem check_filter(const stream_source& from, std::string_view told_as) {
  if (from.filter_subject.empty() || protocol::is_valid_config_subject(from.filter_subject)) return {};
  std::string text("subject filter '");
  text.append(from.filter_subject).append("' for the ").append(told_as).append(" invalid subject");
  return make_api_error(jetstream_errc::stream_create, {{"err", text}});
}

std::vector<std::string_view> filters_of(const stream_source& from) {
  std::vector<std::string_view> all;
  for (const auto& one : from.subject_transforms) all.push_back(or_everything(one.src));
  if (all.empty()) all.push_back(or_everything(from.filter_subject));
  return all;
}

// Messages may come this way. What a stream without subjects of its own holds is not known.
bool may_read(const stream_source& from, const stream_config& origin) {
  if (origin.subjects.empty()) return true;
  for (const std::string_view filter : filters_of(from)) {
    for (const auto& subject : origin.subjects) {
      if (protocol::subjects_overlap(filter, subject)) return true;
    }
  }
  return false;
}

template <class Visit>
void for_each_local_origin(const stream_config& config, const Visit& visit) {
  if (config.mirror && !config.mirror->external) visit(*config.mirror);
  for (const auto& one : config.sources) {
    if (!one.external) visit(one);
  }
}

// A message would come back to the stream that it left. Each stream is looked at once.
bool has_cycle(const stream_config& config, const find_stream_config& find) {
  std::set<std::string, std::less<>> seen;
  std::vector<const stream_config*> open{&config};
  bool found = false;
  while (!open.empty() && !found) {
    const stream_config* const at = open.back();
    open.pop_back();
    for_each_local_origin(*at, [&](const stream_source& from) {
      const stream_config* const origin = from.name == config.name ? &config : find(from.name);
      if (origin == nullptr || !may_read(from, *origin)) return;
      if (origin == &config) {
        found = true;
      } else if (seen.insert(from.name).second) {
        open.push_back(origin);
      }
    });
  }
  return found;
}

bool is_smaller_limit(std::int32_t own, const stream_config& origin) {
  return own > 0 && origin.max_msg_size > 0 && own < origin.max_msg_size;
}

}  // namespace

std::optional<api_error> check_mirror(const stream_config& config) {
  if (!config.mirror) return {};
  const stream_source& from = *config.mirror;
  if (config.first_seq != 0) return make_api_error(jetstream_errc::mirror_with_first_seq);
  if (!config.subjects.empty()) return make_api_error(jetstream_errc::mirror_with_subjects);
  if (!config.sources.empty()) return make_api_error(jetstream_errc::mirror_with_sources);
  if (config.allow_msg_counter) return make_api_error(jetstream_errc::mirror_with_counters);
  if (auto found = check_transforms(from, of_mirror)) return found;
  if (!is_valid_asset_name(from.name)) return make_api_error(jetstream_errc::mirror_invalid_stream_name);
  if (auto found = check_external(from)) return found;
  if (auto found = check_consumer(from, of_mirror)) return found;
  return check_filter(from, "mirror");
}

std::optional<api_error> check_sources(const stream_config& config) {
  std::set<std::string> seen, consumers;
  for (const auto& from : config.sources) {
    if (!is_valid_asset_name(from.name)) return make_api_error(jetstream_errc::source_invalid_stream_name);
    if (!seen.insert(source_identity::of(from).key()).second)
      return make_api_error(jetstream_errc::source_duplicate_detected);
    if (auto found = check_transforms(from, of_source)) return found;
    if (auto found = check_external(from)) return found;
    if (auto found = check_consumer(from, of_source)) return found;
    if (from.consumer && !consumers.insert(from.name + " " + from.consumer->name).second)
      return make_api_error(jetstream_errc::source_durable_consumer_duplicate_detected);
    if (auto found = check_filter(from, "source:")) return found;
  }
  return {};
}

std::optional<api_error> check_visible_origins(stream_config& config, const find_stream_config& find) {
  if (config.mirror && !config.mirror->external) {
    if (const stream_config* origin = find(config.mirror->name)) {
      if (is_smaller_limit(config.max_msg_size, *origin))
        return make_api_error(jetstream_errc::mirror_max_message_size_too_big);
      config.mirror_direct = origin->allow_direct;
    }
  }
  for (const auto& from : config.sources) {
    const stream_config* origin = from.external ? nullptr : find(from.name);
    if (origin != nullptr && is_smaller_limit(config.max_msg_size, *origin))
      return make_api_error(jetstream_errc::source_max_message_size_too_big);
  }
  if (has_cycle(config, find)) return invalid_stream_config("detected cycle");
  return {};
}

}  // namespace tern::jetstream
