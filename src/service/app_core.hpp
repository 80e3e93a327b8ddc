// A started application: its state, its brokers, its subscriptions, and the order in which they come and go. Lives on
// one loop; shared by the handles that were given out. (service 2, 15)
#pragma once

#include "service/app_loop.hpp"
#include "service/broker_link.hpp"

#include <tern/service/app.hpp>
#include <tern/service/detail/definition.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tern::service::detail {

class subscription_loop;
struct paused;

// What is going on, for whoever drives a paused clock: work that will go on by itself, without time passing.
struct activity {
  std::size_t running_handlers = 0;
  std::size_t continuations = 0;
};

// What a test may want to watch of every delivery.
class delivery_observer {
 public:
  virtual ~delivery_observer() = default;
  virtual void on_delivery(std::string_view subscription, const context& delivery) = 0;
  // `settled`: what the broker accepted: "acked", "nacked", "terminated", "unsupported", "unsettled", or an error's
  // text.
  virtual void on_outcome(std::string_view subscription, const context& delivery, const handled& made,
                          const outcome& final, std::string_view settled) = 0;
  virtual void on_batch(std::string_view subscription, std::size_t size) = 0;
};

class app_core : public std::enable_shared_from_this<app_core> {
 public:
  app_core(std::unique_ptr<app_definition> definition, app_loop loop);
  ~app_core();

  boost::asio::awaitable<result<void>> start_up();
  // Runs once; every caller gets the same result.
  boost::asio::awaitable<result<void>> shut_down();
  // Closes connections without a drain: a crash, as brokers see it.
  void abandon();
  // A handler's failure that ends the application: told to stopping(), then a graceful shutdown.
  void fail_fast(error why);

  // --- for subscriptions; the loop's thread ---
  runtime::shard& shard() { return *loop_.shard; }
  // What coroutines of this application run on.
  boost::asio::any_io_executor executor();
  // Waits by the application's clock.
  client::operation<void> pause(std::chrono::nanoseconds duration);
  void* state() { return state_.get(); }
  const app_definition& definition() const { return *definition_; }
  void log(log_level level, std::string_view text, std::vector<log_field> fields);
  void spawn_continuation(outcome::continuation work);
  void on_handler_ended() { check_drained(); }
  void mark_degraded(std::string_view subscription, std::string reason);
  void clear_degraded(std::string_view subscription);
  delivery_observer* observer() { return observer_; }
  bool stopping() const { return stopping_; }

  // --- for handles; any thread where marked ---
  service::health health() const;                                  // any thread
  std::shared_ptr<broker_link> link(std::string_view name) const;  // any thread, set when constructed
  std::optional<subscription_counters> counters(std::string_view subscription) const;
  client::operation<error> wait_for_failure();  // any thread
  client::operation<void> request_shutdown();   // any thread
  const std::optional<error>& failure() const { return failure_; }
  activity what_is_going_on() const;
  void observe(delivery_observer* watcher) { observer_ = watcher; }
  const std::vector<std::shared_ptr<subscription_loop>>& subscriptions() const { return subscriptions_; }
  const std::vector<std::shared_ptr<broker_link>>& links() const { return links_; }

 private:
  boost::asio::awaitable<result<void>> run_startup_hooks();
  boost::asio::awaitable<result<void>> connect_brokers();
  boost::asio::awaitable<result<void>> open_subscriptions();
  boost::asio::awaitable<result<void>> run_after_startup();
  boost::asio::awaitable<void> close_brokers();
  boost::asio::awaitable<void> stop_subscriptions();
  boost::asio::awaitable<void> run_hooks(std::vector<hook_function>& hooks, std::string_view which);
  boost::asio::awaitable<result<void>> shut_down_once();
  void on_connection_event(const std::string& broker, const client::connection_event& event);
  void release_state();
  boost::asio::awaitable<void> wait_until_drained();
  void check_drained();
  void set_health(health_status status, std::string reason = {});

  std::unique_ptr<app_definition> definition_;
  app_loop loop_;
  erased_state state_;
  std::vector<std::shared_ptr<broker_link>> links_;  // in order of registration
  std::vector<std::shared_ptr<subscription_loop>> subscriptions_;
  delivery_observer* observer_ = nullptr;
  std::shared_ptr<log_sink> sink_;
  std::size_t continuations_ = 0;
  std::vector<std::weak_ptr<paused>> pauses_;  // so that a crash ends them
  bool stopping_ = false;
  bool started_ = false;
  std::optional<error> failure_;

  std::shared_ptr<client::detail::operation_state<void>> drained_;  // set while shutdown waits for handlers
  std::vector<std::shared_ptr<client::detail::operation_state<void>>> shutdown_waiters_;
  bool shutdown_running_ = false;
  std::optional<result<void>> shutdown_result_;

  mutable std::mutex mutex_;  // guards what handles of other threads read:
  service::health health_;
  std::vector<std::shared_ptr<client::detail::operation_state<error>>> failure_waiters_;
  std::map<std::string, std::string, std::less<>> degraded_;
};

// The application whose loop this thread is, for log::info() and sleep_for() in handlers.
app_core* current_app();
void set_current_app(app_core* app);

}  // namespace tern::service::detail
