// Fast batches: messages are stored one by one as they come, and acknowledged many at a time (jetstream 5.11).
#include "jetstream/stream/stream.hpp"

#include "base/numbers.hpp"
#include "jetstream/api.hpp"
#include "jetstream/stream/incoming_publish.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr std::uint64_t interval_max = 500;
constexpr std::size_t open_max = 1000;  // of one stream

std::string numbered(std::string_view type, std::string_view first, std::uint64_t one, std::string_view second,
                     std::uint64_t other) {
  std::string json = "{\"type\":\"";
  json.append(type).append("\",\"").append(first).append("\":");
  append_decimal(json, one);
  json.append(",\"").append(second).append("\":");
  append_decimal(json, other);
  return json + "}";
}

}  // namespace

void stream::send_text(std::string_view reply, std::string_view text) {
  const delivery_scope scope(*this);
  account().publish({.subject = reply, .payload = text});
}

// When everything that was staged so far is committed: an acknowledgement is a promise.
void stream::send_when_committed(std::string_view reply, std::string_view text) {
  if (staged_.empty()) return send_text(reply, text);
  staged_.push({.what = staged_publish::kind::duplicate, .verbatim = true, .required = last_sequence_}, {}, reply,
               text);
}

void stream::end_fast_batch(std::string_view id, std::string_view reply) {
  const auto found = fast_batches_.find(id);
  std::string text = ack_prefix_;
  append_decimal(text, found->second.last_stored);
  text += ",\"batch\":";
  append_json_text(text, id);
  text += ",\"count\":";
  append_decimal(text, found->second.next - 1);
  fast_batches_.erase(found);
  send_when_committed(reply, text + "}");
}

fast_batch* stream::find_fast_batch(const fast_control& control, std::string_view reply) {
  const auto found = fast_batches_.find(control.id);
  if (found != fast_batches_.end()) return &found->second;
  const auto refused = [&](jetstream_errc number) {
    refuse(reply, make_api_error(number));
    return nullptr;
  };
  if (control.sequence != 1 || control.what == fast_operation::ping)
    return refused(jetstream_errc::batch_publish_unknown_batch_id);
  if (fast_batches_.size() >= open_max) return refused(jetstream_errc::batch_publish_too_many_inflight);
  fast_batch& made = fast_batches_[std::string(control.id)];
  made.interval = fast_batches_.size() == 1 ? std::min(control.flow, interval_max) : 1;
  made.acknowledge_at = made.interval;
  return &made;
}

// Called with a reply that ends in the suffix of fast batches.
void stream::accept_fast(incoming& what) {
  const std::string reply(what.reply);
  const auto refused = [&](jetstream_errc number) { refuse(reply, make_api_error(number)); };
  if (!config().allow_batched) return refused(jetstream_errc::batch_publish_disabled);
  const auto control = parse_fast_control(reply);
  if (!control) return refused(jetstream_errc::batch_publish_invalid_pattern);
  if (control->id.size() > batch_id_size_max) return refused(jetstream_errc::batch_publish_invalid_batch_id);
  fast_batch* batch = find_fast_batch(*control, reply);
  if (batch == nullptr) return;
  batch->last_seen = surroundings_.now();
  if (!batch_timer_.armed()) batch_timer_.arm(batch->last_seen + surroundings_.settings.batches.timeout);

  const bool pings = control->what == fast_operation::ping;
  const std::uint64_t reached = pings ? control->sequence + 1 : control->sequence;
  if (control->sequence < batch->next && !pings) {  // backward: nothing of it can be trusted
    send_text(reply, numbered("gap", "last_seq", batch->next, "seq", control->sequence));
    return end_fast_batch(control->id, reply);
  }
  if (reached > batch->next) {
    send_text(reply, numbered("gap", "last_seq", batch->next, "seq", control->sequence));
    if (!control->goes_on) return end_fast_batch(control->id, reply);
    batch->next = reached;
  }
  if (pings) return send_when_committed(reply, batch->last_acknowledgement);
  if (control->what == fast_operation::commit_without) return end_fast_batch(control->id, reply);
  store_in_fast_batch(what, *control, *batch, reply);
}

void stream::store_in_fast_batch(incoming& what, const fast_control& control, fast_batch& batch,
                                 std::string_view reply) {
  what.reply = {};
  const auto found = admit(what);
  if (found) {
    std::string text = "{\"type\":\"err\",\"seq\":";
    append_decimal(text, control.sequence);
    text += ",\"error\":";
    append_error_object(text, *found);
    send_text(reply, text + "}");
    if (!control.goes_on) return end_fast_batch(control.id, reply);
  }
  batch.next = control.sequence + 1;
  const bool starts = control.what == fast_operation::start;
  const bool commits = control.what == fast_operation::commit;
  std::string text;
  if (starts && !commits) {
    text = numbered("ack", "seq", 0, "msgs", batch.interval);
  } else if (!commits && control.sequence >= batch.acknowledge_at) {
    const std::uint64_t most = std::max<std::uint64_t>(1, interval_max / fast_batches_.size());
    batch.interval = std::min({batch.interval * 2, control.flow, most});
    batch.acknowledge_at = control.sequence + batch.interval;
    text = numbered("ack", "seq", control.sequence, "msgs", batch.interval);
  }
  if (!text.empty()) {
    batch.last_acknowledgement = text;
    what.reply = reply;
    what.note = text;
    what.entry.verbatim = true;
  }
  if (!found && what.duplicate_of == 0) {
    batch.last_stored = reserve(what, what.entry);
    append(what, batch.last_stored);
    if (what.skipped) await_skips();
  } else if (!text.empty()) {
    send_when_committed(reply, text);
  }
  if (commits) end_fast_batch(control.id, reply);
}

}  // namespace tern::jetstream
