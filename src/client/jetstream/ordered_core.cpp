#include "client/jetstream/ordered_core.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "client/jetstream/api.hpp"
#include "protocol/headers.hpp"

namespace tern::client::detail {
namespace {

constexpr nanoseconds default_heartbeat = std::chrono::seconds(5);
constexpr nanoseconds forgotten_after = std::chrono::minutes(5);
constexpr nanoseconds first_pause = std::chrono::milliseconds(100);
constexpr nanoseconds longest_pause = std::chrono::seconds(5);
constexpr int heartbeats_missed = 2;

struct create_request {
  std::string stream_name;
  consumer_config config;
};

bool comes_back(const error& why) {
  return why.code() == errc::no_responders || why.code() == errc::timeout || why.code() == errc::disconnected;
}

}  // namespace

// What comes for one of the consumers; those before the current one are ignored.
class ordered_core::generation_sink final : public message_sink {
 public:
  generation_sink(std::shared_ptr<ordered_core> core, std::uint64_t generation)
      : core_(std::move(core)), generation_(generation) {}
  void on_message(const protocol::message_frame& frame) override {
    if (current()) core_->on_message(frame);
  }
  void on_end(const error& why) override {
    if (current()) core_->end(why);
  }
  void on_disconnected() override {
    if (!current()) return;
    core_->silence_timer_.disarm();
    core_->retry_timer_.disarm();
  }
  void on_reconnected() override {
    // Behind this turn: the table of interest is being walked.
    if (current()) core_->retry_timer_.arm(core_->connection_->loop().now());
  }

 private:
  bool current() const { return !core_->over_ && core_->generation_ == generation_; }
  std::shared_ptr<ordered_core> core_;
  std::uint64_t generation_;
};

ordered_core::ordered_core(std::shared_ptr<connection_core> connection, std::string api_prefix, nanoseconds patience,
                           std::string stream, consumer_config config, ordered_events events)
    : connection_(std::move(connection)),
      api_prefix_(std::move(api_prefix)),
      patience_(patience),
      stream_(std::move(stream)),
      config_(std::move(config)),
      events_(std::move(events)),
      silence_timer_(connection_->loop().timers(), [this] { on_silence(); }),
      retry_timer_(connection_->loop().timers(), [this] { reset(true); }) {
  config_.ack_policy = ack_policy::none;
  config_.max_deliver = 1;
  config_.mem_storage = true;
  config_.num_replicas = 1;
  config_.flow_control = true;
  if (!config_.idle_heartbeat) config_.idle_heartbeat = default_heartbeat;
  if (!config_.inactive_threshold) config_.inactive_threshold = forgotten_after;
}

void ordered_core::open() {
  connection_->loop().post([self = shared_from_this()] { self->create(); });
}

void ordered_core::stop() {
  // Not owned by the work: a loop that has stopped would keep it for ever. While active, the table of interest owns it.
  connection_->loop().post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || std::exchange(self->over_, true)) return;
    self->silence_timer_.disarm();
    self->retry_timer_.disarm();
    self->forget_consumer();
    self->events_ = {};
  });
}

void ordered_core::create() {
  if (over_) return;
  ++generation_;
  consumer_sequence_ = 0;
  flow_control_.clear();
  const std::string inbox = connection_->new_inbox();
  auto sid = connection_->subscribe(inbox, {}, std::make_shared<generation_sink>(shared_from_this(), generation_));
  if (!sid) return end(std::move(sid).error());
  sid_ = *sid;
  create_request request;
  request.stream_name = stream_;
  request.config = config_;
  request.config.deliver_subject = inbox;
  api_call(*connection_, api_prefix_ + ".CONSUMER.CREATE." + stream_, codec::to_json(request), patience_,
           [self = shared_from_this(), generation = generation_](result<std::string_view> answer) {
             if (!self->over_ && generation == self->generation_) self->created(generation, std::move(answer));
           });
}

void ordered_core::created(std::uint64_t, result<std::string_view> answer) {
  if (!answer) return creation_failed(std::move(answer).error());
  auto info = read_answer<consumer_info>(*answer);
  if (!info) return creation_failed(std::move(info).error());
  failures_ = 0;
  consumer_ = info->name;
  if (!std::exchange(ever_created_, true) && config_.deliver_policy == deliver_policy::new_messages) {
    // A later one must not begin behind what comes until then.
    config_.deliver_policy = deliver_policy::by_start_sequence;
    config_.opt_start_seq = info->delivered.stream_seq + 1;
  }
  heard();
  if (events_.on_created) events_.on_created(*info);
}

