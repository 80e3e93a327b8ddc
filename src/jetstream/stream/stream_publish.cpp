// The publish path of a stream: what jetstream 5.4 checks, in its order, then staging and acknowledgement.
#include "jetstream/stream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"
#include "jetstream/stream/counter_value.hpp"
#include "jetstream/stream/direct_get.hpp"
#include "jetstream/stream/incoming_publish.hpp"
#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr std::uint64_t record_size_max = std::uint64_t{32} << 20;  // of a file stream's record, overhead included
constexpr std::size_t header_size_max = 65'535;
constexpr std::string_view too_many_requests_status = "NATS/1.0 429 Too Many Requests\r\n\r\n";

protocol::api_error wrong_last_sequence(storage::sequence actual) {
  return make_api_error(jetstream_errc::stream_wrong_last_sequence, {{"seq", std::to_string(actual)}});
}

// A header's number that does not parse equals no sequence (5.4).
bool is_sequence(std::string_view text, storage::sequence number) {
  const auto parsed = parse_decimal(text);
  return parsed && *parsed == number;
}

}  // namespace

bool stream::deliver(routing::subscription& to, const routing::message& what) {
  if (closed_) return false;
  if (auto* const observer = observing(); observer != nullptr && to.tag == direct_reader::no_read)
    if (!observer->reached_stream(name(), what.subject, surroundings_.now())) return true;
  if (open_scopes_ > 0) {
    defer(to.tag, what);
  } else {
    take(to.tag, what);
  }
  return true;
}

void stream::take(std::uint64_t tag, const routing::message& what) {
  if (tag == direct_reader::no_read) return accept(what);
  direct_->answer(tag, what);
}

// The log is in use by a caller further up the stack, which may hold views into it.
void stream::defer(std::uint64_t tag, const routing::message& what) {
  const auto& settings = surroundings_.settings;
  const std::size_t size = what.subject.size() + what.reply.size() + what.headers.size() + what.payload.size();
  if (deferred_.size() >= settings.max_buffered_messages || deferred_bytes_ + size > settings.max_buffered_bytes)
    return refuse(what.reply, make_api_error(jetstream_errc::stream_too_many_requests), too_many_requests_status);
  deferred_bytes_ += size;
  deferred_.push_back({.tag = tag,
                       .subject = std::string(what.subject),
                       .reply = std::string(what.reply),
                       .headers = std::string(what.headers),
                       .payload = std::string(what.payload)});
  if (!deferred_timer_.armed()) deferred_timer_.arm(surroundings_.now());
}

void stream::take_deferred() {
  for (std::size_t rest = deferred_.size(); rest > 0 && !closed_; --rest) {
    const deferred_publish one = std::move(deferred_.front());
    deferred_.pop_front();
    deferred_bytes_ -= one.subject.size() + one.reply.size() + one.headers.size() + one.payload.size();
    take(one.tag, {.subject = one.subject, .reply = one.reply, .headers = one.headers, .payload = one.payload});
  }
  if (!deferred_.empty() && !closed_) deferred_timer_.arm(surroundings_.now());
}

void stream::accept(const routing::message& what) {
  const std::string_view reply = config().no_ack ? std::string_view() : what.reply;
  incoming taken{.subject = what.subject, .reply = reply, .headers = what.headers, .payload = what.payload};
  if (transform_) transform_subject(taken);
  if (!has_room(taken)) return;
  if (config().sealed) return refuse(reply, make_api_error(jetstream_errc::stream_sealed));
  if (!taken.headers.empty()) {
    taken.known = publish_headers::read(taken.headers);
    if (taken.known.has_status || taken.known.has_request_info) {
      taken.stored_headers = storable_headers(taken.headers);
      taken.headers = taken.stored_headers;
    }
    if (!taken.known.batch_id.empty()) return accept_batched(taken);
  }
  if (reply.ends_with(fast_batch_suffix)) return accept_fast(taken);
  if (const auto found = admit(taken)) return refuse(reply, *found);
  if (taken.duplicate_of != 0) return answer_duplicate(taken);
  append(taken, reserve(taken, taken.entry));
  if (taken.skipped) await_skips();
}

