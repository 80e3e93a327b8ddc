// CONSUMER.CREATE, INFO, DELETE, NAMES, LIST, PAUSE and UNPIN (jetstream 12, 17).
#include "jetstream/consumer/consumer_checks.hpp"
#include "jetstream/consumer/consumer_set_state.hpp"
#include "jetstream/consumer/consumer_sourcing.hpp"

#include "base/numbers.hpp"
#include "protocol/headers.hpp"

#include <algorithm>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr std::size_t made_up_name_length = 8;

struct pause_request {
  std::optional<zoned_time> pause_until;
};

struct unpin_request {
  std::string group;
};

bool same_text(const consumer_config& left, const consumer_config& right) {
  return left == right &&
         left.opt_start_time.value_or(zoned_time{}).text == right.opt_start_time.value_or(zoned_time{}).text;
}

bool is_zero_time(const zoned_time& at) { return at.text.starts_with("0001-01-01T00:00:00"); }

}  // namespace

// What the subject says of the consumer must be what the config says (12.1).
std::optional<protocol::api_error> consumer_set::implementation::check_names(consumer_create_request& wanted,
                                                                             std::string_view name,
                                                                             std::string_view filter,
                                                                             bool legacy_durable) {
  consumer_config& config = wanted.config;
  if (wanted.stream_name != context.config().name) return make_api_error(jetstream_errc::stream_mismatch);
  if (name.find_first_of("/\\") != std::string_view::npos) {
    return make_api_error(jetstream_errc::consumer_name_contains_path_separators);
  }
  if (legacy_durable) {
    if (config.durable_name.empty()) return make_api_error(jetstream_errc::consumer_durable_name_not_set);
    if (config.durable_name != name) return make_api_error(jetstream_errc::consumer_durable_name_not_match_subject);
    config.name = name;
    return std::nullopt;
  }
  if (name.empty()) {
    if (!config.durable_name.empty()) return make_api_error(jetstream_errc::consumer_ephemeral_with_durable_name);
    return std::nullopt;
  }
  if (!config.durable_name.empty() && config.durable_name != name) {
    return make_api_error(jetstream_errc::consumer_durable_name_not_match_subject);
  }
  config.name = name;
  if (filter.empty()) return std::nullopt;
  if (!config.filter_subjects.empty()) return make_api_error(jetstream_errc::consumer_multiple_filters_not_allowed);
  if (config.filter_subject != filter) return make_api_error(jetstream_errc::consumer_create_filter_subject_mismatch);
  return std::nullopt;
}

// On a workqueue stream no message may be for two consumers (6.4).
std::optional<protocol::api_error> consumer_set::implementation::check_work_queue(const consumer_config& config,
                                                                                  const consumer* itself) {
  if (context.config().retention != retention_policy::workqueue || config.direct) return std::nullopt;
  if (auto bad = check_consumer_of_work_queue(config)) return bad;
  const bool unfiltered = config.filters().empty();
  bool taken = false;
  for (const std::string& pattern : patterns_of(config)) {
    filters.for_each_overlap(pattern,
                             [&](const consumer* who) { taken = taken || (who != itself && !who->config().direct); });
  }
  if (!taken && unfiltered) {
    // A filter outside the stream's subjects overlaps nothing, yet the other consumer is there.
    taken = std::any_of(consumers.begin(), consumers.end(),
                        [&](const auto& one) { return one.second.get() != itself && !one.second->config().direct; });
  }
  if (!taken) return std::nullopt;
  return make_api_error(unfiltered ? jetstream_errc::consumer_wq_multiple_unfiltered
                                   : jetstream_errc::consumer_wq_consumer_not_unique);
}

std::optional<protocol::api_error> consumer_set::implementation::create(consumer_create_request& wanted,
                                                                        const std::string& name, consumer*& out) {
  if (const auto found = offline.find(name); found != offline.end()) {
    return make_api_error(jetstream_errc::consumer_offline_reason, {{"err", found->second}});
  }
  consumer_config& config = wanted.config;
  std::int64_t room = context.config().max_consumers;
  if (const std::int64_t of_account = context.limits().max_consumers;
      of_account > 0 && (room <= 0 || of_account < room)) {
    room = of_account;
  }
  if (!config.direct && room > 0 && static_cast<std::int64_t>(listed) >= room) {
    return make_api_error(jetstream_errc::maximum_consumers_limit);
  }
  if (auto bad = check_work_queue(config, nullptr)) return bad;
  const time_point at = context.surroundings().now();
  const bool in_memory = config.mem_storage;
  const std::string metadata = codec::to_json(stored_consumer{name, at, config});
  storage::consumer_record& record = context.record().create_consumer(name, metadata, in_memory);
  auto made = std::make_unique<consumer>(*this, std::move(config), name, at, record);
  told = std::max(told, context.log().state().last);
  made->start_new();
  out = &adopt(std::move(made));
  out->hold();
  out->open();
  tell(*out, "CREATED", "create");
  if (out->paused()) out->tell_paused();
  return std::nullopt;
}

