// What the JetStream engine is given by the server that embeds it. No sockets, threads or clocks of its own.
#pragma once

#include "base/nuid.hpp"
#include "base/time_zone.hpp"
#include "base/timer_queue.hpp"
#include "routing/account.hpp"
#include "storage/store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tern::jetstream {

struct limits {
  std::int64_t max_memory = -1;   // bytes reserved or used by memory streams; -1: unlimited
  std::int64_t max_storage = -1;  // the same for file streams
  std::int64_t max_ack_pending = -1;
  std::int64_t max_request_batch = -1;
  nanoseconds duplicate_window{0};  // 0: no limit
};

// What one account may use; -1: unlimited (jetstream 20.1).
struct account_limits {
  std::int64_t max_memory = -1;
  std::int64_t max_storage = -1;
  std::int64_t max_streams = -1;
  std::int64_t max_consumers = -1;
  std::int64_t max_ack_pending = -1;
  std::int64_t memory_max_stream_bytes = -1;
  std::int64_t storage_max_stream_bytes = -1;
  bool max_bytes_required = false;
  friend bool operator==(const account_limits&, const account_limits&) = default;
};

// Bounds of atomic batches (jetstream 5.10).
struct batch_limits {
  std::uint64_t max_inflight_per_stream = 50;
  std::uint64_t max_inflight_total = 1000;
  std::uint64_t max_messages = 1000;
  nanoseconds timeout = std::chrono::seconds(10);
};

struct options {
  std::string server_name;
  std::string server_id;
  std::string version = "2.15.1";  // what clients choose features by
  int api_level = 5;
  std::string domain;           // empty: none
  std::string store_directory;  // for log lines and infos
  bool strict = true;           // unknown JSON fields are refused (jetstream 1.5)
  limits server_limits;
  batch_limits batches;
  storage::durability durability = storage::durability::synced;
  std::size_t max_buffered_messages = 100'000;              // publishes of one stream that wait for the disk (5.3)
  std::size_t max_buffered_bytes = std::size_t{128} << 20;  // the same in bytes
  std::int64_t max_payload = 1 << 20;                       // the server's, where a stream has no smaller one
};

// Follows the publish that is being routed (core 7.3).
class publish_observer {
 public:
  virtual ~publish_observer() = default;
  // A stream would take it; false: it must not.
  virtual bool reached_stream(std::string_view stream, std::string_view subject, time_point at) = 0;
  virtual void refused_by_stream(std::string_view stream, std::string_view why) = 0;
};

// Lives as long as the engine.
struct environment {
  options settings;
  storage::store& store;
  timer_queue& timers;
  nuid_source& ids;
  std::function<time_point()> now;        // of the turn at hand
  std::function<void(std::string)> warn;  // a log line
  // JSON object that describes the client whose publish is being routed (start, host, id, acc, ...), for API audits.
  // May be empty, as may its answer.
  std::function<std::string()> describe_client = {};
  // Where the observer of the publish that is being routed stands, if there is one; null: never.
  publish_observer* const* observer = nullptr;
  // By IANA name, or null: for message schedules (jetstream 5.9). May be empty.
  std::function<std::shared_ptr<const time_zone>(std::string_view)> find_time_zone = {};
};

}  // namespace tern::jetstream
