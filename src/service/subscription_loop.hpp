// One subscription of a running application: takes messages when a worker is free, runs the handler, publishes replies,
// settles. The loop's thread. (service 5-10, 14, 15)
#pragma once

#include "base/timer_queue.hpp"
#include "service/app_core.hpp"
#include "service/live_counters.hpp"

#include <tern/client/pull_consumer.hpp>
#include <tern/client/subscription.hpp>
#include <tern/service/subscriber.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tern::service::detail {

// One delivery in work. Reused.
struct delivery_work {
  std::optional<context> delivery;
  handled made;
  std::size_t lane = 0;
  std::optional<outcome> timed_out;
  bool dead_lettered = false;
  bool answered = false;  // the settlement has left: no more +WPI
  boost::asio::cancellation_signal cancel;
  std::unique_ptr<timer_queue::timer> timer;
};

// Where messages come from: a pull stream or a Core subscription.
class message_source {
 public:
  enum class end { goes_on, ended };
  virtual ~message_source() = default;
  virtual std::optional<result<client::message>> try_next() = 0;
  // One at a time; completes with the next item.
  virtual void next(std::function<void(result<client::message>)> then) = 0;
  virtual bool ended() const = 0;
  // The server's side is silent.
  virtual bool degraded() const = 0;
  // Reply subjects of what waits here, not handed out yet.
  virtual std::vector<std::string> waiting_replies() const = 0;
  // Takes the interest back and returns what was not handed out.
  virtual std::vector<client::message> cancel() = 0;
};

class subscription_loop : public std::enable_shared_from_this<subscription_loop> {
 public:
  subscription_loop(app_core& app, std::shared_ptr<broker_link> link, registration& what,
                    failure_action on_decode_failure, failure_action on_panic);
  ~subscription_loop();

  const std::string& name() const { return what_.options.name; }
  const registration& description() const { return what_; }
  broker_link& link() { return *link_; }
  subscription_counters counters() const { return counters_.snapshot(); }  // any thread
  std::size_t running() const { return running_; }
  bool busy() const { return running_ != 0; }

  // Creates or binds the consumer, subscribes, confirms; then messages may arrive.
  boost::asio::awaitable<result<void>> open();
  // Takes no more; what was not begun goes back to the server at once (NAK). Handlers that run go on.
  void stop_taking();
  void cancel_handlers();  // shutdown timeout
  void abandon();          // the process dies, as far as the broker can tell

  std::pair<publisher, const destination*> slot(std::type_index slot) const;

 private:
  // --- taking (subscription_loop.cpp) ---
  void pump();
  void pump_later();
  void wait_for_next();
  void take(client::message&& received);
  bool start_or_hold(client::message&& received);
  void start(client::message&& received, std::size_t lane);
  void end_waits();
  void on_item_error(const error& problem);
  void look_at_health();
  void on_source_ended();
  boost::asio::awaitable<void> recreate();
  std::size_t lane_of(const client::message& received);
  boost::asio::awaitable<void> run_batches(std::uint64_t opening);
  boost::asio::awaitable<std::vector<client::message>> gather();
  boost::asio::awaitable<std::vector<client::message>> fetch(const jetstream_consumer& from);
  boost::asio::awaitable<bool> arrival(std::optional<time_point> until);
  boost::asio::awaitable<void> handle_batch(std::vector<client::message> received);
  void give_back(const client::message& received);

  // --- one delivery (delivery.cpp) ---
  boost::asio::awaitable<void> run(std::shared_ptr<delivery_work> work);
  boost::asio::awaitable<void> run_handler(std::shared_ptr<delivery_work> work);
  void end(delivery_work& work);
  bool can_settle_now(const delivery_work& work) const;
  void settle_now(delivery_work& work);
  boost::asio::awaitable<void> settle_later(delivery_work& work);
  outcome decide(delivery_work& work);             // failure policies (9)
  bool publish_core_replies(delivery_work& work);  // false: failed, the outcome is retry now
  boost::asio::awaitable<bool> publish_replies(delivery_work& work);
  client::headers reply_headers(const delivery_work& work, std::size_t target, std::string_view content_type) const;
  bool past_cap(const delivery_work& work) const;
  boost::asio::awaitable<void> give_up(delivery_work& work, std::string_view reason);
  outcome with_backoff(const delivery_work& work, outcome how) const;
  void send_settlement(delivery_work& work);
  boost::asio::awaitable<void> send_settlement_confirmed(delivery_work& work);
  void settled(delivery_work& work, std::string_view how);
  void note_settled(const delivery_work& work);
  std::string term_body(const outcome& how) const;
  void settle_core(delivery_work& work);
  void schedule_copy(const context& delivery, std::chrono::nanoseconds delay);
  void note_settle_failure(const context& delivery, const error& why);
  void warn_unsupported(const context& delivery, const outcome& how);
  void spawn_continuations(const delivery_work& work);
  void count(const delivery_work& work);

  // --- opening (opening.cpp) ---
  boost::asio::awaitable<result<void>> open_jetstream(const jetstream_consumer& from);
  boost::asio::awaitable<result<void>> open_core(const std::string& subject, const std::string& queue_group);
  boost::asio::awaitable<result<void>> ensure_consumer(const jetstream_consumer& from);
  boost::asio::awaitable<result<void>> choose_reply_routes();
  boost::asio::awaitable<result<void>> check_dead_letter();
  boost::asio::awaitable<result<void>> watch_max_deliveries(const jetstream_consumer& from);
  boost::asio::awaitable<void> dead_letter_by_sequence(std::uint64_t sequence, std::uint64_t deliveries);
  result<void> begin_taking();
  void keep_alive_tick();

  app_core& app_;
  std::shared_ptr<broker_link> link_;
  registration& what_;
  failure_action on_decode_failure_, on_panic_;
  live_counters counters_;
  std::unique_ptr<message_source> source_;
  std::string consumer_;  // the name that the server knows
  bool knows_term_reason_ = true;
  std::uint64_t highest_settled_ = 0;  // where an ephemeral is made again
  std::vector<bool> reply_confirmed_;  // per reply target: into a stream

  std::size_t running_ = 0;
  bool taking_ = false;
  bool waiting_ = false;  // a next() is outstanding
  bool pump_posted_ = false;
  std::deque<client::message> held_;  // taken from the source, not begun
  struct lane {
    bool busy = false;
    std::optional<client::message> next;
  };
  std::vector<lane> lanes_;
  std::size_t next_lane_ = 0;
  std::vector<std::shared_ptr<delivery_work>> in_work_;
  std::vector<std::shared_ptr<delivery_work>> idle_work_;
  std::unique_ptr<timer_queue::timer> keep_alive_timer_;
  std::vector<std::unique_ptr<timer_queue::timer>> copies_;                // delayed copies that are not due
  std::map<std::uint64_t, std::chrono::nanoseconds> dead_letter_backoff_;  // by stream sequence, while publishing fails
  std::map<std::uint64_t, std::function<void()>> gathering_;               // ends the waits of batch workers
  std::uint64_t next_wait_ = 0;
  std::uint64_t opening_ = 0;  // how often it was opened; older batch workers end
  std::vector<std::weak_ptr<client::detail::operation_state<void>>>
      arrivals_;                                      // batch workers that wait for a Core message
  std::unique_ptr<timer_queue::timer> health_timer_;  // while the server's side is silent
  std::optional<client::subscription> advisories_;
  time_point warned_at_{};
  std::uint64_t warnings_suppressed_ = 0;
  bool warned_ = false;
};

}  // namespace tern::service::detail
