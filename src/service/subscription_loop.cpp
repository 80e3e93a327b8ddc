#include "service/subscription_loop.hpp"

#include "base/hash.hpp"
#include "service/coroutines.hpp"

#include <boost/asio/co_spawn.hpp>

namespace tern::service::detail {
namespace {

// After so many messages in one go the loop gets its turn back, so that one busy subscription does not hold up others.
constexpr std::size_t messages_per_pump = 256;
constexpr std::chrono::seconds health_look(1);

}  // namespace

subscription_loop::subscription_loop(app_core& app, std::shared_ptr<broker_link> link, registration& what,
                                     failure_action on_decode_failure, failure_action on_panic)
    : app_(app), link_(std::move(link)), what_(what), on_decode_failure_(on_decode_failure), on_panic_(on_panic) {
  if (what_.options.by_key) lanes_.resize(what_.options.workers);
}

subscription_loop::~subscription_loop() = default;

result<void> subscription_loop::begin_taking() {
  taking_ = true;
  ++opening_;
  if (what_.options.keep_alive && what_.is_jetstream()) {
    keep_alive_timer_ = std::make_unique<timer_queue::timer>(app_.shard().timers(), [this] { keep_alive_tick(); });
    keep_alive_timer_->arm(app_.shard().now() + std::get<jetstream_consumer>(what_.from).ack_wait() / 2);
  }
  if (what_.options.batch) {
    for (std::size_t worker = 0; worker < what_.options.workers; ++worker) {
      boost::asio::co_spawn(app_.executor(), run_batches(opening_), rethrow_nothing);
    }
  } else {
    pump_later();
  }
  return {};
}

void subscription_loop::pump_later() {
  if (pump_posted_) return;
  pump_posted_ = true;
  app_.shard().post([this, app = app_.shared_from_this()] {  // the application keeps its subscriptions
    pump_posted_ = false;
    pump();
  });
}

// A busy subscription is not polled: what waits stays with the source, whose requests stop growing (14.2).
void subscription_loop::pump() {
  if (what_.options.batch) return;
  for (std::size_t taken = 0; taking_; ++taken) {
    if (taken == messages_per_pump) return pump_later();
    if (!held_.empty()) {
      if (!start_or_hold(std::move(held_.front()))) return;
      held_.pop_front();
      continue;
    }
    if (running_ >= what_.options.workers) return;
    auto item = source_->try_next();
    if (!item) {
      if (source_->ended()) return on_source_ended();
      return wait_for_next();
    }
    if (*item) {
      take(*std::move(*item));
    } else {
      on_item_error(item->error());
    }
  }
}

void subscription_loop::wait_for_next() {
  if (waiting_) return;
  waiting_ = true;
  source_->next([weak = weak_from_this()](result<client::message> item) {
    const auto self = weak.lock();
    if (!self) return;
    self->waiting_ = false;
    if (item) {
      self->take(*std::move(item));
    } else if (self->taking_ && item.error().code() != errc::closed && item.error().code() != errc::cancelled) {
      self->on_item_error(item.error());
    }
    if (!self->what_.options.batch) return self->pump_later();
    while (!self->arrivals_.empty()) {
      const auto worker = self->arrivals_.front().lock();
      self->arrivals_.erase(self->arrivals_.begin());
      if (worker && worker->complete({})) break;
    }
  });
}

void subscription_loop::take(client::message&& received) {
  if (!taking_) return give_back(received);
  if (what_.options.batch || running_ >= what_.options.workers || !held_.empty()) {
    held_.push_back(std::move(received));
    return;
  }
  if (!start_or_hold(std::move(received))) held_.push_back(std::move(received));
}

// False when no worker may take it now; the message is then left where it was.
bool subscription_loop::start_or_hold(client::message&& received) {
  if (lanes_.empty()) {
    if (running_ >= what_.options.workers) return false;
    start(std::move(received), 0);
    return true;
  }
  const std::size_t at = lane_of(received);
  if (!lanes_[at].busy) {
    lanes_[at].busy = true;
    start(std::move(received), at);
    return true;
  }
  if (lanes_[at].next) return false;  // a lane holds one in wait; a full one stalls reading (14.3)
  lanes_[at].next = std::move(received);
  return true;
}

std::size_t subscription_loop::lane_of(const client::message& received) {
  if (const auto key = received.header(what_.options.key_header)) return hash64(*key) % lanes_.size();
  return next_lane_++ % lanes_.size();
}

void subscription_loop::start(client::message&& received, std::size_t lane) {
  std::shared_ptr<delivery_work> work;
  if (idle_work_.empty()) {
    work = std::make_shared<delivery_work>();
  } else {
    work = std::move(idle_work_.back());
    idle_work_.pop_back();
  }
  time_point deadline = time_point::max();
  if (const auto* consumer = std::get_if<jetstream_consumer>(&what_.from))
    deadline = app_.shard().now() + consumer->ack_wait();
  if (what_.options.timeout) deadline = std::min(deadline, app_.shard().now() + what_.options.timeout->first);
  work->delivery.emplace(std::move(received), name(), app_.state(), deadline);
  work->delivery->put_services(this);
  work->made.clear();
  work->timed_out.reset();
  work->answered = false;
  work->dead_lettered = false;
  work->lane = lane;
  ++running_;
  ++counters_.in_flight;
  if (work->delivery->attempt() > 1) ++counters_.redeliveries;
  in_work_.push_back(work);
  set_current_app(&app_);
  if (app_.observer() != nullptr) app_.observer()->on_delivery(name(), *work->delivery);
  if (!what_.handler->asynchronous()) {
    what_.handler->run_now(*work->delivery, work->made);
    if (can_settle_now(*work)) {
      settle_now(*work);
      return end(*work);
    }
  }
  boost::asio::co_spawn(app_.executor(), run(work), rethrow_nothing);
}

void subscription_loop::end(delivery_work& work) {
  --running_;
  --counters_.in_flight;
  const std::size_t lane = work.lane;
  const auto place =
      std::find_if(in_work_.begin(), in_work_.end(), [&](const auto& each) { return each.get() == &work; });
  auto kept = std::move(*place);
  *place = std::move(in_work_.back());
  in_work_.pop_back();
  kept->delivery.reset();
  kept->timer.reset();
  idle_work_.push_back(std::move(kept));
  if (!lanes_.empty()) {
    lanes_[lane].busy = false;
    if (auto next = std::exchange(lanes_[lane].next, std::nullopt)) {
      if (taking_) {
        lanes_[lane].busy = true;
        start(std::move(*next), lane);
      } else {
        give_back(*next);
      }
    }
  }
  app_.on_handler_ended();
  pump_later();
}

void subscription_loop::on_item_error(const error& problem) {
  ++counters_.pull_errors;
  app_.log(log_level::error, "receiving failed", {{"subscription", name()}, {"error", problem.message()}});
  look_at_health();
}

// Not ready while the server's side of the subscription is silent; looked at again until it is heard (16, 18).
void subscription_loop::look_at_health() {
  if (!taking_ || source_ == nullptr) return;
  if (!source_->degraded()) return app_.clear_degraded(name());
  app_.mark_degraded(name(), "the server's side is silent");
  if (!health_timer_)
    health_timer_ = std::make_unique<timer_queue::timer>(app_.shard().timers(), [this] { look_at_health(); });
  health_timer_->arm(app_.shard().now() + health_look);
}

void subscription_loop::on_source_ended() {
  if (!taking_) return;
  const auto* consumer = std::get_if<jetstream_consumer>(&what_.from);
  const stream_end policy = what_.options.on_stream_end.value_or(
      consumer != nullptr && consumer->binds() ? stream_end::fail_fast : stream_end::recreate);
  app_.log(log_level::error, "subscription ended", {{"subscription", name()}});
  taking_ = false;
  if (policy == stream_end::fail_fast || consumer == nullptr) {
    return app_.fail_fast(error(errc::consumer_deleted, "subscription " + name() + " ended"));
  }
  app_.mark_degraded(name(), "its consumer is gone");
  if (policy == stream_end::recreate) boost::asio::co_spawn(app_.executor(), recreate(), rethrow_nothing);
}

boost::asio::awaitable<void> subscription_loop::recreate() {
  const auto self = shared_from_this();
  const auto app = app_.shared_from_this();
  std::chrono::nanoseconds pause = std::chrono::milliseconds(250);
  while (!app_.stopping()) {
    auto opened = co_await open();
    if (opened) {
      app_.clear_degraded(name());
      co_return;
    }
    app_.log(log_level::error, "subscription could not be opened again",
             {{"subscription", name()}, {"error", opened.error().message()}});
    (void)co_await app_.pause(pause);
    pause = std::min<std::chrono::nanoseconds>(pause * 2, std::chrono::seconds(30));
  }
}

// --- the end (15) ---

void subscription_loop::stop_taking() {
  if (!taking_ && source_ == nullptr && !what_.options.batch) return;
  taking_ = false;
  advisories_.reset();
  health_timer_.reset();
  end_waits();
  for (const auto& message : held_) give_back(message);
  held_.clear();
  for (auto& lane : lanes_) {
    if (auto next = std::exchange(lane.next, std::nullopt)) give_back(*next);
  }
  if (source_ != nullptr) {
    for (const auto& message : source_->cancel()) give_back(message);
  }
  if (!copies_.empty()) {
    app_.log(log_level::warn, "delayed copies are lost, they were not due yet",
             {{"subscription", name()}, {"count", copies_.size()}});
    copies_.clear();
  }
}

// Replicas get it at once instead of after ack_wait. A Core message has nowhere to go.
void subscription_loop::give_back(const client::message& received) {
  if (what_.is_jetstream() && !received.reply().empty()) (void)link_->settle(received.reply(), "-NAK");
}

void subscription_loop::end_waits() {
  for (auto& [wait, cancel] : std::exchange(gathering_, {})) cancel();
  for (const auto& each : std::exchange(arrivals_, {})) {
    if (const auto worker = each.lock()) worker->cancel();
  }
}

// Nothing more leaves for the broker.
void subscription_loop::abandon() {
  taking_ = false;
  advisories_.reset();
  health_timer_.reset();
  keep_alive_timer_.reset();
  copies_.clear();
  held_.clear();
  for (auto& lane : lanes_) lane.next.reset();
  end_waits();
  cancel_handlers();
}

void subscription_loop::cancel_handlers() {
  for (const auto& work : in_work_) work->cancel.emit(boost::asio::cancellation_type::terminal);
}

void subscription_loop::keep_alive_tick() {
  for (const auto& work : in_work_) {
    if (!work->answered) (void)link_->settle(work->delivery->message().reply(), "+WPI");
  }
  for (const auto& message : held_) (void)link_->settle(message.reply(), "+WPI");
  for (const auto& lane : lanes_) {
    if (lane.next) (void)link_->settle(lane.next->reply(), "+WPI");
  }
  if (source_ != nullptr) {
    for (const auto& reply : source_->waiting_replies()) (void)link_->settle(reply, "+WPI");
  }
  if (taking_ || running_ != 0)
    keep_alive_timer_->arm(app_.shard().now() + std::get<jetstream_consumer>(what_.from).ack_wait() / 2);
}

std::pair<publisher, const destination*> subscription_loop::slot(std::type_index slot) const {
  const destination& to = what_.outs.at(slot);
  return {publisher(to.broker().empty() ? link_ : app_.link(to.broker())), &to};
}

std::pair<publisher, const destination*> slot_of(context& delivery, std::type_index slot) {
  return static_cast<subscription_loop*>(delivery.services())->slot(slot);
}

}  // namespace tern::service::detail
