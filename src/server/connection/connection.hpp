// One client: its protocol state, its subscriptions, its output (core 1, 2). Reads without keeping a buffer, parses in
// place, and lets output gather until the server flushes it at the end of the turn.
//
// Owned by the server; one shard. Life: open; then lingering, while the last output goes out and what the client still
// sends is swallowed, so that it can read why it was closed; then finished. Invariants: only an open connection has
// subscriptions; the output queue owns no block when nothing waits; on_closing() is called exactly once.
#pragma once

#include "protocol/connect.hpp"
#include "protocol/server_parser.hpp"
#include "runtime/transport.hpp"
#include "server/connection/subscription_table.hpp"
#include "server/security/authenticator.hpp"
#include "server/server_context.hpp"
#include "server/transport/connection_front.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tern::server {

class connection final : public routing::receiver {
 public:
  // `front`: what is between the stream and bare TCP; may be null.
  connection(server_context& server, std::uint64_t id, std::unique_ptr<runtime::byte_stream> stream,
             std::unique_ptr<connection_front> front = nullptr);
  ~connection() override;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Sends INFO and begins to read.
  void start();
  // Sends INFO and the error, and ends.
  void refuse_too_many();
  void refuse_throttled();

  // --- routing ---
  bool deliver(routing::subscription& to, const routing::message& what) override;

  // --- the server's side ---
  void flush();
  void send_lame_duck_info();
  void close(close_reason why);
  // The same after a last word to the client.
  void close_with_error(std::string_view text, close_reason why);
  // Users and accounts have changed: closes it when it would not be admitted so any more.
  void review_login();
  // The options have changed.
  void adopt_settings();
  // Drops everything at once, without another word.
  void abandon();
  // The receiver that this publisher waits for has room again.
  void resume_stalled(const connection* receiver);

  // --- what monitoring shows ---
  std::uint64_t id() const { return id_; }
  // Who it is, once it has told; before that who it claimed to be, if anybody.
  const std::string& user() const { return rights_ ? rights_->who.user : claimed_user_; }
  const std::string& nonce() const;
  const auth::permissions* permissions() const { return rights_ ? rights_->who.permissions.get() : nullptr; }
  std::int64_t max_payload() const { return limit(server_.settings.max_payload, account_->limits.max_payload); }
  account_state& account() const { return *account_; }
  bool connected() const { return connected_; }
  bool open() const { return phase_ == phase::open; }
  bool finished() const { return phase_ == phase::finished; }
  const runtime::endpoint& peer() const;
  const connection_facts* facts() const { return front_ ? &front_->facts() : nullptr; }  // null: bare TCP or a pipe
  bool address_is_known() const { return !front_ || front_->address_is_known(); }
  const std::string& name() const { return identity_.name; }
  const std::string& language() const { return identity_.language; }
  const std::string& version() const { return identity_.version; }
  time_point started() const { return started_; }
  time_point last_activity() const { return last_activity_; }
  nanoseconds round_trip() const { return round_trip_; }
  std::size_t pending_bytes() const { return output_.size(); }
  const traffic& counts() const { return counts_; }
  std::uint64_t stalls() const { return stalls_; }
  const subscription_table& subscriptions() const { return subscriptions_; }
  bool told_to_leave() const { return told_to_leave_; }
  bool wants_async_info() const { return protocol_ >= 1 && first_pong_sent_; }

 private:
  friend class protocol::server_parser;
  friend class connection_front;
  enum class phase : std::uint8_t { open, lingering, finished };
  using verdict = protocol::verdict;

  // --- reading ---
  void begin_protocol(std::string_view already_read);
  void refuse(std::string_view error);
  void on_readable();
  void process(std::string_view bytes);
  void swallow();

  // --- operations (called by the parser) ---
  verdict on_connect(std::string_view json);
  verdict on_publish_start(const protocol::message_head& head);
  verdict on_publish(const protocol::message_frame& message);
  verdict on_subscribe(std::string_view subject, std::string_view queue, std::string_view sid);
  verdict on_unsubscribe(std::string_view sid, std::uint64_t max);
  verdict on_ping();
  verdict on_pong();
  verdict on_ok() { return verdict::go_on; }
  verdict on_error(std::string_view text);
  verdict on_info(std::string_view json);
  bool on_gated_operation(char);

  bool accept_connect(const protocol::connect_options& asked);

  // --- who it is (connection_login.cpp) ---
  void prepare_login();
  verdict log_in(protocol::connect_options asked);
  verdict finish_login(authenticator::outcome who);
  void resume_after_login(authenticator::outcome who);
  void adopt(admission who);
  void refuse_login(close_reason why);
  void leave_account();
  void drop_forbidden_subscriptions();
  std::int64_t subscriptions_max() const;  // -1: no limit
  bool has_permission_to_publish(std::string_view subject);
  bool has_permission_to_subscribe(std::string_view subject, std::string_view queue, std::string_view sid,
                                   bool& in_part);
  bool may_receive(const routing::subscription& to, const routing::message& what);
  static std::int64_t limit(std::int64_t server, std::int64_t account) {
    return account < 0 ? server : server < 0 ? account : std::min(server, account);
  }

