#include "jetstream/stream/stream_intake.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"
#include "jetstream/stream/api_origin.hpp"
#include "jetstream/stream/source_header.hpp"
#include "jetstream/stream/stream.hpp"
#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace tern::jetstream {
namespace {

// A restart reads at most about so many headers; a checkpoint costs one metadata record.
constexpr storage::sequence checkpoint_distance = 16'384;
constexpr std::uint64_t caught_up_within = 10;  // a mirror this close answers reads for its origin (8.2)

struct mapping {
  std::optional<routing::subject_transform> transform;  // none: the subject stays
  std::string source;
};

}  // namespace

// One mirror or source. Knows its configuration, maps subjects, and hands messages to the stream.
class stream_intake::reader final : public origin_reader {
 public:
  reader(stream_intake& owner, const stream_source& config, api_origin::purpose what)
      : owner_(owner),
        config_(config),
        purpose_(what),
        identity_(source_identity::of(config)),
        key_(identity_.key()),
        origin_(*this, owner.stream_.account(), owner.stream_.surroundings(), what, owner.stream_.name(), config_) {
    for (const auto& one : config_.subject_transforms) {
      mapping made{.transform = {}, .source = one.src};
      if (!one.dest.empty()) {
        if (auto transform = routing::subject_transform::create(one.src, one.dest))
          made.transform = std::move(*transform);
      }
      mappings_.push_back(std::move(made));
    }
  }

  const stream_source& config() const { return config_; }
  stream_origin& origin() { return origin_; }

  origin_position position() const override {
    if (purpose_ == api_origin::purpose::mirror) return {.last = owner_.stream_.last_sequence_, .identity = {}};
    const auto found = owner_.places_.find(key_);
    if (found == owner_.places_.end()) return {};
    return {.last = found->second.last, .identity = found->second.identity};
  }

  intake_result take(const origin_message& what) override {
    origin_message mapped = what;
    mapped.subject = map(what.subject);
    if (purpose_ == api_origin::purpose::mirror) {
      if (what.pending <= caught_up_within) owner_.stream_.subscribe_mirror_direct();
      return owner_.stream_.take_mirrored(mapped);
    }
    place& at = owner_.places_[key_];
    const std::string header = make_source_header(identity_, what.number, what.subject, at.identity);
    storage::sequence copy = at.copy;
    const auto result = owner_.stream_.take_sourced(mapped, header, config_.name, what.subject, copy);
    if (result == intake_result::later) return result;
    at.last = what.number;
    at.copy = copy;
    return result;
  }

  void on_found(std::string_view identity) override {
    if (purpose_ == api_origin::purpose::source) {
      owner_.places_[key_].identity = identity;
    } else if (origin_.lag() <= caught_up_within) {
      owner_.stream_.subscribe_mirror_direct();
    }
  }

  void on_replaced() override {
    place& at = owner_.places_[key_];
    at.last = 0;
    at.identity.clear();
  }

  void append_info(std::string& json) const {
    json += "{\"name\":";
    codec::write_json_string(json, config_.name);
    if (config_.external) {
      json += ",\"external\":";
      codec::write_json(json, *config_.external);
    }
    json += ",\"lag\":";
    append_decimal(json, origin_.lag());
    if (const auto last = position().last; purpose_ == api_origin::purpose::source && last > 0) {
      json += ",\"seq\":";
      append_decimal(json, last);
    }
    json += ",\"active\":";
    const auto seen = origin_.last_seen();
    append_signed_decimal(json, seen ? (owner_.stream_.surroundings().now() - *seen).count() : -1);
    if (const auto& problem = origin_.problem()) {
      json += ",\"error\":";
      append_error_object(json, *problem);
    }
    if (!config_.filter_subject.empty()) {
      json += ",\"filter_subject\":";
      codec::write_json_string(json, config_.filter_subject);
    }
    if (!config_.subject_transforms.empty()) {
      json += ",\"subject_transforms\":";
      codec::write_json(json, config_.subject_transforms);
    }
    json += '}';
  }

 private:
  std::string_view map(std::string_view subject) {
    for (const mapping& one : mappings_) {
      if (!one.transform) {
        if (one.source.empty() || protocol::subject_matches(one.source, subject)) return subject;
        continue;
      }
      mapped_.clear();
      if (one.transform->append_mapped(mapped_, subject, owner_.stream_.surroundings().ids.random())) return mapped_;
    }
    return subject;
  }

  stream_intake& owner_;
  const stream_source config_;
  const api_origin::purpose purpose_;
  const source_identity identity_;
  const std::string key_;
  std::vector<mapping> mappings_;
  std::string mapped_;
  api_origin origin_;
};

