// What /connz tells about a connection: taken from an open one when asked for, kept for a closed one (core 5.2).
#pragma once

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
  std::vector<subscription_report> subscriptions;
};

// Of a closed connection only so many subscriptions are kept, of an open one all are shown.
inline constexpr std::size_t closed_subscriptions_max = 256;

connection_report report_on(const connection& what, std::size_t subscriptions_max);

// The newest closed connections, at most `capacity`. One shard.
class closed_connections {
 public:
  explicit closed_connections(std::size_t capacity) : capacity_(capacity) {}
  void add(connection_report what) {
    if (capacity_ == 0) return;
    if (kept_.size() == capacity_) kept_.pop_front();
    kept_.push_back(std::move(what));
  }
  const std::deque<connection_report>& all() const { return kept_; }

 private:
  std::size_t capacity_;
  std::deque<connection_report> kept_;
};

}  // namespace tern::server
