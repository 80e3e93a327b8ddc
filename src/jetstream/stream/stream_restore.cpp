#include "jetstream/stream/stream_restore.hpp"

#include "base/numbers.hpp"
#include "jetstream/advisory.hpp"
#include "jetstream/stream/restore_input.hpp"
#include "jetstream/stream/stream_api.hpp"
#include "jetstream/stream/stream_config_checks.hpp"
#include "jetstream/stream/stream_info.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

constexpr nanoseconds idle_timeout = std::chrono::seconds(5);
constexpr std::size_t step_bytes = std::size_t{512} << 10;        // unpacked in one turn
constexpr std::size_t waiting_bytes_max = std::size_t{64} << 20;  // chunks that nobody waited to be answered
constexpr std::string_view create_response = "{\"type\":\"io.nats.jetstream.api.v1.stream_create_response\"";

// What the request says of the state is what the snapshot's answer said; the archive has its own. Unknown names are
// refused (1.5).
struct told_state {
  codec::raw_json messages, bytes, first_seq, first_ts, last_seq, last_ts, num_subjects, subjects, num_deleted, deleted,
      lost, consumer_count;
};

struct restore_request {
  stream_config config;
  told_state state;
};

}  // namespace

stream_restore::stream_restore(account_streams& in, stream_config config, bool replicated, std::string client)
    : in_(in),
      config_(std::move(config)),
      client_(std::move(client)),
      began_(in.surroundings().now()),
      step_timer_(in.surroundings().timers, [this] { step(); }),
      idle_timer_(in.surroundings().timers, [this] { abandon(); }),
      input_(std::make_unique<restore_input>(in, config_, replicated)) {}

stream_restore::~stream_restore() {
  *alive_ = false;
  if (interest_ != nullptr) in_.account().unsubscribe(interest_);
}

std::string stream_restore::begin() {
  environment& around = in_.surroundings();
  const std::string about = "STREAM.RESTORE_CREATE." + config_.name;
  if (wants_advisory(in_.account(), about)) {
    advisory event(around, "io.nats.jetstream.advisory.v1.restore_create");
    event.add("stream", config_.name).add_json("client", client_);
    publish_advisory(in_.account(), about, std::move(event).finish());
  }
  std::string subject = "$JS.SNAPSHOT.RESTORE." + config_.name + "." + around.ids.next();
  interest_ = in_.account().subscribe(*this, subject);
  interest_->internal = true;
  idle_timer_.arm(around.now() + idle_timeout);
  return subject;
}

bool stream_restore::deliver(routing::subscription&, const routing::message& what) {
  if (ended_ || input_ended_) return false;
  const time_point now = in_.surroundings().now();
  idle_timer_.arm(now + idle_timeout);
  if (what.reply.empty()) {  // nobody to tell how it goes: it ends here
    fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", "each chunk requires a reply subject"}}));
    waiting_.clear();
  } else if (waiting_bytes_ + what.payload.size() > waiting_bytes_max) {
    fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", "too many chunks that were not waited for"}}));
  }
  received_ += what.payload.size();
  if (what.payload.empty() || what.reply.empty()) {
    input_ended_ = true;
    waiting_.push_back({{}, std::string(what.reply)});
  } else if (problem_) {
    waiting_.push_back({"-", std::string(what.reply)});  // not looked at any more, only answered
  } else {
    waiting_bytes_ += what.payload.size();
    waiting_.push_back({std::string(what.payload), std::string(what.reply)});
  }
  if (!step_timer_.armed()) step_timer_.arm(now);
  return true;
}

void stream_restore::step() {
  const auto keep = alive_;
  while (*keep && !ended_ && !waiting_.empty()) {
    if (!take_front()) return;
  }
}

// Unpacks what a turn may of the first chunk. False: there is more, in a later turn.
bool stream_restore::take_front() {
  chunk& front = waiting_.front();
  if (front.bytes.empty()) {
    complete(front.reply);
    return false;
  }
  idle_timer_.arm(in_.surroundings().now() + idle_timeout);
  if (!problem_) {
    if (!std::exchange(pushed_, true)) frames_.push(front.bytes);
    std::string block;
    for (std::size_t taken = 0; !problem_ && !input_->is_ended();) {
      if (taken >= step_bytes) {
        step_timer_.arm(in_.surroundings().now());
        return false;
      }
      const auto more = frames_.next(block);
      if (!more) {
        fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", more.error().context()}}));
      } else if (!*more) {
        break;
      } else if (auto found = input_->push(block)) {
        fail_with(std::move(*found));
      }
      taken += block.size();
    }
  }
  pushed_ = false;
  waiting_bytes_ -= std::min(waiting_bytes_, front.bytes.size());
  confirm(std::move(front.reply));
  waiting_.pop_front();
  return true;
}

// The answer to a chunk, when the disk has it.
void stream_restore::confirm(std::string reply) {
  in_.surroundings().store.when_durable([this, alive = alive_, reply = std::move(reply)](const result<void>& done) {
    if (!*alive) return;
    if (!done && !problem_)
      fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", done.error().message()}}));
    in_.account().publish({.subject = reply});
  });
}

// From here on chunks are only answered; the end tells why.
void stream_restore::fail_with(protocol::api_error why) {
  if (problem_) return;
  problem_ = std::move(why);
  input_.reset();
}

