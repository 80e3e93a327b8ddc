// The system account's side of a server (core 6): answers what is asked below `$SYS.REQ`, in the system account and, as
// far as they may ask, in the others; publishes what happens. Owned by the server; one shard.
//
// Requests are answered at the end of the turn in which they came, never in the middle of a delivery. Bounded: so many
// wait in a turn, more are dropped as the peer drops what its queue cannot take.
#pragma once

#include "routing/account.hpp"
#include "server/connection/close_reason.hpp"
#include "server/system/system_requests.hpp"

#include "base/timer_queue.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

class connection;
class json_builder;
class message_trace;
class server;

class system_services {
 public:
  static constexpr std::size_t waiting_max = 4096;

  // `system` lives as long as this.
  system_services(server& owner, routing::account& system);
  ~system_services();
  system_services(const system_services&) = delete;
  system_services& operator=(const system_services&) = delete;

  // What the clients of an account may ask about themselves. Also for the system account itself.
  void serve(routing::account& account);
  void forget(routing::account& account);

  // Answers what has come; called at the end of each turn, before output is written.
  void run_waiting();

  // In the account of who asked for the trace.
  void publish_trace(routing::account& in, const message_trace& what);

  // --- events ---
  void connected(const connection& who);
  void disconnected(const connection& who, close_reason why);
  // A connection that was never admitted.
  void refused(const connection& who, close_reason why);
  void entering_lame_duck();
  void shutting_down();

 private:
  class listener;
  struct request {
    std::function<service_answer()> answer;
    routing::account* in = nullptr;
    std::string reply, headers;
    std::string_view data_key = "data";
    bool may_be_packed = true;
    bool broadcast_without_reply = false;
  };

  void listen(routing::account& on, std::string subject, std::function<void(const routing::message&)> take);
  void listen_to_server_services();
  void listen_to_account_services();
  void wait(request what);
  void answer(const request& what);
  void publish(std::string_view subject, const std::string& json);
  void send(routing::account& in, const routing::message& what);
  std::string connection_event(const connection& who, const close_reason* why);
  void publish_connection_event(const connection& who, const close_reason* why, const std::vector<std::string>& to);
  void publish_account_connections(std::string_view account);
  std::string account_connections_event(std::string_view account);
  void publish_statsz();
  void on_statsz_timer();
  void on_heartbeat();
  std::string server_info_alone();

  server& owner_;
  routing::account& system_;
  std::vector<std::unique_ptr<listener>> listeners_;
  std::deque<request> waiting_;
  std::uint64_t sequence_ = 0;
  nanoseconds statsz_interval_;
  time_point asked_for_statsz_{};
  timer_queue::timer statsz_timer_, heartbeat_;
};

}  // namespace tern::server
