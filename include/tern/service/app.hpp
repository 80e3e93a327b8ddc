/// An application: its state, its brokers, what it subscribes to, and its life from start to graceful end.
///
///     struct clients { std::shared_ptr<bank> banking; };
///
///     tern::service::app make_app() {
///       return app_builder("payments", "0.1.0")
///           .on_startup([](std::monostate) { return clients{std::make_shared<bank>()}; })
///           .broker(nats("nats://localhost:4222"), [](auto& scope) {
///             scope.include(subscriber(jetstream("payments.authorized").stream("PAYMENTS").durable("capture"),
///             capture)
///                               .reply<captured>());
///             scope.include(subscriber(core("payments.captured"), refresh));
///           })
///           .build();
///     }
///     int main(int argc, char** argv) { return tern::service::run_main(argc, argv, make_app); }
///
/// Start: start-up hooks in order (each gets the state of the one before), brokers connect, subscriptions open and are
/// confirmed, after_startup hooks run, then it is running. A failure undoes all that in reverse and returns the first
/// error. Shutdown: on_shutdown hooks, subscriptions stop and hand back what was not begun, running handlers end and
/// settle, brokers close in reverse, after_shutdown hooks. Handlers, hooks and publishers run on one thread.
/// Source: service specification sections 2, 15.
#pragma once

#include <tern/client/operation.hpp>
#include <tern/service/detail/definition.hpp>
#include <tern/service/log.hpp>
#include <tern/service/publisher.hpp>
#include <tern/service/subscriber.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tern::service {

enum class health_status { running, shutting_down, stopped, failed, degraded };
std::string_view to_word(health_status status);

struct health {
  health_status status = health_status::running;
  std::string reason;  // of failed and degraded
  bool live = true;
  bool ready = true;
};

/// Counters of one subscription.
struct subscription_counters {
  std::uint64_t acked = 0, retried = 0, retried_after = 0, dropped = 0, dead_lettered = 0;
  std::uint64_t decode_failed = 0, threw = 0, extract_failed = 0, unsettled = 0;
  std::uint64_t settle_failures = 0, unsupported_settlements = 0, redeliveries = 0, pull_errors = 0;
  std::size_t in_flight = 0;
};

namespace detail {
class app_core;
}

/// A started application. Destroying the last copy without shutdown() ends it at once, without a drain.
/// Thread safety: all functions from any thread.
class running_app {
 public:
  running_app() = default;
  explicit running_app(std::shared_ptr<detail::app_core> core) : core_(std::move(core)) {}

  /// Completes only when the application decides to stop by itself (fail fast), with the reason.
  client::operation<error> stopping();
  service::health health() const;
  /// Of the only broker, or of the one with that name. errc::not_found in its publishes when there is none.
  service::publisher publisher(std::string_view broker = {}) const;
  /// The application's thread, to spawn coroutines that publish.
  boost::asio::any_io_executor executor() const;
  std::optional<subscription_counters> counters(std::string_view subscription) const;
  /// Graceful; the error is that of a fail fast, or errc::shutdown_timeout. A second call has the same result.
  client::operation<void> shutdown();

  const std::shared_ptr<detail::app_core>& core() const { return core_; }  // for the library itself

 private:
  std::shared_ptr<detail::app_core> core_;
};

/// Described, not started. Moved, not copied.
class app {
 public:
  explicit app(std::unique_ptr<detail::app_definition> definition);
  app(app&&) noexcept;
  app& operator=(app&&) noexcept;
  ~app();

  const std::string& name() const;
  /// A table of what it subscribes to and how.
  std::string describe() const;

  /// Installs handlers for SIGINT and SIGTERM (a second signal ends at once), serves until one comes.
  result<void> run();
  /// On a thread of its own; installs no signal handlers.
  client::operation<running_app> start();

  std::unique_ptr<detail::app_definition> release() { return std::move(definition_); }  // for the test broker

 private:
  std::unique_ptr<detail::app_definition> definition_;
};

/// What a broker's registrations share.
template <class State>
class scope {
 public:
  explicit scope(detail::broker_definition& into) : into_(into) {}

