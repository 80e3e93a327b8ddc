// The publish path of a stream: what jetstream 5.4 checks, in its order, then staging and acknowledgement.
#include "jetstream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"
#include "jetstream/counter_value.hpp"
#include "jetstream/direct_get.hpp"
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
constexpr std::string_view fast_batch_suffix = ".$FI";
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

struct stream::incoming {
  std::string_view subject, reply, headers, payload;
  publish_headers known;
  std::string stored_headers;  // owns what `headers` views when something was taken out
  std::string body, total;     // of a counter; `body` owns what `payload` views then
  rollup_scope rollup = rollup_scope::none;
  std::uint64_t record_bytes = 0;
};

bool stream::deliver(routing::subscription& to, const routing::message& what) {
  if (closed_) return false;
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
  if (reply.ends_with(fast_batch_suffix)) return refuse(reply, make_api_error(jetstream_errc::batch_publish_disabled));
  if (!taken.headers.empty()) {
    taken.known = publish_headers::read(taken.headers);
    if (taken.known.has_status || taken.known.has_request_info) {
      taken.stored_headers = storable_headers(taken.headers);
      taken.headers = taken.stored_headers;
    }
    if (const auto found = check_headers(taken)) return refuse(reply, *found);
    if (const auto found = check_expectations(taken)) return refuse(reply, *found);
    if (answer_duplicate(taken)) return;
  }
  if (const auto found = check_after_dedup(taken)) return refuse(reply, *found);
  if (config().retention == retention_policy::interest && !consumers_.wanted(taken.subject))
    return stage_skip(taken, {.what = staged_publish::kind::skip, .rollup = taken.rollup});
  if (owner_.account_is_full(config().storage, taken.record_bytes))
    return refuse(reply, make_api_error(jetstream_errc::account_resources_exceeded));
  staged_publish entry{.rollup = taken.rollup,
                       .record_bytes = taken.record_bytes,
                       .message_change = 1,
                       .byte_change = static_cast<std::int64_t>(taken.record_bytes)};
  if (config().discard == discard_policy::new_messages) {
    if (const auto found = check_discard_new(taken, entry)) return refuse(reply, *found);
  }
  stage(taken, entry);
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

// Features that the stream does not have, in the order of 5.4.
stream::problem stream::check_headers(const incoming& what) const {
  const publish_headers& known = what.known;
  if (auto found = check_counter(what)) return found;
  if (!known.expected_stream.empty() && known.expected_stream != name())
    return make_api_error(jetstream_errc::stream_not_match);
  if (!known.time_to_live.empty()) {
    return make_api_error(parse_time_to_live(known.time_to_live) ? jetstream_errc::message_ttl_disabled
                                                                 : jetstream_errc::message_ttl_invalid);
  }
  if (!known.batch_id.empty()) return make_api_error(jetstream_errc::atomic_publish_disabled);
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

stream::problem stream::check_expectations(const incoming& what) {
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
  if (!known.schedule.empty()) return make_api_error(jetstream_errc::message_schedules_disabled);
  if (!known.stream_source.empty()) return make_api_error(jetstream_errc::message_source_hdr_not_allowed);
  return {};
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

bool stream::answer_duplicate(const incoming& what) {
  if (what.known.message_id.empty() || duplicates_.window().count() == 0) return false;
  const auto first = duplicates_.find(what.known.message_id, surroundings_.now());
  if (!first) return false;
  if (what.reply.empty()) return true;
  if (staged_.empty()) {
    acknowledge(what.reply, *first, true);
  } else {
    // The first one may still be on its way to the disk: an acknowledgement of it is a promise all the same.
    staged_.push({.what = staged_publish::kind::duplicate, .number = *first, .required = last_sequence_}, {},
                 what.reply);
  }
  return true;
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
    std::string scope(known.rollup);
    std::ranges::transform(scope, scope.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (scope != "sub" && scope != "all") return refused("rollup value invalid: \"" + scope + "\"");
    what.rollup = scope == "sub" ? rollup_scope::subject : rollup_scope::all;
  }
  if (config().allow_msg_counter) {
    if (auto found = count(what)) return found;
  }
  if (config().max_msg_size >= 0 &&
      what.headers.size() + what.payload.size() > static_cast<std::size_t>(config().max_msg_size))
    return make_api_error(jetstream_errc::stream_message_exceeds_maximum);
  if (what.headers.size() > header_size_max) return make_api_error(jetstream_errc::stream_header_exceeds_maximum);
  if (owner_.server_is_full(config().storage)) return make_api_error(jetstream_errc::insufficient_resources);
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

void stream::stage(const incoming& what, staged_publish entry) {
  entry.number = entry.required = ++last_sequence_;
  last_timestamp_ = std::max(last_timestamp_, surroundings_.now());
  const std::string_view id = what.known.message_id;
  if (!id.empty() && duplicates_.window().count() > 0) duplicates_.add(id, entry.number, last_timestamp_);
  last_message_id_.assign(id);
  owner_.add_staged(config().storage, static_cast<std::int64_t>(entry.record_bytes));
  if (!what.total.empty()) totals_[staged_.hash(what.subject)] = {entry.number, what.total};
  staged_.push(entry, what.subject, what.reply, what.total);
  log_.append({.number = entry.number,
               .timestamp = last_timestamp_,
               .subject = what.subject,
               .headers = what.headers,
               .payload = what.payload});
}

void stream::stage_skip(const incoming& what, staged_publish entry) {
  entry.number = entry.required = ++last_sequence_;
  last_timestamp_ = std::max(last_timestamp_, surroundings_.now());
  const std::string_view id = what.known.message_id;
  if (!id.empty() && duplicates_.window().count() > 0) duplicates_.add(id, entry.number, last_timestamp_);
  last_message_id_.assign(id);
  staged_.push(entry, what.subject, what.reply);
  log_.skip_to(entry.number, last_timestamp_);
  await_skips();
}

// A skip is committed without a call to on_committed(), so the store is asked.
void stream::await_skips() {
  if (std::exchange(awaiting_skips_, true)) return;
  surroundings_.store.when_durable([this, alive = alive_](const result<void>& done) {
    if (!*alive) return;
    awaiting_skips_ = false;
    if (!done) return;  // on_commit_failed() has answered
    answer_reached();
    if (!staged_.empty()) await_skips();
  });
}

// Answers, in order, what needs no commit of its own any more.
void stream::answer_reached() {
  while (!staged_.empty()) {
    const staged_publish next = staged_.front();
    if (next.what == staged_publish::kind::message || next.required > log_.state().last) return;
    if (next.what == staged_publish::kind::skip) {
      announced_ = std::max(announced_, next.number);
      roll_up(next.rollup, next.subject, next.number);
    }
    acknowledge(next.reply, next.number, next.what == staged_publish::kind::duplicate);
    staged_.pop();
  }
}

void stream::on_committed(storage::sequence number, std::string_view, std::uint64_t) {
  {
    const delivery_scope scope(*this);  // what our own answers bring about comes later
    answer_reached();
    if (staged_.empty() || staged_.front().number != number) return;
    const staged_publish done = staged_.front();
    owner_.add_staged(config().storage, -static_cast<std::int64_t>(done.record_bytes));
    const bool republishes = republish_ && republish_->matches(done.subject);
    const auto previous = republishes ? log_.last_match(done.subject, number - 1).value_or(0) : 0;
    if (limits_remove()) {
      enforce_subject_limit(done.subject);
      enforce_totals();
    }
    roll_up(done.rollup, done.subject, number);
    settle_usage();
    if (republishes) republish(number, previous);
    if (!done.note.empty()) {
      const auto total = totals_.find(staged_.hash(done.subject));
      if (total != totals_.end() && total->second.number == number) totals_.erase(total);
    }
    acknowledge(done.reply, number, false, done.note);
    announced_ = number;
    if (!log_.subject_of(number).empty()) consumers_.on_committed(number, done.subject);
    staged_.pop();
    answer_reached();
  }
  arm_age_timer();
}

// A copy for ordinary subscribers, which say in headers what was stored (5.12).
void stream::republish(storage::sequence number, storage::sequence last_of_subject) {
  const auto message = log_.load(number);
  if (!message) return;
  republish_subject_.clear();
  republish_->append_mapped(republish_subject_, message->subject, surroundings_.ids.random());
  std::string& block = republish_headers_;
  block.assign(message->headers.size() > 2 ? message->headers.substr(0, message->headers.size() - 2)
                                           : std::string_view("NATS/1.0\r\n"));
  block.append("Nats-Stream: ").append(name());
  block.append("\r\nNats-Subject: ").append(message->subject).append("\r\nNats-Sequence: ");
  append_decimal(block, number);
  block += "\r\nNats-Time-Stamp: ";
  append_rfc3339(block, message->timestamp);
  block += "\r\nNats-Last-Sequence: ";
  append_decimal(block, last_of_subject);
  const bool headers_only = config().republish->headers_only;
  if (headers_only) {
    block += "\r\nNats-Msg-Size: ";
    append_decimal(block, message->payload.size());
  }
  block += "\r\n\r\n";
  account().publish({.subject = republish_subject_,
                     .headers = block,
                     .payload = headers_only ? std::string_view() : message->payload});
}

void stream::on_commit_failed(const error& why) {
  const delivery_scope scope(*this);
  surroundings_.warn("JetStream stream '" + account().name() + " > " + name() +
                     "' lost its unsynced messages: " + why.message());
  const auto problem = make_api_error(jetstream_errc::stream_store_failed, {{"err", why.message()}});
  while (!staged_.empty()) {
    refuse(staged_.front().reply, problem);
    owner_.add_staged(config().storage, -static_cast<std::int64_t>(staged_.front().record_bytes));
    staged_.pop();
  }
  totals_.clear();
  last_sequence_ = log_.state().last;
  last_timestamp_ = std::max(last_timestamp_, log_.state().last_timestamp);
  announced_ = std::min(announced_, last_sequence_);
  load_last_message_id();
  rebuild_duplicate_window();
  settle_usage();
}

void stream::acknowledge(std::string_view reply, storage::sequence number, bool duplicate, std::string_view total) {
  if (reply.empty()) return;
  ack_.assign(ack_prefix_);
  append_decimal(ack_, number);
  if (!total.empty()) ack_.append(",\"val\":\"").append(total).append("\"");
  ack_ += duplicate ? std::string_view(",\"duplicate\": true}") : std::string_view("}");
  const delivery_scope scope(*this);
  account().publish({.subject = reply, .payload = ack_});
}

void stream::refuse(std::string_view reply, const protocol::api_error& why, std::string_view headers) {
  if (reply.empty()) return;
  std::string json = "{\"error\":";
  append_error_object(json, why);
  json += ",";
  json += std::string_view(ack_prefix_).substr(1);
  json += "0}";
  const delivery_scope scope(*this);
  account().publish({.subject = reply, .headers = headers, .payload = json});
}

}  // namespace tern::jetstream