void stream_restore::complete(const std::string& reply) {
  idle_timer_.disarm();
  const std::string to = reply;
  waiting_.clear();
  if (!problem_ && !input_->is_ended() && frames_.waiting() > 0)
    fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", "s2: corrupt input"}}));
  // What was appended must be committed before some of it is removed again.
  in_.surroundings().store.when_durable([this, alive = alive_, to](const result<void>&) {
    if (!*alive) return;
    if (!problem_) {
      if (auto found = input_->end()) fail_with(std::move(*found));
    }
    if (problem_) return conclude(to, error_answer());
    in_.surroundings().store.when_durable([this, alive, to](const result<void>& done) {
      if (!*alive) return;
      if (const auto& failure = input_->loader()->failure(); !done || failure) {
        const std::string why = done ? failure->message() : done.error().message();
        in_.surroundings().store.remove_stream(input_->loader()->record());
        fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", why}}));
        return conclude(to, error_answer());
      }
      open_stream(to);
    });
  });
}

void stream_restore::open_stream(const std::string& reply) {
  storage::stream_record& record = input_->loader()->record();
  input_.reset();
  stream_api::open_recovered(in_, record);
  const stream* made = in_.find(config_.name);
  if (made == nullptr) {
    fail_with(make_api_error(jetstream_errc::stream_restore, {{"err", "the stream could not be opened"}}));
    return conclude(reply, error_answer());
  }
  const std::string about = "STREAM.CREATED." + config_.name;
  if (wants_advisory(in_.account(), about)) {
    advisory event(in_.surroundings(), "io.nats.jetstream.advisory.v1.stream_action");
    event.add("stream", config_.name).add("action", "create");
    publish_advisory(in_.account(), about, std::move(event).finish());
  }
  std::string json(create_response);
  json += ',';
  append_stream_info(json, *made, in_.surroundings());
  conclude(reply, json + "}");
}

void stream_restore::stop() {
  ended_ = true;
  input_.reset();
  waiting_.clear();
  step_timer_.disarm();
  idle_timer_.disarm();
  if (interest_ != nullptr) in_.account().unsubscribe(std::exchange(interest_, nullptr));
}

std::string stream_restore::error_answer() const {
  std::string json(create_response);
  json += ",\"error\":";
  append_error_object(json, *problem_);
  return json + "}";
}

void stream_restore::conclude(const std::string& reply, const std::string& answer) {
  stop();
  const std::string about = "STREAM.RESTORE_COMPLETE." + config_.name;
  if (wants_advisory(in_.account(), about)) {
    advisory event(in_.surroundings(), "io.nats.jetstream.advisory.v1.restore_complete");
    std::string start, end;
    append_rfc3339(start, began_);
    append_rfc3339(end, in_.surroundings().now());
    event.add("stream", config_.name).add("start", start).add("end", end).add("bytes", received_);
    event.add_json("client", client_);
    publish_advisory(in_.account(), about, std::move(event).finish());
  }
  if (!reply.empty()) in_.account().publish({.subject = reply, .payload = answer});
  if (problem_) {
    in_.surroundings().warn("Restore of stream '" + in_.account().name() + " > " + config_.name +
                            "' failed: " + problem_->description);
  }
  transfers_of(in_).end(this);
}

// Nobody sends any more.
void stream_restore::abandon() {
  if (!waiting_.empty()) return idle_timer_.arm(in_.surroundings().now() + idle_timeout);  // ours to do
  stop();
  in_.surroundings().warn("Restore of stream '" + in_.account().name() + " > " + config_.name + "' is stalled");
  transfers_of(in_).end(this);
}

void stream_api::restore(account_streams& in, api_request& request, std::string_view name) {
  if (request.is_empty_body()) return request.respond_error(jetstream_errc::bad_request);
  restore_request body;
  if (!request.decode(body)) return;
  if (body.config.name.empty()) body.config.name = name;
  if (body.config.name != name) return request.respond_error(jetstream_errc::stream_mismatch);
  if (has_path_separator(name)) return request.respond_error(jetstream_errc::stream_name_contains_path_separators);
  // The peer tells of replicas when it adds the stream, at the end.
  const bool replicated = body.config.num_replicas > 1;
  if (replicated) body.config.num_replicas = 1;
  auto config = normalise_stream_config(std::move(body.config), false, request.surroundings.settings);
  if (!config) return request.respond_error(config.error());
  if (in.at_stream_limit()) return request.respond_error(jetstream_errc::maximum_streams_limit);
  if (const auto found = in.check_reservation(*config, nullptr)) return request.respond_error(*found);
  if (in.find(name) != nullptr || in.offline.contains(name))
    return request.respond_error(jetstream_errc::stream_name_exist_restore_failed);
  stream_transfers& transfers = transfers_of(in);
  if (transfers.full()) return request.respond_error(jetstream_errc::stream_restore, {{"err", "too many transfers"}});
  auto made = std::make_unique<stream_restore>(in, std::move(*config), replicated, client_of(request));
  stream_restore& running = *made;
  transfers.add(std::move(made));
  std::string json = request.envelope() + ",\"deliver_subject\":";
  codec::write_json_string(json, running.begin());
  request.respond(json + "}");
}

}  // namespace tern::jetstream