  bool may_publish(std::string_view subject, std::string_view reply);
  void route(const protocol::message_frame& message, std::string_view subject);
  void answer_no_responders(const protocol::message_frame& message);
  void remove(routing::subscription& what);
  void remove_all_subscriptions();

  // --- output ---
  void send(std::string_view bytes);
  void send_ok();
  void send_error(std::string_view text);
  void send_info(bool after_connect);
  bool is_traced(const routing::subscription& to, const routing::message& what);
  void write_message(routing::subscription& to, const routing::message& what, std::string_view headers);
  void write_shared(std::string_view headers, std::string_view payload);
  void mark_dirty();
  void after_append();
  void begin_batch();
  void on_write_deadline();
  void on_write_failed();
  void on_writable();

  // --- timers ---
  nanoseconds ping_interval() const;
  void on_ping_timer();
  void stall();
  void end_stall();
  void end_linger();
  void finish();

  // --- log ---
  std::string label() const;
  void debug(std::string_view text) const;
  void trace(std::string_view arrow, std::string_view text) const;
  void trace_payload(std::string_view arrow, std::string_view headers, std::string_view payload) const;

  // While a login is awaited.
  struct login_state {
    explicit login_state(connection& self)
        : patience(self.server_.loop.timers(),
                   [&self] { self.close_with_error("Authentication Timeout", close_reason::authentication_timeout); }),
          self(std::make_shared<connection*>(&self)) {}
    timer_queue::timer patience;
    std::string nonce;
    protocol::connect_options asked;
    bool anybody = false;  // it need not say who it is
    bool pending = false;  // the answer comes in a later turn
    bool at_once = false;  // it is being asked for
    std::optional<authenticator::outcome> answer;
    std::string held;                   // input that came meanwhile
    std::shared_ptr<connection*> self;  // for the answer, which may come too late
  };
  // Of a client that is somebody in particular.
  struct rights {
    admission who;
    std::string nonce;  // of its challenge, for a second CONNECT
    struct response {
      std::int64_t used = 0;
      time_point expires{};
    };
    std::unordered_map<std::string, response> responses;  // reply subjects that it may answer to (core 3.3)
  };
  struct identity {
    std::string name, language, version;
  };
  // Only while something is wrong: the peer does not read, or it reads from one that does not.
  struct trouble {
    trouble(connection& self)
        : deadline(self.server_.loop.timers(), [&self] { self.on_write_deadline(); }),
          pause(self.server_.loop.timers(), [&self] { self.end_stall(); }) {}
    timer_queue::timer deadline;  // of a write, or of lingering
    timer_queue::timer pause;     // of reading
    std::size_t batch_total = 0, batch_left = 0, batch_pieces = 0;
    time_point batch_began{};  // a write in the same turn, just before the socket was full, belongs to it
    std::string held;          // input that was read before the pause
    const connection* receiver = nullptr;
    std::size_t swallowed = 0;
  };
  trouble& in_trouble();

  server_context& server_;
  account_state* account_;  // $G until it has told who it is
  const std::uint64_t id_;
  std::unique_ptr<runtime::byte_stream> stream_;
  std::unique_ptr<connection_front> front_;
  output_queue output_;
  protocol::server_parser parser_;
  subscription_table subscriptions_;
  identity identity_;
  traffic counts_;
  timer_queue::timer ping_timer_;
  std::unique_ptr<trouble> trouble_;
  std::unique_ptr<login_state> login_;
  std::unique_ptr<rights> rights_;  // null: nobody in particular, who may do everything
  std::string claimed_user_;

  const time_point started_;
  time_point last_activity_;
  time_point last_ping_from_client_{};
  time_point ping_sent_at_{};
  time_point last_write_at_{};
  time_point round_trip_at_{};  // epoch: never measured
  nanoseconds round_trip_{0};
  std::uint64_t stalls_ = 0;
  int pings_outstanding_ = 0;
  int protocol_ = 0;

  phase phase_ = phase::open;
  bool verbose_ = true, pedantic_ = true, echo_ = true;  // of a client that never sends CONNECT (core 1.2)
  bool headers_ = false, no_responders_ = false;
  bool counted_ = false;    // among the connections of its account
  bool connected_ = false;  // CONNECT came
  bool first_pong_sent_ = false;
  bool told_to_leave_ = false;  // the lame duck INFO was sent
  bool dirty_ = false;
  bool blocked_ = false;      // waits for the socket to take more
  bool stalled_ = false;      // reading is paused
  bool stall_spent_ = false;  // the piece of input at hand has waited once
  bool input_ended_ = false;
  bool output_failed_ = false;  // the peer takes nothing any more; what it has sent is still read
};

}  // namespace tern::server
