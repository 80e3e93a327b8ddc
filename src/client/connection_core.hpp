// What stands behind a `connection`: the state machine from dialling to closing, the table of interest, requests and
// flushes. It belongs to one loop. From other threads only the outbox and the functions marked so are used; everything
// else reaches the loop as a command of the outbox or as posted work.
//
// Owned by shared pointers: its handles (the last one abandons it), sinks that answer, and work that is posted.
// Invariants: stream_ is there exactly in the phases handshaking (unless stream_opening_ has it) and connected (and
// while closing writes its rest);
// interests_ changes only when commands are carried out, after a dispatch, or at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tern/client/connection.hpp>

#include "base/timer_queue.hpp"
#include "client/message_sink.hpp"
#include "client/outbox.hpp"
#include "client/own_loop.hpp"
#include "client/server_list.hpp"
#include "client/transport/stream_opening.hpp"
#include "protocol/client_parser.hpp"
#include "protocol/info.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

namespace tern::client::detail {

class connection_core : public std::enable_shared_from_this<connection_core> {
 public:
  // The answer to a request, or why there is none. True ends the request.
  using reply_handler = std::move_only_function<bool(result<protocol::message_frame>)>;

  connection_core(runtime::shard& loop, runtime::transport& network, std::shared_ptr<own_loop> own, options with);
  ~connection_core();

  // --- any thread ---
  // The pointer that handles share: when the last of them goes, the connection closes.
  static std::shared_ptr<connection_core> handle_of(const std::shared_ptr<connection_core>& core);

  result<void> publish(std::string_view subject, std::string_view reply, std::string_view header_block,
                       std::string_view payload);
  // Subject and sizes were checked by the caller or are its own.
  result<void> publish_unchecked(std::string_view subject, std::string_view reply, std::string_view header_block,
                                 std::string_view payload) {
    return outbox_.publish(subject, reply, header_block, payload);
  }
  // Whole operations of the protocol, and a command that runs on the loop before they leave. Never waits for room, so
  // it may be called with a lock held that the loop takes too.
  result<void> control(std::string_view bytes, outbox::command command) {
    return outbox_.control(bytes, std::move(command));
  }
  result<void> check_publish(std::string_view subject, std::string_view reply, std::size_t size) const;

  // The handler runs on the loop, at least once, and not after it returned true. An error is not given to the handler.
  result<void> request(std::string_view subject, std::string_view header_block, std::string_view payload,
                       nanoseconds patience, reply_handler handler);
  operation<message> request_message(std::string_view subject, std::string_view header_block, std::string_view payload,
                                     nanoseconds patience);
  operation<void> flush(nanoseconds patience);

  // The id of the interest. The sink is kept until its on_end().
  result<std::uint64_t> subscribe(std::string_view subject, std::string_view queue_group,
                                  std::shared_ptr<message_sink> sink, std::uint64_t max_messages = 0);
  void unsubscribe(std::uint64_t sid, std::uint64_t max_messages = 0);
  // UNSUB now, on_end() when all that was sent before has come.
  operation<void> drain_subscription(std::uint64_t sid);

  operation<void> close();
  operation<void> drain();
  void abandon();  // no handle is left

  connection_state state() const { return state_.load(std::memory_order_acquire); }
  server_info server() const;
  connection_statistics statistics() const;
  const client::options& settings() const { return options_; }
  std::string new_inbox();
  runtime::shard& loop() { return loop_; }
  const void* loop_identity() const { return &loop_; }
  void count_dropped() { dropped_.fetch_add(1, std::memory_order_relaxed); }

  // --- the loop's thread ---
  void start(std::shared_ptr<operation_state<connection>> opening);
  void emit(connection_event event);
  // Once, after that time, or when the connection closes before.
  void after(nanoseconds delay, std::move_only_function<void()> action);
  bool connected() const { return phase_ == phase::connected; }

  // Events of the parser.
  protocol::verdict on_info(std::string_view json);
  protocol::verdict on_message(const protocol::message_frame& message);
  protocol::verdict on_ping();
  protocol::verdict on_pong();
  protocol::verdict on_ok() { return protocol::verdict::go_on; }
  protocol::verdict on_error(std::string_view text);

 private:
  enum class phase { idle, dialling, handshaking, connected, pausing, closing, closed };

  struct interest {
    std::uint64_t sid;
    std::string subject;
    std::string queue_group;
    std::shared_ptr<message_sink> sink;
    std::uint64_t max_messages = 0;
    std::uint64_t received = 0;
    bool draining = false;  // UNSUB was sent, the PONG behind it has not come
  };
  struct pending_request {
    pending_request(connection_core& core, std::uint64_t token, reply_handler handler);
    const std::uint64_t token;
    reply_handler handler;
    time_point deadline{};
    timer_queue::timer timer;
  };
  using flush_handler = std::move_only_function<void(result<void>)>;
  struct pending_flush {
    pending_flush(connection_core& core, flush_handler handler, time_point deadline);
    void finish(result<void> outcome);  // the first time only
    flush_handler handler;
    time_point deadline;
    timer_queue::timer timer;
  };
  class reply_sink;
  struct delayed {
    delayed(connection_core& core, std::uint64_t number, std::move_only_function<void()> work);
    std::move_only_function<void()> action;
    timer_queue::timer timer;
  };

