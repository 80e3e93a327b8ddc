// JetStream of one shard: the accounts that have it, their streams, and the API. The server that embeds it owns it,
// hands it an environment, attaches accounts and forwards nothing: messages reach it through the accounts' interest.
//
// Life: construct; attach() every account; recover(); serve; shutdown(); destroy, before accounts, store and timers.
// One shard. (jetstream 1, 2, 20, 22)
#pragma once

#include "jetstream/environment.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class stream;

// What is stored and reserved, and how often the API was called: of one account or of all together.
struct usage {
  std::uint64_t streams = 0, consumers = 0, messages = 0, bytes = 0;
  std::uint64_t memory = 0, storage = 0;  // bytes in memory streams and in file streams
  std::uint64_t reserved_memory = 0, reserved_storage = 0;
  std::uint64_t api_total = 0, api_errors = 0;
};

// For /jsz?accounts=1.
struct account_usage {
  std::string account;
  account_limits limits;
  usage used;
};

// For /healthz and the log: streams that are there but cannot be served (22).
struct unavailable_stream {
  std::string account, name, reason;
};

class engine {
 public:
  explicit engine(environment& surroundings);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // --- accounts ---
  // Gives the account JetStream, or new limits when it has it. Its API answers from now on; streams of it that the
  // store holds are opened at once when recover() has run already.
  void attach(routing::account& account, const account_limits& limits = {});
  // The API of an account without JetStream: every operation answers 10039 (1.4).
  void attach_disabled(routing::account& account);
  // Before the account goes: its streams close, their data stays.
  void detach(routing::account& account);
  bool attached(std::string_view account) const;

  // --- life ---
  // Opens the streams and consumers of the store. Before listeners open.
  void recover();
  // `409 Server Shutdown` to waiting pulls; then no stream takes or answers anything. The store is closed by its owner.
  void shutdown();

  // --- monitoring ---
  usage total() const;
  std::vector<account_usage> accounts() const;  // sorted by name
  std::vector<unavailable_stream> unavailable() const;
  const stream* find_stream(std::string_view account, std::string_view name) const;
  // In the order of their names.
  void for_each_stream(std::string_view account, const std::function<void(const stream&)>& visit) const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace tern::jetstream
