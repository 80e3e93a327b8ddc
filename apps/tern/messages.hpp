// The commands for messages: pub, sub, req, reply. Each takes what the command line said and runs to its end.
#pragma once

#include "session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tern::command {

struct publish_arguments {
  std::string subject;
  std::optional<std::string> body;  // absent: the standard input
  std::uint64_t count = 1;
  std::vector<std::string> headers;
  std::string reply;
  bool jetstream = false;  // wait for the stream's acknowledgement of each
  bool quiet = false;
  bool templates = true;
};
result<void> publish(session& in, const publish_arguments& what);

struct subscribe_arguments {
  std::string subject;
  std::string queue_group;
  std::uint64_t count = 0;  // 0: until it is interrupted
  bool raw = false;
  bool headers_only = false;
};
result<void> subscribe(session& in, const subscribe_arguments& what);

struct request_arguments {
  std::string subject;
  std::optional<std::string> body;
  std::uint64_t count = 1;
  std::uint64_t replies = 1;  // 0: all that come until the timeout
  nanoseconds reply_timeout = std::chrono::milliseconds(300);
  std::vector<std::string> headers;
  bool raw = false;
  bool templates = true;
};
result<void> request(session& in, const request_arguments& what);

struct reply_arguments {
  std::string subject;
  std::optional<std::string> body;
  std::string queue_group = "NATS-RPLY-22";  // that of the `nats` command, so that both share the work
  std::uint64_t count = 0;
  std::vector<std::string> headers;
  bool echo = false;
  bool templates = true;
};
result<void> reply(session& in, const reply_arguments& what);

}  // namespace tern::command
