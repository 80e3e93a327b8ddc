// The body of a pull request (jetstream 15), and what a status message in answer to one says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tern/base/time.hpp>

#include "protocol/parse_outcome.hpp"

namespace tern::client::detail {

struct pull_request {
  std::uint32_t batch = 1;
  nanoseconds expires{};
  nanoseconds heartbeat{};
  std::int64_t max_bytes = 0;
  bool no_wait = false;
  std::string_view group = {};
  std::int64_t min_pending = 0;
  std::int64_t min_ack_pending = 0;

  // Members that say nothing are left out.
  std::string to_json() const;
};

enum class pull_status {
  none,              // a message of the stream
  heartbeat,         // 100
  expired,           // 408
  no_messages,       // 404
  conflict,          // 409: the request has ended, the consumer is there
  consumer_deleted,  // 409 Consumer Deleted, Consumer is push based: nothing will come any more
  no_responders,     // 503
  other,
};

struct pull_status_report {
  pull_status kind = pull_status::none;
  int code = 0;
  std::string_view text;
  // What the ended request had left; negative: not told.
  std::int64_t messages_left = -1;
  std::int64_t bytes_left = -1;
};

pull_status_report read_pull_status(const protocol::message_frame& frame);

}  // namespace tern::client::detail