  template <class Builder>
  scope& include(Builder&& builder) {
    auto made = std::forward<Builder>(builder).template build<State>();
    if (made) {
      into_.registrations.push_back(*std::move(made));
    } else if (!into_.problem) {
      into_.problem = std::move(made).error();
    }
    return *this;
  }
  scope& on_decode_failure(failure_action action) {
    into_.on_decode_failure = action;
    return *this;
  }
  scope& on_panic(failure_action action) {
    into_.on_panic = action;
    return *this;
  }
  /// Runs once all subscriptions are open: `hook(publisher)`, plain or a coroutine.
  template <class Hook>
  scope& after_startup(Hook hook) {
    into_.after_startup.push_back(detail::publisher_hook(std::move(hook)));
    return *this;
  }

 private:
  detail::broker_definition& into_;
};

/// Second phase of the builder: brokers and what comes after them. Made by app_builder::broker().
template <class State>
class app_with_brokers {
 public:
  explicit app_with_brokers(std::unique_ptr<detail::app_definition> definition) : definition_(std::move(definition)) {}

  template <class Configure>
  app_with_brokers&& broker(std::string name, nats where, Configure&& configure) && {
    detail::broker_definition& added = definition_->brokers.emplace_back();
    added.name = std::move(name);
    added.connect = where.connect();
    scope<State> inside(added);
    configure(inside);
    return std::move(*this);
  }
  /// `hook(State&)`, plain or a coroutine; an error of the first three fails the start, later ones are logged.
  template <class Hook>
  app_with_brokers&& after_startup(Hook hook) && {
    definition_->after_startup.push_back(detail::state_hook<State>(std::move(hook)));
    return std::move(*this);
  }
  template <class Hook>
  app_with_brokers&& on_shutdown(Hook hook) && {
    definition_->on_shutdown.push_back(detail::state_hook<State>(std::move(hook)));
    return std::move(*this);
  }
  template <class Hook>
  app_with_brokers&& after_shutdown(Hook hook) && {
    definition_->after_shutdown.push_back(detail::state_hook<State>(std::move(hook)));
    return std::move(*this);
  }
  /// How long running handlers may take to end. Default: as long as they need.
  app_with_brokers&& shutdown_timeout(std::chrono::nanoseconds limit) && {
    definition_->shutdown_timeout = limit;
    return std::move(*this);
  }

  app build() && { return app(std::move(definition_)); }

 private:
  std::unique_ptr<detail::app_definition> definition_;
};

/// First phase: state and defaults. `on_startup` no longer exists once a broker was named.
template <class State>
class basic_app_builder {
 public:
  explicit basic_app_builder(std::unique_ptr<detail::app_definition> definition) : definition_(std::move(definition)) {}

  /// `hook(State)` returns the next state, or expected<state, error>, plain or a coroutine. No broker is connected yet.
  template <class Hook>
  auto on_startup(Hook hook) && {
    using next = detail::startup_state<Hook, State>;
    definition_->on_startup.push_back(detail::startup_hook<Hook, State>(std::move(hook)));
    return basic_app_builder<next>(std::move(definition_));
  }
  basic_app_builder&& on_decode_failure(failure_action action) && {
    definition_->on_decode_failure = action;
    return std::move(*this);
  }
  basic_app_builder&& on_panic(failure_action action) && {
    definition_->on_panic = action;
    return std::move(*this);
  }
  basic_app_builder&& log_to(std::shared_ptr<log_sink> sink) && {
    definition_->sink = std::move(sink);
    return std::move(*this);
  }

  template <class Configure>
  app_with_brokers<State> broker(std::string name, nats where, Configure&& configure) && {
    return app_with_brokers<State>(std::move(definition_))
        .broker(std::move(name), std::move(where), std::forward<Configure>(configure));
  }
  template <class Configure>
  app_with_brokers<State> broker(nats where, Configure&& configure) && {
    return std::move(*this).broker("nats", std::move(where), std::forward<Configure>(configure));
  }

 private:
  std::unique_ptr<detail::app_definition> definition_;
};

class app_builder : public basic_app_builder<std::monostate> {
 public:
  app_builder(std::string name, std::string version)
      : basic_app_builder(detail::new_definition(std::move(name), std::move(version))) {}
};

/// For handlers and hooks: waiting and the time by the application's clock, which a test may have paused.
boost::asio::awaitable<void> sleep_for(std::chrono::nanoseconds duration);
time_point now();

/// `run` (default), `describe`; `--help`. Exit codes: 0 clean, 1 start-up error, 2 usage, 3 fail fast, 130 and 143
/// after a second signal.
int run_main(int argc, char** argv, app (*make)());

}  // namespace tern::service
