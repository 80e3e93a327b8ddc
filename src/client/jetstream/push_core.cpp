#include "client/jetstream/push_core.hpp"

#include "client/jetstream/api.hpp"
#include "client/jetstream/core.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace detail {
namespace {

constexpr int heartbeats_missed = 2;

}  // namespace

push_core::push_core(std::shared_ptr<connection_core> connection, const consumer_info& about,
                     std::shared_ptr<item_queue<jetstream_message>> items)
    : connection_(std::move(connection)),
      name_(about.stream_name + "/" + about.name),
      deliver_subject_(about.config.deliver_subject.value_or("")),
      group_(about.config.deliver_group.value_or("")),
      heartbeat_(about.config.idle_heartbeat.value_or(nanoseconds())),
      items_(std::move(items)),
      silence_timer_(connection_->loop().timers(), [this] { on_silence(); }) {}

result<void> push_core::open() {
  auto sid = connection_->subscribe(deliver_subject_, group_, shared_from_this());
  if (!sid) return std::unexpected(std::move(sid).error());
  sid_ = *sid;
  connection_->loop().post([self = shared_from_this()] { self->heard(); });
  return {};
}

void push_core::stop() {
  connection_->unsubscribe(sid_);
  // Not owned by the work: a loop that has stopped would keep it for ever.
  connection_->loop().post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->silence_timer_.disarm();
  });
}

void push_core::on_message(const protocol::message_frame& frame) {
  heard_at_ = connection_->loop().now();
  if (frame.with_header && frame.payload().empty() && protocol::header_view(frame.header()).status() != 0) {
    return on_status(frame);
  }
  message received;
  received.assign(frame.subject, frame.reply, frame.header(), frame.payload());
  items_->push(jetstream_message(std::move(received), connection_));
}

void push_core::on_status(const protocol::message_frame& frame) {
  const protocol::header_view view(frame.header());
  if (view.status() != 100) return;
  if (!frame.reply.empty()) return answer_flow_control(frame.reply);
  if (const auto stalled = view.get("Nats-Consumer-Stalled"); stalled) answer_flow_control(*stalled);
}

void push_core::answer_flow_control(std::string_view subject) {
  if (flow_control_ == subject) return;
  flow_control_ = subject;
  items_->when_taken([self = shared_from_this(), to = std::string(subject)] {
    if (self->flow_control_ != to) return;
    self->flow_control_.clear();
    (void)self->connection_->publish_unchecked(to, {}, {}, {});
  });
}

void push_core::heard() {
  if (heartbeat_ <= nanoseconds::zero()) return;
  heard_at_ = connection_->loop().now();
  silence_timer_.arm(heard_at_ + heartbeat_ * heartbeats_missed);
}

void push_core::on_silence() {
  const auto due = heard_at_ + heartbeat_ * heartbeats_missed;
  if (connection_->loop().now() < due) return silence_timer_.arm(due);
  items_->push(fail(errc::missing_heartbeat, name_ + ": nothing was heard of the consumer"));
  heard();
}

void push_core::on_end(const error& why) {
  silence_timer_.disarm();
  items_->end(why);
}

}  // namespace detail

push_subscription::push_subscription(std::shared_ptr<detail::push_core> core,
                                     std::shared_ptr<detail::item_queue<jetstream_message>> items)
    : core_(std::move(core)), items_(std::move(items)) {}
push_subscription::push_subscription(push_subscription&&) noexcept = default;

push_subscription& push_subscription::operator=(push_subscription&& other) noexcept {
  if (this != &other) {
    stop();
    core_ = std::move(other.core_);
    items_ = std::move(other.items_);
  }
  return *this;
}

push_subscription::~push_subscription() { stop(); }

void push_subscription::stop() {
  if (!core_) return;
  core_->stop();
  items_->stop();
}

operation<jetstream_message> push_subscription::next() {
  if (!core_) return operation<jetstream_message>::ended(fail(errc::closed, "no consumer"));
  return items_->next();
}

std::optional<push_subscription::item> push_subscription::try_next() {
  return core_ ? items_->try_next() : std::nullopt;
}

bool push_subscription::ended() const { return !core_ || items_->ended(); }
std::size_t push_subscription::buffered() const { return core_ ? items_->buffered() : 0; }

operation<push_subscription> jetstream::push(std::string_view stream, std::string_view consumer) {
  return push(stream, consumer, nullptr);
}

operation<push_subscription> jetstream::push(std::string_view stream, std::string_view consumer,
                                             push_subscription::callback callback) {
  if (!core_) return operation<push_subscription>::ended(fail(errc::closed, "no connection"));
  auto state = std::make_shared<detail::operation_state<push_subscription>>(core_->connection().loop_identity());
  auto items = std::make_shared<detail::item_queue<jetstream_message>>(
      core_->connection(), "the push consumer " + std::string(consumer), std::move(callback));
  consumer_info(stream, consumer).then([state, items, core = core_](result<client::consumer_info> about) {
    if (!about) {
      state->complete(std::unexpected(std::move(about).error()));
      return;
    }
    if (!about->config.deliver_subject || about->config.deliver_subject->empty()) {
      state->complete(fail(errc::invalid_argument, "'" + about->name + "' is a pull consumer"));
      return;
    }
    if (about->push_bound && !about->config.deliver_group) {
      state->complete(fail(errc::already_exists, "another subscriber is bound to '" + about->name + "'",
                           "give the consumer a deliver group to share its messages"));
      return;
    }
    auto bound = std::make_shared<detail::push_core>(core->connection().shared_from_this(), *about, items);
    if (auto opened = bound->open(); !opened) {
      state->complete(std::unexpected(std::move(opened).error()));
      return;
    }
    state->complete(push_subscription(std::move(bound), items));
  });
  return operation<push_subscription>(state);
}

}  // namespace tern::client
