#include "jetstream/stream/stream_snapshot.hpp"

#include "base/numbers.hpp"
#include "jetstream/advisory.hpp"
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/stream/archived_records.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_api.hpp"
#include "jetstream/stream/stream_info.hpp"
#include "protocol/subject.hpp"
#include "storage/archive/stream_archive.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using storage::archive::append_archive_entry;

constexpr std::int64_t chunk_default = 128 << 10, chunk_min = 1 << 10, chunk_max = 1 << 20;
constexpr std::int64_t window_default = 8 << 20, window_min = 1 << 10, window_max = 32 << 20;
constexpr nanoseconds ack_timeout = std::chrono::seconds(5);
constexpr nanoseconds interest_timeout = std::chrono::seconds(2);
constexpr std::size_t step_bytes = std::size_t{256} << 10;  // read and compressed in one turn

std::int64_t chunk_of(const stream_snapshot::request& what) {
  return std::clamp(what.chunk_size == 0 ? chunk_default : what.chunk_size, chunk_min, chunk_max);
}

std::int64_t window_of(const stream_snapshot::request& what) {
  const std::int64_t window = what.window_size == 0 ? window_default : what.window_size;
  return std::max(std::clamp(window, window_min, window_max), chunk_of(what)) / chunk_of(what);
}

}  // namespace

stream_snapshot::stream_snapshot(account_streams& in, stream& of, request what, std::string client)
    : in_(in),
      what_(std::move(what)),
      name_(of.name()),
      identity_(of.identity()),
      client_(std::move(client)),
      began_(in.surroundings().now()),
      chunk_size_(static_cast<std::size_t>(chunk_of(what_))),
      window_(static_cast<std::size_t>(window_of(what_))),
      step_timer_(in.surroundings().timers, [this] { step(); }),
      interest_timer_(in.surroundings().timers, [this] { start_sending(); }),
      ack_timer_(in.surroundings().timers,
                 [this] { finish("NATS/1.0 408 No Flow Response\r\n\r\n", "no flow response"); }) {}

stream_snapshot::~stream_snapshot() {
  if (acks_ != nullptr) in_.account().unsubscribe(acks_);
}

stream* stream_snapshot::source() const {
  stream* found = in_.find(name_);
  return found != nullptr && found->identity() == identity_ ? found : nullptr;
}

// What the archive begins with, and the bounds of what follows: all of it in the turn of the request.
void stream_snapshot::collect() {
  stream& of = *source();
  environment& around = in_.surroundings();
  const std::int64_t now = to_unix_nanoseconds(around.now());
  last_ = of.state().last;
  next_ = of.state().first;
  std::vector<std::pair<std::string, std::string>> consumers;
  if (!what_.no_consumers) {
    of.consumers().for_each([&](consumer& one) {
      if (one.config().direct) return;
      const auto state = to_peer_state(one.state(), one.config(), last_, around.now());
      consumers.emplace_back(std::string(storage::archive::consumer_entry_prefix) + one.name(),
                             write_archived_consumer(one.config(), one.name(), state));
    });
  }
  std::string state;
  append_stream_state(state, of, {.consumer_count = consumers.size()});
  storage::archive::append_archive_magic(entry_);
  append_archive_entry(entry_, {.name = storage::archive::state_entry, .time = now, .payload = state});
  for (const auto& [entry_name, json] : consumers)
    append_archive_entry(entry_, {.name = entry_name, .time = now, .payload = json});
  frames_.append(entry_, out_);
}

void stream_snapshot::begin() {
  collect();
  ack_prefix_ = "$JS.SNAPSHOT.ACK." + name_ + "." + in_.surroundings().ids.next();
  acks_ = in_.account().subscribe(*this, ack_prefix_ + ".>");
  acks_->internal = true;
  const std::string about = "STREAM.SNAPSHOT_CREATE." + name_;
  if (wants_advisory(in_.account(), about)) {
    advisory event(in_.surroundings(), "io.nats.jetstream.advisory.v1.snapshot_create");
    std::string state;
    append_stream_state(state, *source());
    event.add("stream", name_).add_json("state", state).add_json("client", client_);
    publish_advisory(in_.account(), about, std::move(event).finish());
  }
  watch_ = in_.account().watch_literal(what_.deliver_subject, [this] { on_interest(); });
  had_interest_ = has_interest();
  interest_timer_.arm(in_.surroundings().now() + (had_interest_ ? nanoseconds{0} : interest_timeout));
}

// Literal interest alone: a client's inbox of all answers is a wildcard, and there before the subscription is made that
// the chunks are for.
bool stream_snapshot::has_interest() const { return in_.account().literal_interest(what_.deliver_subject, {}) > 0; }

void stream_snapshot::on_interest() {
  if (ended_) return;
  const bool before = std::exchange(had_interest_, has_interest());
  if (before && !had_interest_) {
    lost_interest_ = true;
    step_timer_.arm(in_.surroundings().now());
  } else if (interest_timer_.armed()) {
    interest_timer_.arm(in_.surroundings().now());
  }
}