stream_intake::stream_intake(stream& of) : stream_(of) {}
stream_intake::~stream_intake() = default;

bool stream_intake::has_sources() const { return !stream_.config().sources.empty(); }

void stream_intake::recover(const intake_checkpoint& kept) {
  durable_ = kept;
  places_.clear();
  for (const auto& one : kept.sources) places_[one.source] = {.last = one.seq, .identity = one.identity, .copy = 0};
  checkpoint_end_ = kept.end;
  scan();
}

// Later copies say more than the checkpoint, and the newest says most.
void stream_intake::scan() {
  if (!has_sources()) return;
  storage::stream_log& log = stream_.log();
  for (auto at = log.next_with_headers(checkpoint_end_ + 1); at; at = log.next_with_headers(*at + 1)) {
    const auto message = log.load(*at);
    if (!message) continue;
    const auto value = protocol::header_view(message->headers).get_non_empty(source_header_name);
    const auto from = value ? parse_source_header(*value) : std::nullopt;
    if (!from) continue;
    places_[from->key] = {.last = from->number, .identity = std::string(from->stream_identity), .copy = *at};
  }
}

void stream_intake::make_readers() {
  if (const auto& mirror = stream_.config().mirror)
    readers_.push_back(std::make_unique<reader>(*this, *mirror, api_origin::purpose::mirror));
  for (const auto& one : stream_.config().sources)
    readers_.push_back(std::make_unique<reader>(*this, one, api_origin::purpose::source));
}

void stream_intake::open() {
  open_ = true;
  make_readers();
  if (stream_.config().sealed) return;  // they are shown and read nothing
  for (const auto& one : readers_) one->origin().open();
}

// Readers whose configuration stays go on undisturbed.
void stream_intake::adopt_config() {
  if (!open_) return;
  const auto& config = stream_.config();
  std::vector<std::unique_ptr<reader>> before;
  before.swap(readers_);
  const auto keep_or_make = [&](const stream_source& wanted, api_origin::purpose what) {
    const auto same =
        std::ranges::find_if(before, [&](const auto& one) { return one != nullptr && one->config() == wanted; });
    if (same != before.end()) return readers_.push_back(std::move(*same));
    readers_.push_back(std::make_unique<reader>(*this, wanted, what));
    if (!config.sealed) readers_.back()->origin().open();
  };
  if (config.mirror) keep_or_make(*config.mirror, api_origin::purpose::mirror);
  for (const auto& one : config.sources) keep_or_make(one, api_origin::purpose::source);
  for (const auto& one : before) {
    if (one != nullptr) one->origin().close(true);
  }
  if (!config.sealed) return;
  for (const auto& one : readers_) one->origin().close(true);
}

void stream_intake::close(bool forget) {
  open_ = false;
  for (const auto& one : readers_) one->origin().close(forget);
  readers_.clear();
}

// What is staged rides in the same batch as the checkpoint or in one before it, so its positions may be counted in.
void stream_intake::save() {
  intake_checkpoint& kept = stream_.stored_.intake;
  kept.sources.clear();
  for (auto& [key, at] : places_) {
    if (at.last > 0) kept.sources.push_back({.source = key, .seq = at.last, .identity = at.identity});
  }
  kept.end = checkpoint_end_ = stream_.last_sequence_;
  stream_.save();
  stream_.surroundings().store.when_durable(
      [this, alive = std::weak_ptr<bool>(alive_), kept](const result<void>& done) {
        if (done && !alive.expired()) durable_ = kept;
      });
}

void stream_intake::on_committed(storage::sequence number) {
  if (has_sources() && number >= checkpoint_end_ + checkpoint_distance) save();
}

void stream_intake::on_removed(storage::sequence number) {
  if (number <= checkpoint_end_ || !has_sources()) return;
  const bool newest = std::ranges::any_of(places_, [number](const auto& one) { return one.second.copy == number; });
  if (newest) save();
}

void stream_intake::on_commit_failed() {
  if (readers_.empty()) return;
  stream_.stored_.intake = durable_;
  recover(stream_.stored_.intake);
  for (const auto& one : readers_) one->origin().restart();
}

void stream_intake::append_info(std::string& json) const {
  const auto& config = stream_.config();
  if (readers_.empty()) return;
  json += config.mirror ? ",\"mirror\":" : ",\"sources\":[";
  bool first = true;
  for (const auto& one : readers_) {
    if (!first) json += ',';
    first = false;
    one->append_info(json);
  }
  if (!config.mirror) json += ']';
}

}  // namespace tern::jetstream