// All checks of 5.4. What passes has its entry of the staged state made, or is a duplicate.
stream::problem stream::admit(incoming& what) {
  if (auto found = check_size(what)) return found;
  if (!what.headers.empty()) {
    if (auto found = check_headers(what)) return found;
    if (auto found = check_expectations(what)) return found;
    if (find_duplicate(what)) return {};
    if (what.raises_lifetime) write_lifetime(what);
  }
  if (auto found = check_after_dedup(what)) return found;
  if (!what.total.empty()) what.note.append(",\"val\":\"").append(what.total).append("\"");
  if (config().retention == retention_policy::interest && !consumers_.wanted(what.subject)) {
    what.skipped = true;
    what.entry = {.what = staged_publish::kind::skip, .rollup = what.rollup};
    return {};
  }
  if (owner_.account_is_full(config().storage, what.record_bytes))
    return make_api_error(jetstream_errc::account_resources_exceeded);
  if (what.has_bad_lifetime) return make_api_error(jetstream_errc::message_ttl_invalid);
  what.entry = entry_for(what);
  if (config().discard == discard_policy::new_messages) return check_discard_new(what, what.entry);
  return {};
}

// Everything later goes by the mapped subject; one that does not match passes as it is (5.4, 7.4).
void stream::transform_subject(incoming& what) {
  transformed_subject_.clear();
  if (transform_->append_mapped(transformed_subject_, what.subject, surroundings_.ids.random()))
    what.subject = transformed_subject_;
}

// Steps before the message is looked at: the bounds of 5.3 and of a record, and a disk that refuses writes.
bool stream::has_room(const incoming& what) {
  const auto& settings = surroundings_.settings;
  if (staged_.size() >= settings.max_buffered_messages || staged_.bytes() >= settings.max_buffered_bytes) {
    refuse(what.reply, make_api_error(jetstream_errc::stream_too_many_requests), too_many_requests_status);
    return false;
  }
  if (what.payload.size() + what.headers.size() > record_size_max) {
    refuse(what.reply, make_api_error(jetstream_errc::stream_store_failed, {{"err", "message too large"}}));
    return false;
  }
  if (const auto& broken = surroundings_.store.failure(); broken && config().storage == storage_type::file) {
    refuse(what.reply, make_api_error(jetstream_errc::stream_store_failed, {{"err", broken->message()}}));
    return false;
  }
  return true;
}

// What is too large is refused before anything of it is looked at, as at the peer: a duplicate as well.
stream::problem stream::check_size(const incoming& what) const {
  if (owner_.server_is_full(config().storage)) return make_api_error(jetstream_errc::insufficient_resources);
  if (config().max_msg_size >= 0 &&
      what.headers.size() + what.payload.size() > static_cast<std::size_t>(config().max_msg_size))
    return make_api_error(jetstream_errc::stream_message_exceeds_maximum);
  if (what.headers.size() > header_size_max) return make_api_error(jetstream_errc::stream_header_exceeds_maximum);
  return {};
}

// Features that the stream does not have, in the order of 5.4.
stream::problem stream::check_headers(incoming& what) const {
  const publish_headers& known = what.known;
  if (auto found = check_counter(what)) return found;
  if (!known.expected_stream.empty() && known.expected_stream != name())
    return make_api_error(jetstream_errc::stream_not_match);
  if (auto found = check_lifetime(what)) return found;
  return {};
}

// A time to live smaller than that of the marker it would leave is raised to it (5.8).
stream::problem stream::check_lifetime(incoming& what) const {
  if (what.known.time_to_live.empty()) return {};
  const auto lifetime = parse_time_to_live(what.known.time_to_live);
  if (!lifetime) {
    what.has_bad_lifetime = true;  // told last (5.4)
    return {};
  }
  if (!config().allow_msg_ttl) return make_api_error(jetstream_errc::message_ttl_disabled);
  what.lifetime = lifetime->count() == 0 ? never_ends : *lifetime;
  const nanoseconds least = config().subject_delete_marker_ttl;
  if (what.lifetime == never_ends || what.lifetime >= least || config().max_msgs_per_subject == 1) return {};
  what.lifetime = least;
  what.raises_lifetime = true;
  return {};
}

stream::problem stream::check_counter(const incoming& what) const {
  const publish_headers& known = what.known;
  if (known.increment.empty()) return {};
  if (!is_decimal_integer(known.increment)) return make_api_error(jetstream_errc::message_incr_invalid);
  if (!config().allow_msg_counter) return make_api_error(jetstream_errc::message_incr_disabled);
  if (!what.payload.empty()) return make_api_error(jetstream_errc::message_incr_payload);
  const bool combined = !known.rollup.empty() || !known.expected_stream.empty() ||
                        !known.expected_last_sequence.empty() || !known.expected_last_subject_sequence.empty() ||
                        !known.expected_last_subject_sequence_subject.empty() ||
                        !known.expected_last_message_id.empty();
  if (combined) return make_api_error(jetstream_errc::message_incr_invalid);
  return {};
}

