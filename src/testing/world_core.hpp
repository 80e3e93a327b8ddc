// What a world is made of: one shard under a paused clock, an in-process network, a server for each broker name.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/host/log.hpp"
#include "runtime/random.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"
#include "server/server.hpp"
#include "service/app_core.hpp"

#include <tern/testing/harness.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tern::testing::detail {

// The log of an application in a test: kept, never printed.
class kept_log final : public service::log_sink {
 public:
  bool enabled(service::log_level) const override { return true; }
  void write(const service::log_record& record) override { records.push_back(record); }
  std::vector<service::log_record> records;
};

// One application and all that it did. Outlives it, for assertions after its end.
class app_record final : public service::detail::delivery_observer {
 public:
  std::string application;
  std::shared_ptr<service::detail::app_core> core;
  std::shared_ptr<kept_log> log;
  std::map<std::string, std::vector<recorded_delivery>, std::less<>> deliveries;  // by subscription
  std::map<std::string, std::vector<std::size_t>, std::less<>> batches;
  std::vector<published_message> published;
  std::optional<result<void>> ended;  // of the shutdown
  bool shutdown_begun = false;
  std::size_t* steps = nullptr;  // of the world's drive

  void on_delivery(std::string_view subscription, const service::context& delivery) override;
  void on_outcome(std::string_view subscription, const service::context& delivery, const service::detail::handled& made,
                  const service::outcome& final, std::string_view settled) override;
  void on_batch(std::string_view subscription, std::size_t size) override;
  std::string history() const;
};

class world_core : public std::enable_shared_from_this<world_core> {
 public:
  explicit world_core(const world_options& with);
  ~world_core();

  struct twin {
    std::unique_ptr<runtime::transport> transport;
    std::unique_ptr<server::server> server;  // null for a real one
    client::connection connection;           // the test's own
  };
  twin& broker(const std::string& name);

  result<std::shared_ptr<app_record>> start(service::app what);
  void settle();
  // Until `condition` holds: without time passing in process, at most ten seconds against a real server.
  void drive(const std::function<bool()>& condition);
  void advance(std::chrono::nanoseconds by);

  // Drives until the operation has its result; throws when it would need time.
  template <class T>
  T need(client::operation<T> operation, std::string_view what) {
    auto done = wait(std::move(operation));
    if (!done) fail_assertion(std::string(what) + ": " + done.error().message());
    return *std::move(done);
  }
  void need(client::operation<void> operation, std::string_view what) {
    auto done = wait(std::move(operation));
    if (!done) fail_assertion(std::string(what) + ": " + done.error().message());
  }
  template <class T>
  result<T> wait(client::operation<T> operation) {
    auto slot = std::make_shared<std::optional<result<T>>>();
    operation.then([slot](result<T> done) { slot->emplace(std::move(done)); });
    drive([&] { return slot->has_value(); });
    if (!*slot)
      return fail(errc::timeout, paused != nullptr ? "no answer without time passing" : "no answer from the server");
    return std::move(**slot);
  }

  // For a real server: until the condition holds or the patience is over. In process the same by the paused clock.
  bool wait_until(const std::function<bool()>& condition, std::chrono::nanoseconds patience);

  const world_options settings;
  const std::unique_ptr<runtime::clock> clock;
  runtime::paused_clock* const paused;  // null against a real server
  runtime::seeded_random randomness;
  runtime::shard shard;
  runtime::pipe_network network;
  std::unique_ptr<runtime::transport> client_transport;
  runtime::host::captured_log server_log;
  std::map<std::string, twin, std::less<>> twins;
  std::vector<std::shared_ptr<app_record>> applications;
  std::size_t steps = 0;

 private:
  bool advance_one(time_point until);
  bool run_live(const std::function<bool()>& condition, std::chrono::nanoseconds patience);
};

}  // namespace tern::testing::detail
