// The body of `CONSUMER.MSG.NEXT`, and of `+NXT` (jetstream 15).
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::jetstream {

// As the client gave it; member names are the JSON names.
struct pull_request {
  std::int64_t batch = 0;
  nanoseconds expires{0};
  bool no_wait = false;
  std::int64_t max_bytes = 0;
  nanoseconds idle_heartbeat{0};
  std::string group;
  std::int64_t min_pending = 0;
  std::int64_t min_ack_pending = 0;
  std::string id;
  std::int64_t priority = 0;
};

struct parsed_pull {
  pull_request request;
  bool json = false;  // an object, which must name its priority group; other bodies never do
};

// The error's context is what follows `Bad Request - `.
result<parsed_pull> parse_pull_request(std::string_view body);

}  // namespace tern::jetstream
