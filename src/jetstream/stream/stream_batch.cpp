// Atomic batches: messages gather until one of them commits, are checked together, and are stored all or not at all
// (jetstream 5.10).
#include "jetstream/stream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/advisory.hpp"
#include "jetstream/stream/incoming_publish.hpp"
#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr std::string_view commit_value = "1";
constexpr std::string_view end_value = "eob";  // commits, and is itself not stored

bool level_is_too_high(std::string_view text, int level) {
  if (text.empty()) return false;
  const auto number = parse_signed_decimal(text);
  return !number || *number > level;
}

}  // namespace

void stream::abandon_batch(std::string_view id, std::string_view reason) {
  if (batches_.find(id) != nullptr) {
    batches_.take(id);
    --owner_.open_batches();
  }
  const std::string subject = "STREAM.BATCH_ABANDONED." + name();
  if (reason.empty() || !wants_advisory(account(), subject)) return;
  advisory event(surroundings_, "io.nats.jetstream.advisory.v1.stream_batch_abandoned");
  event.add("stream", name()).add("batch", id).add("reason", reason);
  advise(subject, std::move(event).finish());
}

// One message of a batch, in the order of 5.10. Errors reach only those that gave a reply.
void stream::accept_batched(incoming& what) {
  const publish_headers& known = what.known;
  const auto refused = [&](jetstream_errc number) { refuse(what.reply, make_api_error(number)); };
  if (owner_.server_is_full(config().storage)) return refused(jetstream_errc::insufficient_resources);
  if (owner_.account_is_full(config().storage, what.headers.size() + what.payload.size()))
    return refused(jetstream_errc::account_resources_exceeded);
  if (config().max_msg_size >= 0 &&
      what.headers.size() + what.payload.size() > static_cast<std::size_t>(config().max_msg_size))
    return refused(jetstream_errc::stream_message_exceeds_maximum);
  if (!config().allow_atomic) return refused(jetstream_errc::atomic_publish_disabled);
  if (known.batch_id.size() > batch_id_size_max) return refused(jetstream_errc::atomic_publish_invalid_batch_id);
  const auto sequence = parse_decimal(known.batch_sequence);
  if (!sequence || *sequence == 0) return refused(jetstream_errc::atomic_publish_missing_seq);

  const auto& limits = surroundings_.settings.batches;
  const std::string id(known.batch_id);
  atomic_batch* batch = batches_.find(id);
  const bool begins = batch == nullptr;
  if (begins &&
      (batches_.size() >= limits.max_inflight_per_stream || owner_.open_batches() >= limits.max_inflight_total))
    return refused(jetstream_errc::atomic_publish_too_many_inflight);
  const bool commits = known.batch_commit == commit_value, ends = known.batch_commit == end_value;
  if (!known.batch_commit.empty() && !commits && !ends) {
    abandon_batch(id, {});
    return refused(jetstream_errc::atomic_publish_invalid_batch_commit);
  }
  if (level_is_too_high(known.required_api_level, surroundings_.settings.api_level)) {
    abandon_batch(id, "unsupported");
    return refused(jetstream_errc::required_api_level);
  }
  if (*sequence - (ends ? 1 : 0) > limits.max_messages) {
    abandon_batch(id, begins ? "" : "large");
    return refuse(what.reply, make_api_error(jetstream_errc::atomic_publish_too_large_batch,
                                             {{"size", std::to_string(limits.max_messages)}}));
  }
  const std::size_t expected = begins ? 1 : batch->messages.size() + 1;
  if (*sequence != expected || (begins && ends)) {
    abandon_batch(id, begins ? "" : "incomplete");
    return refused(jetstream_errc::atomic_publish_incomplete_batch);
  }
  if (batches_.bytes() + what.headers.size() + what.payload.size() > surroundings_.settings.max_buffered_bytes) {
    abandon_batch(id, "large");
    return refused(jetstream_errc::stream_too_many_requests);
  }
  if (begins) {
    batch = &batches_.begin(id);
    ++owner_.open_batches();
  }
  const time_point now = surroundings_.now();
  if (!ends) {
    batched_message kept{.subject = std::string(what.subject),
                         .headers = protocol::without_header(what.headers, "Nats-Required-Api-Level"),
                         .payload = std::string(what.payload)};
    batches_.add(*batch, std::move(kept), now);
  } else {
    protocol::append_header(batch->messages.back().headers, "Nats-Batch-Commit", commit_value);
  }
  if (commits || ends) {
    atomic_batch whole = batches_.take(id);
    --owner_.open_batches();
    return commit_batch(id, whole, what.reply);
  }
  if (!batch_timer_.armed()) batch_timer_.arm(now + limits.timeout);
  if (what.reply.empty()) return;
  const delivery_scope scope(*this);
  account().publish({.subject = what.reply});
}

void stream::expire_batches() {
  if (closed_) return;
  const nanoseconds timeout = surroundings_.settings.batches.timeout;
  for (const std::string& id : batches_.idle_since(surroundings_.now() - timeout)) abandon_batch(id, "timeout");
  std::optional<time_point> oldest = batches_.oldest();
  std::erase_if(fast_batches_, [&](const auto& one) {
    if (one.second.last_seen <= surroundings_.now() - timeout) return true;  // without a word (5.11)
    oldest = oldest ? std::min(*oldest, one.second.last_seen) : one.second.last_seen;
    return false;
  });
  if (oldest) batch_timer_.arm(*oldest + timeout);
}

