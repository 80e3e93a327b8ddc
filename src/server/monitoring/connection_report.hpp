// What /connz tells about a connection: taken from an open one when asked for, kept for a closed one (core 5.2).
#pragma once

#include "runtime/tls/tls_stream.hpp"
#include "server/server_context.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tern::server {

struct subscription_report {
  std::string subject, queue, sid;
  std::uint64_t delivered = 0, maximum = 0, connection = 0;
};

struct connection_report {
  std::uint64_t id = 0;
  std::string ip;
  int port = 0;
  bool in_process = false;
  time_point start{}, last_activity{};
  std::optional<time_point> stop;
  std::optional<close_reason> reason;
  nanoseconds round_trip{0};
  std::size_t pending_bytes = 0;
  traffic counts;
  std::uint64_t stalls = 0;
  std::size_t subscription_count = 0;
  std::string name, language, version;
  std::string account, user;  // user: as it may be shown
  std::optional<runtime::tls_facts> tls;
  bool tls_first = false;
  bool websocket = false;
  std::vector<subscription_report> subscriptions;
};

// Of a closed connection only so many subscriptions are kept, of an open one all are shown.
inline constexpr std::size_t closed_subscriptions_max = 256;

connection_report report_on(const connection& what, std::size_t subscriptions_max);

// The newest closed connections, at most `capacity`; the older ones forget their subscriptions when those of all would
// take more than `subscription_bytes_max`. One shard.
class closed_connections {
 public:
  static constexpr std::size_t subscription_bytes_max = 16 << 20;

  explicit closed_connections(std::size_t capacity) : capacity_(capacity) {}
  void add(connection_report what);
  const std::deque<connection_report>& all() const { return kept_; }

 private:
  std::size_t capacity_;
  std::deque<connection_report> kept_;
  std::size_t subscription_bytes_ = 0;
  std::size_t forgotten_ = 0;  // so many of the oldest have no subscriptions left
};

}  // namespace tern::server
