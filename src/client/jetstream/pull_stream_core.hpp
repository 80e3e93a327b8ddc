// The engine behind a pull stream (service 16): keeps pull requests open so that between half a batch and one and a
// half are outstanding, and finds out when the server has forgotten them.
//
// `pending_` counts messages that were asked for and not handed out yet; those in `items_` are among them. What hands
// out a message may be any thread, so the counters, the items and the decision to ask again are under the mutex.
// Timers, the consumer's info and statuses belong to the loop. The callback runs on the loop, without the mutex.
//
// Owned by its handle and by the connection's table of interest, until cancel() or the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include <tern/client/pull_consumer.hpp>

#include "base/timer_queue.hpp"
#include "client/connection_core.hpp"
#include "client/jetstream/pull_request.hpp"
#include "client/message_sink.hpp"

namespace tern::client::detail {

class pull_stream_core final : public message_sink, public std::enable_shared_from_this<pull_stream_core> {
 public:
  pull_stream_core(std::shared_ptr<connection_core> connection, const std::string& api_prefix,
                   const std::string& stream, const std::string& consumer, const pull_options& with,
                   pull_stream::callback callback);

  // --- any thread ---
  result<void> open();  // SUB; with a callback also the first request
  operation<jetstream_message> next();
  std::optional<pull_stream::item> try_next();
  bool ended() const;
  bool degraded() const;
  std::size_t buffered() const;
  pull_statistics statistics() const;
  std::vector<jetstream_message> cancel();
  std::vector<std::string> waiting_replies() const;
  void abandon();  // the handle goes: no callback runs after this

  // --- the loop's thread ---
  void on_message(const protocol::message_frame& frame) override;
  void on_end(const error& why) override;
  void on_disconnected() override;
  void on_reconnected() override;

 private:
  using lock = std::unique_lock<std::mutex>;
  enum class counting { add, set };  // a request adds its batch to what is pending, or replaces what had been

  void begin(lock& held);
  void ask(lock& held, counting how);
  void ask_if_low(lock& held);
  void request_left();  // the loop: timers of a request
  std::optional<pull_stream::item> take(lock& held);
  void deliver(message received);
  void report(error problem, bool last = false);
  void end_with(error why);
  void on_status(const pull_status_report& status);
  void subtract(const pull_status_report& status);
  void ask_again_after_trouble();
  void on_silence();
  void on_safety();

  // What became of the consumer, asked after a missed heartbeat, a 503 or a reconnect.
  void recover(bool after_reconnect);
  void ask_info();
  void on_info(std::uint64_t epoch, result<std::string_view> answer);
  void info_failed(const error& why);
  void recovered(counting how);

  std::shared_ptr<connection_core> connection_;
  const pull_options with_;
  const std::string info_subject_;
  const std::string inbox_;
  const std::string request_;  // the whole PUB
  const std::string name_;     // "stream/consumer", for errors
  std::uint64_t sid_ = 0;

  mutable std::mutex mutex_;
  std::deque<std::variant<message, error>> items_;
  std::size_t buffered_ = 0;  // messages among the items
  std::size_t errors_ = 0;    // errors among them
  std::int64_t pending_ = 0;
  std::int64_t pending_bytes_ = 0;
  bool begun_ = false;
  bool ended_ = false;  // nothing will be added to the items
  bool connected_ = true;
  bool recovering_ = false;    // requests are held back meanwhile
  bool holding_back_ = false;  // after trouble, for a pause
  bool degraded_ = false;
  std::optional<error> end_;
  pull_statistics statistics_;
  std::shared_ptr<operation_state<jetstream_message>> waiter_;

  // The loop's own.
  pull_stream::callback callback_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> calling_ = false;
  time_point heard_at_{};
  time_point asked_at_{};
  std::uint32_t troubles_ = 0;  // statuses in a row that ended a request without a message or heartbeat between
  bool after_reconnect_ = false;
  std::uint32_t info_tries_ = 0;
  std::uint64_t recovery_ = 0;  // number of the recovery, against answers that come late
  timer_queue::timer silence_timer_;
  timer_queue::timer safety_timer_;
  timer_queue::timer pause_timer_;
  timer_queue::timer info_timer_;
};

}  // namespace tern::client::detail
