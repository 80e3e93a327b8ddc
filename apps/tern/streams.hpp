// The commands for streams: stream add, ls, info, rm, purge, get.
#pragma once

#include "session.hpp"

#include <tern/client/jetstream_records.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tern::command {

// Texts as they stand on the command line; an absent one leaves the server's default.
struct stream_add_arguments {
  std::string name;
  std::vector<std::string> subjects;
  std::optional<std::string> description;
  std::string storage = "file";
  std::string retention = "limits";
  std::string discard = "old";
  std::optional<std::int64_t> max_messages;
  std::optional<std::int64_t> max_messages_per_subject;
  std::optional<std::string> max_bytes, max_age, max_message_size, duplicate_window;
  std::optional<std::int64_t> max_consumers;
  bool discard_per_subject = false;
  int replicas = 1;
};
// The configuration that is asked for. errc::invalid_argument.
result<client::stream_config> stream_config_of(const stream_add_arguments& what);
result<void> add_stream(session& in, const stream_add_arguments& what);

struct stream_list_arguments {
  bool names = false;
  std::string subject;
};
result<void> list_streams(session& in, const stream_list_arguments& what);

struct stream_info_arguments {
  std::string name;
  bool state_only = false;
};
result<void> show_stream(session& in, const stream_info_arguments& what);

struct stream_remove_arguments {
  std::string name;
  bool force = false;
};
result<void> remove_stream(session& in, const stream_remove_arguments& what);

struct stream_purge_arguments {
  std::string name;
  bool force = false;
  std::string subject;
  std::optional<std::uint64_t> sequence, keep;
};
result<void> purge_stream(session& in, const stream_purge_arguments& what);

struct stream_get_arguments {
  std::string name;
  std::uint64_t sequence = 0;
  std::string last_for;
};
result<void> get_message(session& in, const stream_get_arguments& what);

}  // namespace tern::command