// The stored body of a counter is its new total (5.7).
stream::problem stream::count(incoming& what) {
  if (what.known.increment.empty()) return make_api_error(jetstream_errc::message_incr_missing);
  std::string last = "0";
  const auto staged = totals_.find(staged_.hash(what.subject));
  if (staged != totals_.end()) {
    last = staged->second.total;
  } else if (const auto totals = log_.totals(what.subject); totals.messages > 0) {
    const auto message = log_.load(totals.last);
    auto found = message ? parse_counter_body(message->payload) : std::nullopt;
    if (!found) return make_api_error(jetstream_errc::message_counter_broken);
    last = std::move(*found);
  }
  what.total = add_decimal_integers(last, what.known.increment);
  what.body = counter_body(what.total);
  what.payload = what.body;
  return {};
}

stream::problem stream::check_expectations(incoming& what) {
  const publish_headers& known = what.known;
  const std::string_view other = known.expected_last_subject_sequence_subject;
  if (!known.expected_last_subject_sequence.empty()) {
    const auto last = last_of_subject(other.empty() ? what.subject : other);
    if (!is_sequence(known.expected_last_subject_sequence, last)) return wrong_last_sequence(last);
  } else if (!other.empty()) {
    return make_api_error(jetstream_errc::stream_expected_last_seq_per_subject_invalid);
  }
  if (!known.expected_last_sequence.empty() && !is_sequence(known.expected_last_sequence, last_sequence_))
    return wrong_last_sequence(last_sequence_);
  if (auto found = check_schedule(what)) return found;
  if (!known.stream_source.empty()) return make_api_error(jetstream_errc::message_source_hdr_not_allowed);
  return {};
}

// The views into the old block are not used any more but for the message id, which the caller keeps.
void stream::write_lifetime(incoming& what) {
  std::string block(what.headers);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(what.lifetime);
  protocol::set_header(block, "Nats-TTL", std::to_string(seconds.count()));
  what.rewritten_headers = std::move(block);
  what.headers = what.rewritten_headers;
}

// Of the staged and the committed state together.
storage::sequence stream::last_of_subject(std::string_view subject) {
  if (protocol::is_literal(subject)) {
    if (!staged_.empty()) {
      if (const auto last = staged_.of_subject(staged_.hash(subject)).last; last != 0) return last;
    }
    return log_.totals(subject).last;
  }
  if (const auto last = staged_.last_match(subject); last != 0) return last;
  return log_.last_match(subject, log_.state().last).value_or(0);
}

bool stream::find_duplicate(incoming& what) {
  if (what.known.message_id.empty() || duplicates_.window().count() == 0) return false;
  const auto first = duplicates_.find(what.known.message_id, surroundings_.now());
  if (!first) return false;
  what.duplicate_of = *first;
  return true;
}

void stream::answer_duplicate(const incoming& what) {
  if (what.reply.empty()) return;
  if (staged_.empty()) return acknowledge(what.reply, what.duplicate_of, true);
  // The first one may still be on its way to the disk: an acknowledgement of it is a promise all the same.
  staged_.push({.what = staged_publish::kind::duplicate, .number = what.duplicate_of, .required = last_sequence_}, {},
               what.reply);
}

stream::problem stream::check_after_dedup(incoming& what) {
  const publish_headers& known = what.known;
  if (!known.expected_last_message_id.empty() && known.expected_last_message_id != last_message_id_)
    return make_api_error(jetstream_errc::stream_wrong_last_msg_id, {{"id", last_message_id_}});
  if (!known.rollup.empty()) {
    const auto refused = [](std::string_view text) {
      return make_api_error(jetstream_errc::stream_rollup_failed, {{"err", text}});
    };
    if (!config().allow_rollup_hdrs || config().deny_purge) return refused("rollup not permitted");
    const auto scope = parse_rollup(known.rollup);
    if (!scope) {
      std::string word(known.rollup);
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return refused("rollup value invalid: \"" + word + "\"");
    }
    what.rollup = *scope;
  }
  if (config().allow_msg_counter) {
    if (auto found = count(what)) return found;
  }
  const auto record =
      config().storage == storage_type::memory ? storage::memory_record_bytes : storage::file_record_bytes;
  what.record_bytes = record(what.subject.size(), what.headers.size(), what.payload.size());
  return {};
}