std::optional<protocol::api_error> consumer_set::implementation::update(consumer& who,
                                                                        consumer_create_request& wanted) {
  consumer_config& config = wanted.config;
  if (wanted.action == create_action::create) {
    if (comparable(who.config()) == comparable(config)) return std::nullopt;
    return make_api_error(jetstream_errc::consumer_already_exists);
  }
  const bool moves = who.config().push() && config.push() && config.deliver_subject != who.config().deliver_subject;
  // Any subscriber counts here, one by a wildcard too.
  if (moves && (who.bound() || context.account().has_interest(who.config().deliver_subject))) {
    return make_api_error(jetstream_errc::consumer_name_exist);
  }
  if (auto bad = check_consumer_update(who.config(), config)) return bad;
  if (auto bad = check_work_queue(config, &who)) return bad;
  if (same_text(comparable(who.config()), comparable(config))) return std::nullopt;
  const bool filters_changed = patterns_of(who.config()) != patterns_of(config);
  if (filters_changed) unlist_filters(who);
  who.update(std::move(config));
  if (filters_changed) list_filters(who);
  if (auto* record = context.record().find_consumer(who.name())) record->set_metadata(encode_consumer(who));
  if (filters_changed) context.on_interest_changed();
  return std::nullopt;
}

std::string consumer_set::implementation::describe(const api_request& request, consumer& who) {
  const shown_metadata server{context.surroundings().settings.version, context.surroundings().settings.api_level};
  std::string json = request.envelope();
  json += ',';
  append_members(json, who.info(), &server);
  json += '}';
  return json;
}

// A snapshot from before the first delivery; deliveries begin behind it.
void consumer_set::implementation::answer_and_release(api_request& request, consumer& who) {
  request.respond_when_durable(
      [this, still = std::weak_ptr<bool>(alive), name = who.name(), json = describe(request, who)]() mutable {
        if (!still.expired()) {
          if (consumer* made = find(name)) made->release();
        }
        return std::move(json);
      });
}

consumer* consumer_set::implementation::find_or_refuse(api_request& request, std::string_view name) {
  if (consumer* who = find(name)) return who;
  if (const auto found = offline.find(name); found != offline.end()) {
    request.respond_error(make_api_error(jetstream_errc::consumer_offline_reason, {{"err", found->second}}));
  } else {
    request.respond_error(make_api_error(jetstream_errc::consumer_not_found));
  }
  return nullptr;
}

void consumer_set::handle_create(api_request& request, std::string_view name, std::string_view filter,
                                 bool legacy_durable) {
  auto& self = *implementation_;
  consumer_create_request wanted;
  if (!request.decode(wanted)) return;
  if (auto bad = self.check_names(wanted, name, filter, legacy_durable)) return request.respond_error(*bad);
  const environment& around = self.context.surroundings();
  consumer_surroundings limits{self.context.config(), around.settings.server_limits, self.context.limits()};
  if (wanted.config.direct) {
    if (auto bad = check_reader_identity(self.context, request.headers)) return request.respond_error(*bad);
    request.answer_headers = protocol::header_builder().add(stream_identity_header, self.context.identity()).finish();
    if (is_reader(wanted.config)) {
      const consumer* before = self.find(wanted.config.name);
      adapt_reader(wanted.config, self.context.config().retention, before == nullptr ? nullptr : &before->config(),
                   self.context.surroundings().ids.random_text(made_up_name_length));
      name = wanted.config.name;
    }
  }
  std::string named = name.empty() ? wanted.config.name : std::string(name);
  if (const consumer* present = self.find(named)) limits.present = &present->config();
  if (auto bad = apply_consumer_defaults(wanted.config, limits, wanted.pedantic)) return request.respond_error(*bad);
  if (auto bad = check_consumer(wanted.config, limits)) return request.respond_error(*bad);
  stamp_consumer_metadata(wanted.config);
  if (named.empty()) {
    do {
      named = self.context.surroundings().ids.random_text(made_up_name_length);
    } while (self.consumers.contains(named));
  }
  consumer* who = self.find(named);
  if (who != nullptr) {
    if (who->config().sourcing) who->hold();  // its reader counts deliveries from the answer on
    if (auto bad = self.update(*who, wanted)) {
      who->release();
      return request.respond_error(*bad);
    }
    if (who->config().sourcing) return self.answer_and_release(request, *who);
    return request.respond_when_durable(self.describe(request, *who));
  }
  if (wanted.action == create_action::update) {
    return request.respond_error(make_api_error(jetstream_errc::consumer_does_not_exist));
  }
  if (auto bad = self.create(wanted, named, who)) return request.respond_error(*bad);
  self.answer_and_release(request, *who);
}

