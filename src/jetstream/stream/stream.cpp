#include "jetstream/stream/stream.hpp"

#include "jetstream/advisory.hpp"
#include "jetstream/stream/direct_get.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::jetstream {

storage::durability durability_of(const stream_config& config, const options& settings) {
  if (config.storage == storage_type::memory) return storage::durability::memory;
  return config.persist_mode == persist_mode::async ? storage::durability::written : settings.durability;
}

stream::stream(account_streams& owner, storage::stream_record& record, stored_stream what)
    : owner_(owner),
      surroundings_(owner.surroundings()),
      record_(record),
      log_(record.log()),
      stored_(std::move(what)),
      consumers_(*this),
      direct_(std::make_unique<direct_reader>(*this)),
      duplicates_(stored_.config.duplicate_window, surroundings_.ids.random()),
      staged_(surroundings_.ids.random()),
      deferred_timer_(surroundings_.timers, [this] { take_deferred(); }),
      age_timer_(surroundings_.timers, [this] { expire(); }),
      interest_timer_(surroundings_.timers, [this] { scan_interest(); }),
      scan_timer_(surroundings_.timers, [this] { scan_more_headers(); }),
      batch_timer_(surroundings_.timers, [this] { expire_batches(); }),
      schedule_timer_(surroundings_.timers, [this] { run_schedules(); }),
      intake_(*this) {
  ack_prefix_ = "{\"stream\":";
  codec::write_json_string(ack_prefix_, name());
  if (!surroundings_.settings.domain.empty()) {
    ack_prefix_ += ",\"domain\":";
    codec::write_json_string(ack_prefix_, surroundings_.settings.domain);
  }
  ack_prefix_ += ",\"seq\":";
  last_sequence_ = log_.state().last;
  last_timestamp_ = log_.state().last_timestamp;
  announced_ = last_sequence_;
  record_.set_owner(this);
  settle_usage();
}

stream::~stream() {
  *alive_ = false;
  if (listed_) owner_.unlist(*this);
  record_.set_owner(nullptr);
  for (auto* interest : subject_interest_) account().unsubscribe(interest);
  for (auto* interest : direct_interest_) account().unsubscribe(interest);
  for (auto* interest : mirror_direct_interest_) account().unsubscribe(interest);
  owner_.open_batches() -= batches_.size();
  owner_.add_staged(config().storage, -static_cast<std::int64_t>(staged_.bytes()));
  owner_.add_used(config().storage, -static_cast<std::int64_t>(counted_bytes_));
}

void stream::recover() {
  const auto level = durability_of(config(), surroundings_.settings);
  if (level != storage::durability::memory && record_.level() != level) record_.set_level(level);
  consumers_.recover();
  rebuild_duplicate_window();
  load_last_message_id();
  intake_.recover(stored_.intake);
  begin_header_scan();
  repeat_roll_ups();
  enforce_everything();
}

void stream::open() {
  owner_.list(*this);
  listed_ = true;
  make_transforms();
  subscribe_subjects();
  subscribe_direct_get();
  arm_age_timer();
  intake_.open();
}

void stream::subscribe_subjects() {
  const auto& wanted = config().subjects;
  std::erase_if(subject_interest_, [&](routing::subscription* held) {
    if (std::ranges::find(wanted, held->subject) != wanted.end()) return false;
    account().unsubscribe(held);
    return true;
  });
  for (const auto& subject : wanted) {
    const bool held = std::ranges::any_of(subject_interest_, [&](const auto* one) { return one->subject == subject; });
    if (held) continue;
    auto* made = account().subscribe(*this, subject);
    made->internal = true;
    made->tag = direct_reader::no_read;
    subject_interest_.push_back(made);
  }
}

void stream::subscribe_direct_get() {
  if (config().allow_direct == !direct_interest_.empty()) return;
  if (!config().allow_direct) {
    for (auto* held : direct_interest_) account().unsubscribe(held);
    direct_interest_.clear();
    return;
  }
  direct_interest_ = subscribe_direct_get_of(name());
}

std::vector<routing::subscription*> stream::subscribe_direct_get_of(const std::string& whose) {
  std::vector<routing::subscription*> all;
  const std::string subject = "$JS.API.DIRECT.GET." + whose;
  for (const auto& [pattern, tag] :
       {std::pair(subject, direct_reader::by_body), std::pair(subject + ".>", direct_reader::by_subject)}) {
    auto* made = account().subscribe(*this, pattern, direct_reader::queue);
    made->internal = true;
    made->tag = tag;
    all.push_back(made);
  }
  return all;
}

