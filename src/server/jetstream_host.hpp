// JetStream inside a server: the store, the engine, and the environment that joins them to the shard and the log.
// Owned by the server, made when JetStream is enabled; one shard.
#pragma once

#include "base/nuid.hpp"
#include "jetstream/engine.hpp"
#include "runtime/disk.hpp"
#include "server/config/options.hpp"
#include "storage/store.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tern::server {

class server;

class jetstream_host {
 public:
  // Opens the store below the store directory of the options and recovers its streams; logs what the peer logs.
  static result<std::unique_ptr<jetstream_host>> create(server& owner, const options& wanted, runtime::disk* disk);
  ~jetstream_host();
  jetstream_host(const jetstream_host&) = delete;
  jetstream_host& operator=(const jetstream_host&) = delete;

  jetstream::engine& engine() { return *engine_; }
  const jetstream::engine& engine() const { return *engine_; }
  storage::store& store() { return *store_; }
  jetstream::environment& surroundings() { return environment_; }
  const jetstream_options& settings() const { return settings_; }  // with the limits that were worked out
  const std::string& directory() const { return directory_; }

  void commit() { store_->commit(); }  // at the end of a turn
  // Gives the accounts JetStream, or their new limits, once they are made; at the start and after a reload.
  void attach_accounts(const security_options& what);
  // A reload: limits that are checked when they are needed.
  void adopt_limits(const jetstream_options& settings);
  // Tells waiting clients, then makes the last state durable.
  void shutdown();

 private:
  jetstream_host(server& owner, jetstream_options settings, std::string directory,
                 std::unique_ptr<storage::store> store);
  void on_sync_timer();
  std::string describe_client() const;
  void log_findings();

  server& owner_;
  jetstream_options settings_;
  std::string directory_;
  std::unique_ptr<storage::store> store_;
  nuid_source ids_;
  jetstream::environment environment_;
  std::unique_ptr<jetstream::engine> engine_;
  // Syncs what the looser durability has only written, and lets the store try a disk again that has refused.
  timer_queue::timer sync_timer_;
  std::size_t findings_logged_ = 0;
  bool running_ = true;
};

// The short name of a server in cluster and stream infos: eight letters and digits.
std::string node_name(std::string_view server_name);
// "64.00 MB", as the peer prints sizes; "unlimited" for a negative one.
std::string friendly_bytes(std::int64_t bytes);

}  // namespace tern::server
