#include "service/app_core.hpp"

#include "client/connect_on.hpp"
#include "service/app_executor.hpp"
#include "service/coroutines.hpp"
#include "service/subscription_loop.hpp"
#include "service/validation.hpp"

#include <boost/asio/co_spawn.hpp>

#include <ranges>

namespace tern::service::detail {

// One wait; its timer lives as long as somebody may still be woken by it.
struct paused {
  paused(timer_queue& timers, const void* loop)
      : waiter(std::make_shared<client::detail::operation_state<void>>(loop)),
        timer(timers, [state = waiter] { state->complete({}); }) {}
  std::shared_ptr<client::detail::operation_state<void>> waiter;
  timer_queue::timer timer;
};

namespace {

thread_local app_core* app_of_this_thread = nullptr;

// In a catch block: what a hook threw.
error thrown_by(std::string_view hook) {
  try {
    throw;
  } catch (const std::exception& problem) {
    return error(errc::handler_failed, std::string(hook) + " hook threw: " + problem.what());
  } catch (...) {
    return error(errc::handler_failed, std::string(hook) + " hook threw something that is no std::exception");
  }
}

}  // namespace

app_core* current_app() { return app_of_this_thread; }
void set_current_app(app_core* app) { app_of_this_thread = app; }

app_core::app_core(std::unique_ptr<app_definition> definition, app_loop loop)
    : definition_(std::move(definition)), loop_(loop) {
  sink_ = definition_->sink ? definition_->sink : standard_error_sink();
  for (const auto& broker : definition_->brokers) links_.push_back(std::make_shared<broker_link>(broker.name));
}

app_core::~app_core() {
  if (current_app() == this) set_current_app(nullptr);
}

void app_core::log(log_level level, std::string_view text, std::vector<log_field> fields) {
  if (!sink_->enabled(level)) return;
  sink_->write({level, std::string(text), std::move(fields)});
}

// --- start (2.2, 2.3) ---

boost::asio::awaitable<result<void>> app_core::start_up() {
  const auto self = shared_from_this();
  set_current_app(this);
  result<void> done = validate_definition(*definition_);
  if (done) done = co_await run_startup_hooks();
  if (done) done = co_await connect_brokers();
  if (done) done = co_await open_subscriptions();
  if (done) done = co_await run_after_startup();
  if (done) {
    started_ = true;
    // A handler may have failed before the last hook had run.
    if (failure_) boost::asio::co_spawn(executor(), shut_down(), [](std::exception_ptr, const result<void>&) {});
    co_return done;
  }
  stopping_ = true;
  co_await stop_subscriptions();
  co_await wait_until_drained();
  co_await close_brokers();
  release_state();
  set_health(health_status::stopped, done.error().message());
  co_return done;
}

boost::asio::awaitable<result<void>> app_core::run_startup_hooks() {
  state_ = std::make_shared<std::monostate>();
  for (auto& hook : definition_->on_startup) {
    result<erased_state> next;
    try {
      next = co_await hook(state_);
    } catch (...) {
      next = std::unexpected(thrown_by("on_startup"));
    }
    if (!next) co_return std::unexpected(std::move(next).error());
    state_ = *std::move(next);
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> app_core::connect_brokers() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    client::options options = definition_->brokers[i].connect;
    if (options.get().name.empty()) options.name(definition_->name);
    options.on_event([weak = weak_from_this(), broker = links_[i]->name(),
                      own = options.get().on_event](const client::connection_event& event) {
      if (const auto self = weak.lock()) self->on_connection_event(broker, event);
      if (own) own(event);
    });
    auto connected = co_await client::connect_on(*loop_.shard, *loop_.network, options);
    if (!connected) co_return std::unexpected(std::move(connected).error().within("broker " + links_[i]->name()));
    links_[i]->open(*std::move(connected));
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> app_core::open_subscriptions() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    broker_definition& broker = definition_->brokers[i];
    for (registration& each : broker.registrations) {
      const auto pick = [&](const std::optional<failure_action>& own, const std::optional<failure_action>& of_broker,
                            const std::optional<failure_action>& of_app, failure_action otherwise) {
        return own ? *own : of_broker ? *of_broker : of_app ? *of_app : otherwise;
      };
      subscriptions_.push_back(std::make_shared<subscription_loop>(
          *this, links_[i], each,
          pick(each.options.on_decode_failure, broker.on_decode_failure, definition_->on_decode_failure,
               failure_action::drop()),
          pick(each.options.on_panic, broker.on_panic, definition_->on_panic, failure_action::fail_fast())));
      auto opened = co_await subscriptions_.back()->open();
      if (!opened) co_return opened;
    }
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> app_core::run_after_startup() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    for (auto& hook : definition_->brokers[i].after_startup) {
      result<void> done;
      try {
        done = co_await hook(publisher(links_[i]));
      } catch (...) {
        done = std::unexpected(thrown_by("after_startup"));
      }
      if (!done) co_return done;
    }
  }
  for (auto& hook : definition_->after_startup) {
    result<void> done;
    try {
      done = co_await hook(state_.get());
    } catch (...) {
      done = std::unexpected(thrown_by("after_startup"));
    }
    if (!done) co_return done;
  }
  co_return result<void>();
}

// A lost connection is no failure: the client reconnects. Until then nothing is ready; what Core missed is said once
// (18).
void app_core::on_connection_event(const std::string& broker, const client::connection_event& event) {
  using kind = client::connection_event::kind;
  const std::string place = "broker " + broker;
  if (event.what == kind::disconnected) {
    mark_degraded(place, "disconnected: " + event.reason.message());
    log(log_level::warn, "connection lost", {{"broker", broker}, {"error", event.reason.message()}});
  } else if (event.what == kind::reconnected) {
    clear_degraded(place);
    log(log_level::warn, "connected again, Core messages of the gap are lost",
        {{"broker", broker},
         {"server", event.server},
         {"gap_ms", std::chrono::duration_cast<std::chrono::milliseconds>(event.gap).count()}});
  } else if (event.what == kind::slow_consumer) {
    log(log_level::warn, "messages are dropped, a subscription's buffer is full",
        {{"broker", broker}, {"subject", event.subject}});
  } else if (event.what == kind::server_error) {
    log(log_level::warn, "the server reports an error", {{"broker", broker}, {"error", event.reason.message()}});
  } else if (event.what == kind::closed && !stopping_) {
    mark_degraded(place, "closed: " + event.reason.message());
    log(log_level::error, "connection closed for good", {{"broker", broker}, {"error", event.reason.message()}});
  }
}

// --- the end (15) ---

boost::asio::awaitable<result<void>> app_core::shut_down() {
  const auto self = shared_from_this();
  if (shutdown_result_) co_return *shutdown_result_;
  if (shutdown_running_) {
    auto waiter = std::make_shared<client::detail::operation_state<void>>(nullptr);
    shutdown_waiters_.push_back(waiter);
    client::operation<void> ended(waiter);
    co_return co_await std::move(ended);
  }
  shutdown_running_ = true;
  auto done = co_await shut_down_once();
  shutdown_result_ = done;
  for (auto& waiter : std::exchange(shutdown_waiters_, {})) waiter->complete(result<void>(done));
  co_return done;
}

boost::asio::awaitable<result<void>> app_core::shut_down_once() {
  set_current_app(this);
  stopping_ = true;
  if (!failure_) set_health(health_status::shutting_down);
  co_await run_hooks(definition_->on_shutdown, "on_shutdown");
  co_await stop_subscriptions();
  std::optional<timer_queue::timer> limit;
  bool late = false;
  if (definition_->shutdown_timeout) {
    limit.emplace(loop_.shard->timers(), [this, &late] {
      late = true;
      for (const auto& each : subscriptions_) each->cancel_handlers();
      if (drained_) drained_->complete({});
    });
    limit->arm(loop_.shard->now() + *definition_->shutdown_timeout);
  }
  co_await wait_until_drained();
  limit.reset();
  result<void> done;
  if (late) {
    const activity left = what_is_going_on();
    log(log_level::warn, "shutdown took too long, handlers were cancelled",
        {{"handlers", left.running_handlers}, {"continuations", left.continuations}});
    done = fail(errc::shutdown_timeout, "handlers did not end in time");
  }
  co_await close_brokers();
  co_await run_hooks(definition_->after_shutdown, "after_shutdown");
  release_state();
  if (failure_) {
    done = std::unexpected(*failure_);
  } else {
    set_health(health_status::stopped);
  }
  co_return done;
}

boost::asio::awaitable<void> app_core::stop_subscriptions() {
  for (const auto& each : subscriptions_) each->stop_taking();
  co_return;
}

boost::asio::awaitable<void> app_core::wait_until_drained() {
  const activity now = what_is_going_on();
  if (now.running_handlers == 0 && now.continuations == 0) co_return;
  drained_ = std::make_shared<client::detail::operation_state<void>>(nullptr);
  client::operation<void> ended(drained_);
  (void)co_await std::move(ended);
  drained_.reset();
}

void app_core::check_drained() {
  if (!drained_) return;
  const activity now = what_is_going_on();
  if (now.running_handlers == 0 && now.continuations == 0) drained_->complete({});
}

// In reverse; what was settled last is confirmed by a PONG before the connection goes, so no acknowledgement is lost.
boost::asio::awaitable<void> app_core::close_brokers() {
  for (const auto& link : links_ | std::views::reverse) {
    const bool was_open = link->state() == broker_link::phase::open;
    link->mark_closed();
    if (!was_open) continue;
    if (link->connection().state() == client::connection_state::connected) {
      if (auto flushed = co_await link->connection().flush(); !flushed) {
        log(log_level::warn, "the last acknowledgements may be lost",
            {{"broker", link->name()}, {"error", flushed.error().message()}});
      }
    }
    (void)co_await link->connection().close();
  }
}

boost::asio::awaitable<void> app_core::run_hooks(std::vector<hook_function>& hooks, std::string_view which) {
  for (auto& hook : hooks) {
    result<void> done;
    try {
      done = co_await hook(state_.get());
    } catch (...) {
      done = std::unexpected(thrown_by(which));
    }
    if (!done) log(log_level::error, "hook failed", {{"hook", which}, {"error", done.error().message()}});
  }
}

void app_core::abandon() {
  stopping_ = true;
  for (const auto& each : subscriptions_) each->abandon();
  for (const auto& link : links_) {
    if (link->state() != broker_link::phase::open) continue;
    link->mark_closed();
    link->connection().close().then([](result<void>) {});
  }
  for (const auto& each : std::exchange(pauses_, {})) {
    if (const auto waiting = each.lock()) waiting->waiter->cancel();
  }
  if (drained_) drained_->complete({});
  set_health(health_status::stopped);
}

void app_core::fail_fast(error why) {
  if (failure_) return;
  failure_ = why;
  log(log_level::error, "the application stops itself", {{"error", why.message()}});
  set_health(health_status::failed, why.message());
  std::vector<std::shared_ptr<client::detail::operation_state<error>>> waiters;
  {
    std::lock_guard lock(mutex_);
    waiters.swap(failure_waiters_);
  }
  for (auto& waiter : waiters) waiter->complete(result<error>(why));
  if (started_) boost::asio::co_spawn(executor(), shut_down(), [](std::exception_ptr, const result<void>&) {});
}

// --- what runs beside deliveries ---

void app_core::spawn_continuation(outcome::continuation work) {
  ++continuations_;
  // The coroutine refers to the callable's captures, so this very object stays until it has ended.
  auto kept = std::make_shared<outcome::continuation>(std::move(work));
  boost::asio::co_spawn(executor(), (*kept)(), [self = shared_from_this(), kept](std::exception_ptr problem) {
    --self->continuations_;
    if (problem) self->log(log_level::error, "work after a settlement failed", {});
    self->check_drained();
  });
}

boost::asio::any_io_executor app_core::executor() {
  if (loop_.shared) return app_executor(loop_.shard->context(), weak_from_this());
  return loop_.shard->context().get_executor();
}

client::operation<void> app_core::pause(std::chrono::nanoseconds duration) {
  auto wait = std::make_shared<paused>(loop_.shard->timers(), nullptr);
  wait->timer.arm(loop_.shard->now() + duration);
  if (pauses_.size() == pauses_.capacity()) std::erase_if(pauses_, [](const auto& each) { return each.expired(); });
  pauses_.push_back(wait);
  // The operation's state is part of the wait and keeps the whole of it.
  return client::operation<void>(std::shared_ptr<client::detail::operation_state<void>>(wait, wait->waiter.get()));
}

// Handlers that were abandoned may still look at it, so with those it stays until the application goes.
void app_core::release_state() {
  if (what_is_going_on().running_handlers == 0) state_.reset();
}

activity app_core::what_is_going_on() const {
  activity now;
  for (const auto& each : subscriptions_) now.running_handlers += each->running();
  now.continuations = continuations_;
  return now;
}

void app_core::mark_degraded(std::string_view subscription, std::string reason) {
  std::lock_guard lock(mutex_);
  degraded_[std::string(subscription)] = std::move(reason);
}

void app_core::clear_degraded(std::string_view subscription) {
  std::lock_guard lock(mutex_);
  if (const auto found = degraded_.find(subscription); found != degraded_.end()) degraded_.erase(found);
}

void app_core::set_health(health_status status, std::string reason) {
  std::lock_guard lock(mutex_);
  if (health_.status == health_status::failed) return;
  health_.status = status;
  health_.reason = std::move(reason);
  health_.ready = status == health_status::running;
  health_.live = status != health_status::failed && status != health_status::stopped;
}

service::health app_core::health() const {
  std::lock_guard lock(mutex_);
  service::health now = health_;
  if (now.status == health_status::running && !degraded_.empty()) {
    now.status = health_status::degraded;
    now.reason = degraded_.begin()->first + ": " + degraded_.begin()->second;
    now.ready = false;
  }
  return now;
}

// --- handles ---

std::shared_ptr<broker_link> app_core::link(std::string_view name) const {
  if (name.empty()) return links_.size() == 1 ? links_.front() : nullptr;
  for (const auto& each : links_) {
    if (each->name() == name) return each;
  }
  return nullptr;
}

std::optional<subscription_counters> app_core::counters(std::string_view subscription) const {
  for (const auto& each : subscriptions_) {
    if (each->name() == subscription) return each->counters();
  }
  return std::nullopt;
}

client::operation<error> app_core::wait_for_failure() {
  auto waiter = std::make_shared<client::detail::operation_state<error>>(loop_.shard);
  {
    std::lock_guard lock(mutex_);
    if (health_.status == health_status::failed) {
      waiter->complete(result<error>(error(errc::handler_failed, health_.reason)));
    } else {
      failure_waiters_.push_back(waiter);
    }
  }
  return client::operation<error>(std::move(waiter));
}

client::operation<void> app_core::request_shutdown() {
  auto waiter = std::make_shared<client::detail::operation_state<void>>(loop_.shard);
  loop_.shard->post([self = shared_from_this(), waiter] {
    boost::asio::co_spawn(self->executor(), self->shut_down(),
                          [waiter](std::exception_ptr, result<void> done) { waiter->complete(std::move(done)); });
  });
  return client::operation<void>(std::move(waiter));
}

}  // namespace tern::service::detail
