// What a stream does when the disk has its messages: limits, roll-ups, acknowledgements, copies, consumers
// (jetstream 5.4).
#include "jetstream/stream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {

using protocol::jetstream_errc;
using protocol::make_api_error;

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
    answer(next);
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
    if (republishes) republish(number, previous);  // before the limits, which may remove the message itself (6.1)
    if (limits_remove()) {
      enforce_subject_limit(done.subject);
      enforce_totals();
    }
    roll_up(done.rollup, done.subject, number);
    if (done.cancels_schedule) end_schedule(number);
    if (done.schedule_due != time_point{} && !log_.subject_of(number).empty()) note_schedule(number, done.schedule_due);
    if (done.lifetime.count() != 0 && !log_.subject_of(number).empty())
      note_lifetime(number, done.stored, done.lifetime);
    settle_usage();
    if (!totals_.empty()) {
      const auto total = totals_.find(staged_.hash(done.subject));
      if (total != totals_.end() && total->second.number == number) totals_.erase(total);
    }
    answer(done);
    announced_ = number;
    intake_.on_committed(number);
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
  if (config().allow_msg_schedules) begin_header_scan();
  intake_.on_commit_failed();
  settle_usage();
}

void stream::answer(const staged_publish& what) {
  if (what.reply.empty()) return;
  if (what.verbatim) return send_text(what.reply, what.note);
  acknowledge(what.reply, what.number, what.what == staged_publish::kind::duplicate, what.note);
}

void stream::acknowledge(std::string_view reply, storage::sequence number, bool duplicate, std::string_view note) {
  if (reply.empty()) return;
  ack_.assign(ack_prefix_);
  append_decimal(ack_, number);
  ack_ += note;
  ack_ += duplicate ? std::string_view(",\"duplicate\": true}") : std::string_view("}");
  const delivery_scope scope(*this);
  account().publish({.subject = reply, .payload = ack_});
}

void stream::refuse(std::string_view reply, const protocol::api_error& why, std::string_view headers) {
  if (auto* const observer = observing()) observer->refused_by_stream(name(), why.description);
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