// What a batch forbids of its messages beside the rules for single ones.
stream::problem stream::check_in_batch(const incoming& what, std::size_t index,
                                       const std::vector<std::string>& written) {
  const publish_headers& known = what.known;
  const auto touches = [&written](std::string_view pattern) {
    return std::ranges::any_of(
        written, [pattern](const std::string& subject) { return protocol::subject_matches(pattern, subject); });
  };
  if (!known.expected_last_message_id.empty())
    return make_api_error(jetstream_errc::atomic_publish_unsupported_header_batch,
                          {{"header", "Nats-Expected-Last-Msg-Id"}});
  if (index > 0 && !known.expected_last_sequence.empty())
    return make_api_error(jetstream_errc::stream_wrong_last_sequence_constant);
  if (!known.expected_last_subject_sequence.empty()) {
    const std::string_view other = known.expected_last_subject_sequence_subject;
    if (touches(other.empty() ? what.subject : other))
      return make_api_error(jetstream_errc::stream_wrong_last_sequence_constant);
  }
  if (!known.message_id.empty() && duplicates_.window().count() > 0 &&
      duplicates_.find(known.message_id, surroundings_.now()))
    return make_api_error(jetstream_errc::atomic_publish_contains_duplicate_message);
  return {};
}

stream::problem stream::check_rollup_in_batch(const incoming& what, std::size_t index,
                                              const std::vector<std::string>& written) const {
  const auto refused = [](std::string_view text) {
    return make_api_error(jetstream_errc::stream_rollup_failed, {{"err", text}});
  };
  if (what.rollup == rollup_scope::all && index > 0) return refused("batch rollup all invalid");
  if (what.rollup == rollup_scope::subject && std::ranges::find(written, what.subject) != written.end())
    return refused("batch rollup sub invalid");
  return {};
}

// Everything a single publish is checked for; then its place in the staged state is taken.
stream::problem stream::reserve_in_batch(incoming& what, std::size_t index, std::vector<std::string>& written) {
  if (!config().allow_msg_ttl && !what.known.time_to_live.empty())
    return make_api_error(jetstream_errc::message_ttl_disabled);  // a bad one too, other than on its own
  if (auto found = check_headers(what)) return found;
  if (auto found = check_in_batch(what, index, written)) return found;
  if (auto found = check_expectations(what)) return found;
  if (what.raises_lifetime) write_lifetime(what);
  if (auto found = check_after_dedup(what)) return found;
  if (auto found = check_rollup_in_batch(what, index, written)) return found;
  written.emplace_back(what.subject);
  if (config().retention == retention_policy::interest && !consumers_.wanted(what.subject)) {
    what.skipped = true;
    what.number = reserve(what, {.what = staged_publish::kind::skip, .rollup = what.rollup});
    return {};
  }
  if (owner_.account_is_full(config().storage, what.record_bytes))
    return make_api_error(jetstream_errc::account_resources_exceeded);
  if (what.has_bad_lifetime) return make_api_error(jetstream_errc::message_ttl_invalid);
  staged_publish entry = entry_for(what);
  if (config().discard == discard_policy::new_messages) {
    if (auto found = check_discard_new(what, entry)) return found;
  }
  what.number = reserve(what, entry);
  return {};
}

void stream::commit_batch(std::string_view id, atomic_batch& batch, std::string_view reply) {
  std::string note = ",\"batch\":";
  append_json_text(note, id);
  note += ",\"count\":";
  append_decimal(note, batch.messages.size());
  const auto totals_before = totals_;
  const auto sequence_before = last_sequence_;
  const auto staged_before = staged_.size();
  const std::string last_id_before = last_message_id_;
  std::vector<incoming> all(batch.messages.size());
  std::vector<std::string> written;
  for (std::size_t i = 0; i < all.size(); ++i) {
    incoming& one = all[i];
    const batched_message& from = batch.messages[i];
    one.subject = from.subject;
    one.headers = from.headers;
    one.payload = from.payload;
    one.known = publish_headers::read(from.headers);
    if (i + 1 == all.size()) {
      one.reply = reply;
      one.note = note;
    }
    const auto found = reserve_in_batch(one, i, written);
    if (!found) continue;
    for (const incoming& undone : std::span(all).first(i)) {
      if (!undone.known.message_id.empty()) duplicates_.withdraw(undone.known.message_id, undone.number);
      owner_.add_staged(config().storage, -static_cast<std::int64_t>(undone.skipped ? 0 : undone.record_bytes));
    }
    staged_.drop_last(staged_.size() - staged_before);
    totals_ = totals_before;
    last_sequence_ = sequence_before;
    last_message_id_ = last_id_before;
    return refuse(reply, *found);
  }
  bool skipped = false;
  for (const incoming& one : all) {
    append(one, one.number);
    skipped |= one.skipped;
  }
  if (skipped) await_skips();
}

}  // namespace tern::jetstream
