// Pausing a consumer, and setting it back (jetstream 17.1, 17.3).
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_checks.hpp"
#include "jetstream/consumer/consumer_sourcing.hpp"
#include "protocol/headers.hpp"

#include "base/numbers.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>

namespace tern::jetstream {
namespace {

struct reset_request {
  std::uint64_t seq = 0;
};

constexpr std::string_view reset_type = "{\"type\":\"io.nats.jetstream.api.v1.consumer_reset_response\"";

}  // namespace

// --- pause ---

bool consumer::paused() const { return config_.pause_until && config_.pause_until->at > now(); }

void consumer::pause(std::optional<zoned_time> until) {
  const bool before = paused();
  config_.pause_until = std::move(until);
  stamp_consumer_metadata(config_);
  if (before || paused()) tell_paused();
  if (paused()) {
    pause_timer_.arm(config_.pause_until->at);
  } else {
    pause_timer_.disarm();
    wake_soon();
  }
}

// Also the timer's action: the pause is over, or was not reached yet.
void consumer::arm_pause() {
  if (!config_.pause_until) return;
  if (paused()) {
    pause_timer_.arm(config_.pause_until->at);
  } else if (open_ && pause_was_armed_) {
    tell_paused();
    wake_soon();
  }
  pause_was_armed_ = paused();
}

// --- reset ---

void consumer::on_reset(const routing::message& what) {
  // Deliveries from the new position begin behind the answer.
  const auto answer = [&](std::string_view members, std::string headers = {}) {
    std::string json(reset_type);
    json.append(members).append("}");
    around().store.when_durable([this, alive = std::weak_ptr<bool>(alive_), reply = std::string(what.reply),
                                 headers = std::move(headers), json = std::move(json)](const result<void>& durable) {
      if (alive.expired()) return;
      if (durable && !reply.empty()) account().publish({.subject = reply, .headers = headers, .payload = json});
      if (!alive.expired()) release();
    });
  };
  const auto refuse = [&](protocol::jetstream_errc number, std::string_view text) {
    const protocol::api_error error = protocol::make_api_error(number, {{"err", text}, {"msg", text}});
    std::string members(",\"error\":");
    codec::write_json(members, error);
    members.append(",\"reset_seq\":0");
    answer(members);
  };
  if (const auto bad = check_reader_identity(owner_.stream(), what.headers))
    return refuse(protocol::jetstream_errc::consumer_stream_identity_mismatch, owner_.stream().identity());
  reset_request wanted;
  if (what.payload.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    if (auto read = codec::read_json_into(what.payload, wanted, codec::peer_lenient); !read) {
      return refuse(protocol::jetstream_errc::invalid_json, read.error().context());
    }
  }
  storage::sequence target = wanted.seq;
  if (target == 0) {
    target = state_.floor_stream + 1;
  } else if (config_.deliver_policy == delivery_start::by_start_sequence) {
    if (target < config_.opt_start_seq)
      return refuse(protocol::jetstream_errc::consumer_invalid_reset, "below start seq");
  } else if (config_.deliver_policy == delivery_start::by_start_time) {
    const storage::sequence end = log().state().last + 1;
    if (target < log().first_at_or_after(config_.opt_start_time->at).value_or(end)) {
      return refuse(protocol::jetstream_errc::consumer_invalid_reset, "below start time");
    }
  } else if (config_.deliver_policy != delivery_start::all) {
    return refuse(protocol::jetstream_errc::consumer_invalid_reset, "not allowed");
  }
  reset_to(target);
  const shown_metadata server{around().settings.version, around().settings.api_level};
  std::string members(",");
  append_members(members, info(), &server);
  members.append(",\"reset_seq\":");
  append_decimal(members, target);
  hold();
  // Who asks for an identity is a reader, and is told.
  const bool asked = !what.headers.empty() && protocol::header_view(what.headers).has(stream_identity_header);
  answer(members, asked ? protocol::header_builder().add(stream_identity_header, owner_.stream().identity()).finish()
                        : std::string());
}

void consumer::reset_to(storage::sequence number) {
  state_.pending.clear();
  state_.exhausted.clear();
  redelivery_.clear();
  deadlines_.clear();
  redelivery_timer_.disarm();
  state_.skip.clear();
  state_.skip_next = 0;
  state_.skip_end = 0;
  state_.next_stream = number;
  state_.next_consumer = 1;
  state_.delivered_stream = number - 1;
  state_.floor_consumer = 0;
  state_.floor_stream = number - 1;
  last_delivery_at_.reset();
  last_ack_at_.reset();
  replay_stamp_.reset();
  recount();
  deltas_.whole(state_);
  note_delta();
  flush();
}

}  // namespace tern::jetstream
