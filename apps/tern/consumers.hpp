// The commands for consumers: consumer add, ls, info, rm, next.
#pragma once

#include "session.hpp"

#include <tern/client/jetstream_records.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tern::command {

struct consumer_add_arguments {
  std::string stream;
  std::string name;
  bool pull = false;
  std::string target;  // of a push consumer
  std::string deliver_group;
  std::optional<std::string> description;
  std::string ack;  // empty: explicit for pull, none for push
  std::string deliver = "all";
  std::vector<std::string> filters;
  std::optional<std::string> wait;
  std::optional<std::int64_t> max_deliver, max_pending, max_waiting;
  std::optional<std::string> inactive_threshold;
  std::string backoff = "none";
  std::uint32_t backoff_steps = 10;
  std::string backoff_shortest = "1m", backoff_longest = "20m";
  bool ephemeral = false;
  bool headers_only = false;
  bool memory = false;
};
// errc::invalid_argument. `now` is what a start "1h" ago counts from.
result<client::consumer_config> consumer_config_of(const consumer_add_arguments& what, time_point now);
result<void> add_consumer(session& in, const consumer_add_arguments& what);

struct consumer_list_arguments {
  std::string stream;
  bool names = false;
};
result<void> list_consumers(session& in, const consumer_list_arguments& what);

struct consumer_reference {
  std::string stream;
  std::string name;
};
result<void> show_consumer(session& in, const consumer_reference& what);

struct consumer_remove_arguments {
  consumer_reference which;
  bool force = false;
};
result<void> remove_consumer(session& in, const consumer_remove_arguments& what);

struct consumer_next_arguments {
  consumer_reference which;
  std::uint64_t count = 1;
  bool raw = false;
  bool ack = true;  // without nak and term
  bool nak = false;
  bool term = false;
};
result<void> next_messages(session& in, const consumer_next_arguments& what);

result<void> check_reference(const consumer_reference& what);

}  // namespace tern::command