void ordered_core::creation_failed(error why) {
  const bool hopeless = why.code() == errc::closed || why.api_code() == 10059 || (!ever_created_ && !comes_back(why));
  if (hopeless) return end(std::move(why));
  reset(false);
}

// `at_once`: now, on a fresh subject. Otherwise after a pause that grows with the failures in a row.
void ordered_core::reset(bool at_once) {
  if (over_) return;
  silence_timer_.disarm();
  if (!at_once) {
    const auto exponent = std::min<std::uint32_t>(failures_++, 6);
    retry_timer_.arm(connection_->loop().now() + std::min<nanoseconds>(first_pause * (1 << exponent), longest_pause));
    return;
  }
  recreated_.fetch_add(1, std::memory_order_relaxed);
  ++generation_;  // the end of the old interest is none of ours
  forget_consumer();
  if (stream_sequence_ != 0) {
    config_.deliver_policy = deliver_policy::by_start_sequence;
    config_.opt_start_seq = stream_sequence_ + 1;
    config_.opt_start_time.reset();
  }
  create();
}

void ordered_core::forget_consumer() {
  if (sid_ != 0) connection_->unsubscribe(std::exchange(sid_, 0));
  if (consumer_.empty()) return;
  (void)connection_->publish_unchecked(api_prefix_ + ".CONSUMER.DELETE." + stream_ + "." + std::exchange(consumer_, {}),
                                       {}, {}, {});
}

void ordered_core::on_message(const protocol::message_frame& frame) {
  if (frame.with_header && frame.payload().empty() && protocol::header_view(frame.header()).status() != 0) {
    return on_status(frame);
  }
  message received;
  received.assign(frame.subject, frame.reply, frame.header(), frame.payload());
  const auto about = received.jetstream();
  if (!about) return;  // somebody else writes to this inbox
  if (about->consumer_sequence != consumer_sequence_ + 1) return reset(true);
  consumer_sequence_ = about->consumer_sequence;
  stream_sequence_ = about->stream_sequence;
  heard_at_ = connection_->loop().now();
  const auto copy = *about;
  if (events_.on_message) events_.on_message(std::move(received), copy);
}

void ordered_core::on_status(const protocol::message_frame& frame) {
  const protocol::header_view view(frame.header());
  heard_at_ = connection_->loop().now();
  if (view.status() == 409) return reset(true);  // deleted: the stream may still be there
  if (view.status() != 100) return;
  if (!frame.reply.empty()) return answer_flow_control(frame.reply);
  if (const auto stalled = view.get("Nats-Consumer-Stalled"); stalled) answer_flow_control(*stalled);
  const auto last = parse_decimal(view.get("Nats-Last-Consumer").value_or(""));
  if (last && *last != consumer_sequence_) reset(true);
}

void ordered_core::answer_flow_control(std::string_view subject) {
  if (flow_control_ == subject) return;
  flow_control_ = subject;
  const auto answer = [self = shared_from_this(), generation = generation_, to = std::string(subject)] {
    if (self->over_ || generation != self->generation_ || self->flow_control_ != to) return;
    self->flow_control_.clear();
    (void)self->connection_->publish_unchecked(to, {}, {}, {});
  };
  if (events_.when_taken) {
    events_.when_taken(answer);
  } else {
    answer();
  }
}

void ordered_core::heard() {
  heard_at_ = connection_->loop().now();
  silence_timer_.arm(heard_at_ + *config_.idle_heartbeat * heartbeats_missed);
}

void ordered_core::on_silence() {
  const auto due = heard_at_ + *config_.idle_heartbeat * heartbeats_missed;
  if (connection_->loop().now() < due) return silence_timer_.arm(due);
  if (connection_->connected()) reset(true);
}

void ordered_core::end(error why) {
  if (std::exchange(over_, true)) return;
  silence_timer_.disarm();
  retry_timer_.disarm();
  forget_consumer();
  if (events_.on_end) events_.on_end(std::move(why));
  events_ = {};
}

}  // namespace tern::client::detail