void stream_snapshot::start_sending() {
  const time_point now = in_.surroundings().now();
  ack_timer_.arm(now + ack_timeout);
  step_timer_.arm(now);
}

bool stream_snapshot::deliver(routing::subscription&, const routing::message&) {
  if (ended_) return false;
  if (in_flight_ > 0) --in_flight_;
  step_timer_.arm(in_.surroundings().now());
  return true;
}

void stream_snapshot::step() {
  if (ended_) return;
  if (lost_interest_) return finish("NATS/1.0 408 No Interest\r\n\r\n", "no interest");
  for (std::size_t made = 0; made < step_bytes;) {
    if (out_.size() - sent_ >= chunk_size_) {
      if (in_flight_ >= window_) return;  // goes on with an acknowledgement
      send_chunk();
      continue;
    }
    if (complete_) {
      if (out_.size() > sent_) {
        in_.account().publish({.subject = what_.deliver_subject, .payload = std::string_view(out_).substr(sent_)});
      }
      return finish(index_ > 0 ? "NATS/1.0 204\r\n\r\n" : "", "");
    }
    entry_.clear();
    if (!make_more()) return;
    made += entry_.size();
    frames_.append(entry_, out_);
    if (complete_) frames_.flush(out_);
  }
  step_timer_.arm(in_.surroundings().now());
}

// The next message, or the end. False when there is nothing to go on with.
bool stream_snapshot::make_more() {
  stream* of = source();
  if (of == nullptr) {
    finish("NATS/1.0 500 stream was deleted\r\n\r\n", "stream was deleted");
    return false;
  }
  const auto number = next_ > last_ ? std::nullopt : of->log().next_live(next_);
  if (!number || *number > last_) {
    append_archive_entry(entry_, {});
    complete_ = true;
    return true;
  }
  const auto message = of->log().load(*number);
  if (!message) {
    const std::string problem = "couldn't load message " + std::to_string(*number) + ": " + message.error().message();
    finish("NATS/1.0 500 " + problem + "\r\n\r\n", problem);
    return false;
  }
  append_archive_entry(entry_, {.name = message->subject,
                                .time = to_unix_nanoseconds(message->timestamp),
                                .number = message->number,
                                .headers = message->headers,
                                .payload = message->payload});
  next_ = *number + 1;
  return true;
}

void stream_snapshot::send_chunk() {
  std::string reply = ack_prefix_ + ".";
  append_decimal(reply, chunk_size_);
  reply += '.';
  append_decimal(reply, ++index_);
  ++in_flight_;
  ack_timer_.arm(in_.surroundings().now() + ack_timeout);
  in_.account().publish(
      {.subject = what_.deliver_subject, .reply = reply, .payload = std::string_view(out_).substr(sent_, chunk_size_)});
  sent_ += chunk_size_;
  if (sent_ == out_.size() || sent_ > step_bytes) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
}

void stream_snapshot::finish(std::string status, std::string problem) {
  ended_ = true;
  step_timer_.disarm();
  interest_timer_.disarm();
  watch_.reset();
  ack_timer_.disarm();
  if (acks_ != nullptr) in_.account().unsubscribe(std::exchange(acks_, nullptr));
  in_.account().publish({.subject = what_.deliver_subject, .headers = status});
  tell_complete(problem);
  if (!problem.empty()) {
    in_.surroundings().warn("Snapshot for stream '" + in_.account().name() + " > " + name_ + "' failed: " + problem);
  }
  transfers_of(in_).end(this);
}

void stream_snapshot::tell_complete(const std::string& problem) {
  const std::string about = "STREAM.SNAPSHOT_COMPLETE." + name_;
  if (!wants_advisory(in_.account(), about)) return;
  advisory event(in_.surroundings(), "io.nats.jetstream.advisory.v1.snapshot_complete");
  std::string start, end;
  append_rfc3339(start, began_);
  append_rfc3339(end, in_.surroundings().now());
  event.add("stream", name_).add("start", start).add("end", end).add_json("client", client_);
  if (!problem.empty()) event.add("error", problem);
  publish_advisory(in_.account(), about, std::move(event).finish());
}

void stream_api::snapshot(account_streams& in, api_request& request, std::string_view name) {
  if (request.is_empty_body()) return request.respond_error(jetstream_errc::bad_request);
  stream* found = find_or_answer(in, request, name);
  if (found == nullptr) return;
  stream_snapshot::request body;
  if (!request.decode(body)) return;
  if (!protocol::is_valid_config_literal(body.deliver_subject))
    return request.respond_error(jetstream_errc::snapshot_deliver_subject_invalid);
  stream_transfers& transfers = transfers_of(in);
  if (transfers.full()) return request.respond_error(jetstream_errc::stream_snapshot, {{"err", "too many transfers"}});
  std::string json = request.envelope() + ",\"config\":";
  codec::write_json(json, found->config());
  json += ",\"state\":";
  append_stream_state(json, *found);
  request.respond(json + "}");
  auto made = std::make_unique<stream_snapshot>(in, *found, std::move(body), client_of(request));
  stream_snapshot& running = *made;
  transfers.add(std::move(made));
  running.begin();
}

}  // namespace tern::jetstream