void consumer_set::handle_info(api_request& request, std::string_view name) {
  auto& self = *implementation_;
  if (!request.expect_no_body()) return;
  if (consumer* who = self.find_or_refuse(request, name)) request.respond(self.describe(request, *who));
}

void consumer_set::handle_delete(api_request& request, std::string_view name) {
  auto& self = *implementation_;
  if (!request.expect_no_body()) return;
  consumer* who = self.find(name);
  if (who == nullptr && !self.offline.contains(name)) {
    return request.respond_error(make_api_error(jetstream_errc::consumer_not_found));
  }
  if (who != nullptr) {
    self.remove(*who);
  } else {
    self.context.record().remove_consumer(std::string(name));
    self.offline.erase(self.offline.find(name));
  }
  // Waiting pulls hear of it behind the answer (12.4).
  request.respond_when_durable([set = &self, alive = std::weak_ptr<bool>(self.alive),
                                json = request.envelope() + ",\"success\":true}"]() mutable {
    if (!alive.expired()) set->bury_soon();
    return std::move(json);
  });
}

void consumer_set::handle_names(api_request& request) {
  page_request asked;
  if (!request.decode_optional(asked)) return;
  std::vector<const consumer*> listed;
  for (const auto& [name, who] : implementation_->consumers) {
    if (!who->config().direct) listed.push_back(who.get());
  }
  const page shown = page::of(listed.size(), asked.offset, names_page_limit);
  std::string json = request.envelope();
  shown.append_to(json);
  json += ",\"consumers\":[";
  for (std::size_t i = shown.offset; i < shown.end; ++i) {
    if (i != shown.offset) json += ',';
    codec::write_json_string(json, listed[i]->name());
  }
  json += "]}";
  request.respond(json);
}

void consumer_set::handle_list(api_request& request) {
  auto& self = *implementation_;
  page_request asked;
  if (!request.decode_optional(asked)) return;
  std::vector<consumer*> listed;
  for (const auto& [name, who] : self.consumers) {
    if (!who->config().direct) listed.push_back(who.get());
  }
  const page shown = page::of(listed.size(), asked.offset, list_page_limit);
  std::string json = request.envelope();
  shown.append_to(json);
  json += ",\"consumers\":[";
  for (std::size_t i = shown.offset; i < shown.end; ++i) {
    json += i == shown.offset ? "{" : ",{";
    append_members(json, listed[i]->info(), nullptr);
    json += '}';
  }
  json += ']';
  if (!self.offline.empty()) {
    const std::map<std::string, std::string> reasons(self.offline.begin(), self.offline.end());
    json += ",\"offline\":";
    codec::write_json(json, reasons);
  }
  json += '}';
  request.respond(json);
}

void consumer_set::handle_pause(api_request& request, std::string_view name) {
  auto& self = *implementation_;
  pause_request asked;
  if (!request.decode_optional(asked)) return;
  consumer* who = self.find_or_refuse(request, name);
  if (who == nullptr) return;
  if (asked.pause_until && is_zero_time(*asked.pause_until)) asked.pause_until.reset();
  who->pause(asked.pause_until);
  if (storage::consumer_record* record = self.context.record().find_consumer(who->name())) {
    record->set_metadata(encode_consumer(*who));
  }
  std::string json = request.envelope();
  json.append(",\"paused\":").append(who->paused() ? "true" : "false").append(",\"pause_until\":\"");
  json += asked.pause_until ? to_rfc3339(asked.pause_until->at) : std::string("0001-01-01T00:00:00Z");
  json += '"';
  if (who->paused()) {
    json += ",\"pause_remaining\":";
    append_signed_decimal(json, (asked.pause_until->at - self.context.surroundings().now()).count());
  }
  json += '}';
  request.respond_when_durable(std::move(json));
}

void consumer_set::handle_unpin(api_request& request, std::string_view name) {
  auto& self = *implementation_;
  unpin_request asked;
  auto read = codec::read_json_into(request.body, asked, codec::peer_lenient);
  if (!read)
    return request.respond_error(make_api_error(jetstream_errc::invalid_json, {{"err", read.error().context()}}));
  if (asked.group.empty()) {
    return request.respond_error(
        make_api_error(jetstream_errc::invalid_json, {{"err", "consumer group not specified"}}));
  }
  if (!is_valid_priority_group(asked.group)) {
    return request.respond_error(make_api_error(jetstream_errc::consumer_invalid_group_name));
  }
  consumer* who = self.find_or_refuse(request, name);
  if (who == nullptr) return;
  if (auto bad = who->unpin(asked.group)) return request.respond_error(*bad);
  request.respond(request.envelope() + "}");
}

}  // namespace tern::jetstream