// Discard new (6.1): refused when the result would exceed a limit, but a full subject makes room for its own next
// message.
stream::problem stream::check_discard_new(const incoming& what, staged_publish& entry) {
  const auto refused = [](std::string_view text) {
    return make_api_error(jetstream_errc::stream_store_failed, {{"err", text}});
  };
  const auto& state = log_.state();
  const auto messages = static_cast<std::int64_t>(state.messages) + staged_.message_change();
  const auto bytes = static_cast<std::int64_t>(state.bytes) + staged_.byte_change();
  const auto record = static_cast<std::int64_t>(what.record_bytes);
  storage::subject_totals subject;
  std::int64_t subject_messages = 0;
  if (config().max_msgs_per_subject > 0 || what.rollup == rollup_scope::subject) {
    subject = log_.totals(what.subject);
    subject_messages = static_cast<std::int64_t>(subject.messages) +
                       (staged_.empty() ? 0 : staged_.of_subject(staged_.hash(what.subject)).change);
  }
  const bool subject_full = config().max_msgs_per_subject > 0 && subject_messages >= config().max_msgs_per_subject;
  if (subject_full && config().discard_new_per_subject && what.rollup == rollup_scope::none)
    return refused("maximum messages per subject exceeded");
  if (config().max_msgs > 0 && messages >= config().max_msgs && !subject_full)
    return refused("maximum messages exceeded");
  if (config().max_bytes > 0 && bytes + record > config().max_bytes) {
    if (!subject_full) return refused("maximum bytes exceeded");
    std::int64_t freed = record;  // when the one that makes room is itself on its way
    if (subject.messages > 0) {
      if (const auto oldest = log_.load(subject.first)) {
        const auto size =
            config().storage == storage_type::memory ? storage::memory_record_bytes : storage::file_record_bytes;
        freed = static_cast<std::int64_t>(size(oldest->subject.size(), oldest->headers.size(), oldest->payload.size()));
      }
    }
    if (freed < record) return refused("maximum bytes exceeded");
    entry.byte_change -= freed;
  }
  if (subject_full) entry.message_change = 0;
  if (what.rollup == rollup_scope::subject) entry.message_change = 1 - subject_messages;
  if (what.rollup == rollup_scope::all) {
    entry.message_change = 1 - messages;
    entry.byte_change = record - bytes;
  }
  return {};
}

staged_publish stream::entry_for(const incoming& what) const {
  return {.cancels_schedule = what.cancels_schedule,
          .rollup = what.rollup,
          .record_bytes = what.record_bytes,
          .lifetime = what.lifetime,
          .message_change = 1,
          .byte_change = static_cast<std::int64_t>(what.record_bytes),
          .schedule_due = what.schedule_due};
}

// Takes the next sequence and a place in the staged state; append() must follow.
storage::sequence stream::reserve(const incoming& what, staged_publish entry, std::optional<time_point> stored) {
  entry.number = entry.required = ++last_sequence_;
  last_timestamp_ = stored ? *stored : std::max(last_timestamp_, surroundings_.now());
  entry.stored = last_timestamp_;
  const std::string_view id = what.known.message_id;
  if (!id.empty() && duplicates_.window().count() > 0) duplicates_.add(id, entry.number, last_timestamp_);
  last_message_id_.assign(id);
  if (entry.record_bytes != 0) owner_.add_staged(config().storage, static_cast<std::int64_t>(entry.record_bytes));
  if (!what.total.empty()) totals_[staged_.hash(what.subject)] = {entry.number, what.total, what.counted_sources};
  staged_.push(entry, what.subject, what.reply, what.note);
  return entry.number;
}

void stream::append(const incoming& what, storage::sequence number) {
  if (what.skipped) return log_.skip_to(number, last_timestamp_);
  log_.append({.number = number,
               .timestamp = last_timestamp_,
               .subject = what.subject,
               .headers = what.headers,
               .payload = what.payload});
}

// Written by the stream itself: no limit refuses it, nobody waits for it.
void stream::stage_marker(std::string_view subject, std::string_view headers, nanoseconds lifetime) {
  incoming marker{.subject = subject, .headers = headers, .rollup = rollup_scope::subject, .lifetime = lifetime};
  const auto record =
      config().storage == storage_type::memory ? storage::memory_record_bytes : storage::file_record_bytes;
  marker.record_bytes = record(subject.size(), headers.size(), 0);
  append(marker, reserve(marker, entry_for(marker)));
}

}  // namespace tern::jetstream