// From a configuration that was checked, so that creating them cannot fail.
void stream::make_transforms() {
  const auto made = [](const auto& from) -> std::optional<routing::subject_transform> {
    if (!from || from->dest.empty()) return std::nullopt;
    auto transform = routing::subject_transform::create(from->src, from->dest);
    if (!transform) return std::nullopt;
    return std::move(*transform);
  };
  transform_ = made(config().subject_transform);
  republish_ = made(config().republish);
}

void stream::update(stream_config next) {
  owner_.unlist(*this);
  const stream_config before = std::exchange(stored_.config, std::move(next));
  owner_.list(*this);
  duplicates_.set_window(config().duplicate_window);
  make_transforms();
  save();
  subscribe_subjects();
  subscribe_direct_get();
  if (before.mirror != config().mirror || before.mirror_direct != config().mirror_direct) {
    for (auto* held : mirror_direct_interest_) account().unsubscribe(held);
    mirror_direct_interest_.clear();
  }
  if (before.mirror && !config().mirror) rebuild_duplicate_window();  // promoted: from now on publishers are told
  const bool reads_more = (config().allow_msg_ttl && !before.allow_msg_ttl) ||
                          (config().allow_msg_schedules && !before.allow_msg_schedules);
  if (reads_more) begin_header_scan();
  enforce_everything();
  age_timer_.disarm();
  arm_age_timer();
  consumers_.on_stream_updated();
  intake_.adopt_config();
  if (before.retention == retention_policy::limits && config().retention == retention_policy::interest) {
    if (consumers_.size() == 0) {
      purge({});  // nobody is interested in anything
    } else {
      on_interest_changed();
    }
  }
}

void stream::save() { record_.set_metadata(codec::to_json(stored_)); }

void stream::close_for_deletion() {
  closed_ = true;
  intake_.close(true);
  consumers_.on_stream_deleted();
  // What waits for the disk was never promised; its publishers learn that the stream is gone.
  const auto gone = protocol::make_api_error(protocol::jetstream_errc::stream_not_found);
  while (!staged_.empty()) {
    refuse(staged_.front().reply, gone);
    owner_.add_staged(config().storage, -static_cast<std::int64_t>(staged_.front().record_bytes));
    staged_.pop();
  }
}

void stream::shutdown() {
  intake_.close(false);
  consumers_.on_server_shutdown();
  closed_ = true;
}

void stream::advise(std::string_view subject, std::string_view body) { publish_advisory(account(), subject, body); }

void stream::load_last_message_id() {
  last_message_id_.clear();
  if (log_.state().messages == 0) return;
  const auto last = log_.load(log_.state().last);
  if (last && !last->headers.empty()) last_message_id_ = publish_headers::read(last->headers).message_id;
}

// A removal rides in the batch after the one that caused it, so a crash may have lost those of the last messages.
// Limits are enforced again anyway; a roll-up stands in the header of its message, and repeating one that was kept
// removes nothing.
void stream::repeat_roll_ups() {
  constexpr std::size_t messages_max = 16'384;
  constexpr std::size_t bytes_max = std::size_t{32} << 20;  // well beyond what two batches hold
  if (!config().allow_rollup_hdrs || log_.state().messages == 0) return;
  std::vector<std::pair<storage::sequence, rollup_scope>> found;
  std::vector<storage::sequence> ended;  // the last runs of schedules
  std::size_t seen = 0, bytes = 0;
  for (auto at = log_.previous_live(log_.state().last); at && seen < messages_max && bytes < bytes_max; ++seen) {
    if (const auto message = log_.load(*at)) {
      bytes += message->headers.size() + message->payload.size();
      const auto known = message->headers.empty() ? publish_headers() : publish_headers::read(message->headers);
      if (const auto scope = parse_rollup(known.rollup); scope && *scope != rollup_scope::none)
        found.emplace_back(*at, *scope);
      if (config().allow_msg_schedules && known.schedule_next == "purge") ended.push_back(*at);
    }
    at = *at > 1 ? log_.previous_live(*at - 1) : std::nullopt;
  }
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    const std::string subject(log_.subject_of(one->first));
    if (!subject.empty()) roll_up(one->second, subject, one->first);
  }
  for (auto one = ended.rbegin(); one != ended.rend(); ++one) end_schedule(*one);
}

// Costs the messages within the window, not the stream.
void stream::rebuild_duplicate_window() {
  duplicates_.clear();
  if (duplicates_.window().count() == 0 || log_.state().messages == 0) return;
  const time_point since = surroundings_.now() - duplicates_.window();
  const auto first = log_.first_at_or_after(since);
  if (!first) return;
  for (auto at = log_.next_with_headers(*first); at; at = log_.next_with_headers(*at + 1)) {
    if (const auto message = log_.load(*at)) {
      const auto id = publish_headers::read(message->headers).message_id;
      if (!id.empty()) duplicates_.add(id, message->number, message->timestamp);
    }
  }
}

}  // namespace tern::jetstream
