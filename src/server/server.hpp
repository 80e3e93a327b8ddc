// The server: listeners, connections, the account, JetStream, monitoring, and the end of each turn. Embeddable: it
// lives on its owner's shard and starts no thread.
//
// One shard. Life: create(), start(), then stop() or lame_duck(); destroy before the shard.
#pragma once

#include "runtime/disk.hpp"
#include "runtime/host/process.hpp"
#include "runtime/measured_disk.hpp"
#include "runtime/transport.hpp"
#include "runtime/worker_pool.hpp"
#include "server/config/reload_plan.hpp"
#include "server/connection/connection.hpp"
#include "server/monitoring/connection_report.hpp"
#include "server/server_context.hpp"
#include "server/server_identity.hpp"
#include "server/transport/listener_reload.hpp"
#include "server/transport/listening.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tern::jetstream {
class engine;
}

namespace tern::server {

class account_setup;
class authenticator;
class jetstream_host;
class monitor;
class leaf_door;
class websocket_door;
class system_services;

// What a server runs on. All of it outlives the server; `network`, `in_process` and `disk` may be null.
struct server_environment {
  runtime::shard& loop;
  runtime::transport* network = nullptr;
  runtime::transport* in_process = nullptr;
  runtime::disk* disk = nullptr;
  runtime::host::logger& log;
  std::size_t worker_threads = 0;                   // for slow work; 0: it is done on the loop, as tests want it
  const runtime::disk_waits* disk_waits = nullptr;  // of `disk`; null: nobody measures
  option_source* configuration = nullptr;           // for reloads; null: there are none
};

class server final : private connection_owner {
 public:
  static result<std::unique_ptr<server>> create(server_environment surroundings, options settings);
  ~server() override;
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Logs the start-up lines, opens the store and the listeners. After an error the server is only to be destroyed.
  result<void> start();
  // Closes everything and makes JetStream's last state durable. No more events run.
  void stop();
  // Stops accepting, waits, closes the clients one by one; `done` is called when the server may be stopped (core 2.12).
  void enter_lame_duck(std::move_only_function<void()> done);

  // Reads the options again and adopts them, all or nothing (core 4.4); logs what changed or why not. Between two
  // turns of a connection: from an event of its own.
  result<void> reload();
  result<void> apply(options next);
  // The part lives as long as the server.
  void add_reload_participant(reload_participant& part) { participants_.push_back(&part); }

  // Cuts every connection and refuses new ones until resume(); streams and consumers stay. For tests of what clients
  // do.
  void suspend();
  result<void> resume();

  const options& settings() const { return settings_; }
  const std::string& id() const { return identity_.id; }
  std::string new_id() { return context_.ids.next(); }  // of an event
  const server_identity& identity() const { return identity_; }
  const std::string& name() const { return settings_.server_name; }
  // Where clients and monitoring reach it, once started.
  const runtime::endpoint* client_endpoint() const { return listener_ ? &listener_->local() : nullptr; }
  const runtime::endpoint* monitor_endpoint() const;
  const runtime::endpoint* websocket_endpoint() const;
  const runtime::endpoint* leafnode_endpoint() const;
  routing::account& global_account() { return context_.global_account; }
  jetstream::engine* jetstream();

  // --- for monitoring ---
  runtime::shard& loop() { return context_.loop; }
  const server_context& context() const { return context_; }
  server_context& context() { return context_; }
  const std::map<std::uint64_t, std::unique_ptr<connection>>& connections() const { return connections_; }
  const monitor* http_monitor() const { return monitor_.get(); }
  const closed_connections& closed() const { return closed_; }
  std::uint64_t total_connections() const { return total_connections_; }
  time_point started() const { return started_; }
  time_point config_loaded() const { return config_loaded_; }
  // Percent of one core over the last second or more.
  double processor_percent();
  runtime::disk_waits disk_waits() const {
    return surroundings_.disk_waits != nullptr ? *surroundings_.disk_waits : runtime::disk_waits{};
  }
  bool accepting() const { return accepting_; }
  runtime::handshake_gate& tls_handshakes() { return tls_handshakes_; }
  const std::string& curve_key() const { return identity_.curve_key; }
  const authenticator& logins() const { return *logins_; }
  jetstream_host* jetstream_services() { return jetstream_.get(); }
  runtime::host::logger& log() { return surroundings_.log; }

 private:
  server(server_environment surroundings, options settings);

  protocol::server_info base_info() const;
  void append_info(std::string& out, const connection& to, bool after_connect) override;
  void on_connected(connection& what) override;
  void publish_trace(const connection& of, const message_trace& what) override;
  void on_closing(connection& what, close_reason why) override;
  void on_finished(connection& what) override;

  void log_banner();
  // Accounts and users, as the options have them.
  void adopt_security();
  result<void> open_listeners();
  result<void> open_client_listeners(const std::function<void(std::unique_ptr<runtime::byte_stream>)>& accepts);
  void close_listeners();
  void accept(std::unique_ptr<runtime::byte_stream> stream);
  void admit(std::unique_ptr<runtime::byte_stream> stream, std::unique_ptr<connection_front> front,
             std::int64_t rate_limit);
  void end_turn();
  void close_next_lame_duck_client();
  result<std::unique_ptr<jetstream_host>> prepare_jetstream(const options& before, const options& after);
  void adopt_jetstream(const options& before, std::unique_ptr<jetstream_host> made);
  void close_excess_connections();

  server_environment surroundings_;
  options configured_;  // as asked for
  options settings_;    // in force; what was left open is filled in. Changes between two turns only
  listener_reload listener_reload_;
  std::vector<reload_participant*> participants_{&listener_reload_};
  server_identity identity_;
  time_point started_{}, config_loaded_{}, processor_seen_{};
  runtime::host::processor_usage processor_;
  double processor_percent_ = 0;
  server_context context_;
  runtime::handshake_gate tls_handshakes_;
  rate_limit tls_rate_;
  std::unique_ptr<system_services> system_;
  runtime::worker_pool workers_;
  std::unique_ptr<account_setup> setup_;
  std::unique_ptr<authenticator> logins_;
  std::unique_ptr<jetstream_host> jetstream_;
  std::unique_ptr<monitor> monitor_;
  std::unique_ptr<runtime::listener> listener_, in_process_listener_;
  std::vector<std::unique_ptr<runtime::listener>> more_listeners_;
  std::unique_ptr<websocket_door> websocket_;
  std::unique_ptr<leaf_door> leafnodes_;
  std::map<std::uint64_t, std::unique_ptr<connection>> connections_;  // open
  std::map<std::uint64_t, std::unique_ptr<connection>> ending_;       // lingering or finished
  std::vector<std::uint64_t> finished_;                               // of ending_, to be destroyed
  closed_connections closed_;
  std::uint64_t next_id_ = 0;
  std::uint64_t total_connections_ = 0;
  std::uint64_t closings_ = 0;
  bool accepting_ = false;
  std::move_only_function<void()> lame_duck_done_;
  nanoseconds lame_duck_interval_{0};
  timer_queue::timer lame_duck_timer_;
  std::unique_ptr<runtime::shard::hook_handle> turn_end_;
};

}  // namespace tern::server