  // Lifecycle (connection_lifecycle.cpp)
  void dial();
  void dialled(std::uint64_t attempt, result<std::unique_ptr<runtime::byte_stream>> outcome);
  // TLS and WebSockets (connection_opening.cpp)
  void open_stream(std::unique_ptr<runtime::byte_stream> fresh);
  void secure_soon();
  void secure_stream();
  void stream_opened(bool greets_now, result<std::unique_ptr<runtime::byte_stream>> outcome);
  void speak(std::unique_ptr<runtime::byte_stream> over);
  result<std::shared_ptr<const runtime::tls_context>> tls_context();
  void greet();
  void established();
  void attempt_failed(error why);
  void lost(error why);
  void pause_before_next_round();
  void on_handshake_timeout();
  void on_ping_timer();
  void begin_close(std::move_only_function<void()> done);
  void finish_close(const error& why);
  void begin_drain(std::shared_ptr<operation_state<void>> waiter);
  void interest_drained(std::shared_ptr<operation_state<void>> waiter);
  void look_at_drain();
  void drop_stream();

  // Bytes (connection_core.cpp)
  void on_readable();
  void flush_outbox();
  bool write_some();
  void carry_out_commands();

  // Requests and interest (connection_requests.cpp)
  result<void> flush(nanoseconds patience, flush_handler handler);
  void ensure_reply_subscription();
  void register_request(std::unique_ptr<pending_request> request);
  void on_reply(const protocol::message_frame& message);
  void on_request_timeout(std::uint64_t token);
  void add_interest(std::unique_ptr<interest> added);
  void remove_interest(std::uint64_t sid, const error& why);
  void end_everything(const error& why);
  void append_resubscriptions(std::string& out) const;
  void permission_denied(std::string_view text);

  // Declared first: the loop outlives everything that stands on it.
  std::shared_ptr<own_loop> own_;
  runtime::shard& loop_;
  runtime::transport& network_;
  const client::options options_;

  outbox outbox_;
  std::atomic<connection_state> state_ = connection_state::connecting;
  std::atomic<std::int64_t> max_payload_ = 1 << 20;
  std::atomic<bool> server_takes_headers_ = true;
  std::atomic<std::uint64_t> next_sid_ = 1;
  std::atomic<std::uint64_t> next_token_ = 1;
  std::atomic<std::uint64_t> in_messages_ = 0;  // written by the loop
  std::atomic<std::uint64_t> in_bytes_ = 0;
  std::atomic<std::uint64_t> reconnects_ = 0;
  std::atomic<std::uint64_t> server_errors_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> next_inbox_ = 1;
  std::string reply_prefix_;  // "_INBOX.<22 characters>.", of all requests
  std::string inbox_prefix_;  // the same for inboxes with an interest of their own
  std::once_flag reply_subscribed_;
  mutable std::mutex server_mutex_;
  server_info server_;  // guarded by server_mutex_

  // The loop's own.
  phase phase_ = phase::idle;
  std::shared_ptr<connection_core> self_;  // until there is a handle
  std::optional<server_list> servers_;
  std::shared_ptr<operation_state<connection>> opening_;
  std::unique_ptr<runtime::shard::hook_handle> turn_end_;
  std::unique_ptr<runtime::byte_stream> stream_;
  std::unique_ptr<stream_opening> stream_opening_;  // has the stream while TLS or an upgrade is on its way
  std::shared_ptr<const runtime::tls_context> tls_context_;
  bool secured_ = false;  // the stream is within TLS
  protocol::client_parser parser_;
  std::vector<char> read_buffer_;
  std::string writing_;
  std::size_t written_ = 0;
  bool write_blocked_ = false;
  std::vector<outbox::command> commands_;
  std::unordered_map<std::uint64_t, std::unique_ptr<interest>> interests_;
  interest* last_interest_ = nullptr;  // of the last message
  std::unordered_map<std::uint64_t, std::unique_ptr<pending_request>> requests_;
  std::unordered_map<std::uint64_t, std::unique_ptr<delayed>> delayed_;
  std::uint64_t next_delayed_ = 1;
  std::deque<std::shared_ptr<pending_flush>> flushes_;  // one per PING on the wire; null: of our own
  std::string last_server_error_;
  bool greeted_ = false;  // CONNECT was sent
  bool was_connected_ = false;
  time_point lost_at_{};
  std::uint32_t pings_out_ = 0;
  timer_queue::timer handshake_timer_;
  timer_queue::timer pause_timer_;
  timer_queue::timer ping_timer_;
  timer_queue::timer close_timer_;
  std::optional<timer_queue::timer> drain_deadline_;
  std::vector<std::move_only_function<void()>> when_closed_;
  std::shared_ptr<operation_state<void>> drain_waiter_;  // set while the drained sinks hand out what they have
  std::vector<std::shared_ptr<message_sink>> drained_;
  std::uint64_t dial_ = 0;  // number of the attempt, against answers of earlier ones
};

}  // namespace tern::client::detail
