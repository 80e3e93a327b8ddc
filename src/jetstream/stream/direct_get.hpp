// Direct get: reads that answer with the stored message itself instead of JSON (jetstream 8.2).
#pragma once

#include "jetstream/stream_context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

// The body of STREAM.MSG.GET and of direct gets.
struct message_get_request {
  std::uint64_t seq = 0;
  std::string last_by_subj;
  std::string next_by_subj;
  std::int64_t batch = 0;
  std::int64_t max_bytes = 0;
  std::optional<time_point> start_time;
  std::vector<std::string> multi_last;
  std::uint64_t up_to_seq = 0;
  std::optional<time_point> up_to_time;
  bool no_hdr = false;
};

// Exactly one selection is made, and its parts go together (8.1).
bool is_single_selection(const message_get_request& what);
// The message that the request selects, if there is one.
std::optional<storage::sequence> select_message(storage::stream_log& log, const message_get_request& what);

// Answers the direct gets of one stream, which owns it. One shard.
class direct_reader {
 public:
  explicit direct_reader(stream_context& stream) : stream_(stream) {}

  // Tags of the stream's subscriptions.
  static constexpr std::uint64_t no_read = 0, by_body = 1, by_subject = 2;
  static constexpr std::string_view queue = "_sys_";

  void answer(std::uint64_t tag, const routing::message& request);

 private:
  struct progress;  // what the messages of one batch say about each other
  void answer_by_subject(const routing::message& request);
  void answer_by_body(const routing::message& request);
  void answer_one(std::string_view reply, const message_get_request& what);
  void answer_batch(std::string_view reply, const message_get_request& what);
  void answer_multiple(std::string_view reply, const message_get_request& what);
  std::vector<storage::sequence> last_of_each(const message_get_request& what, storage::sequence up_to, bool& too_many);
  bool send(std::string_view reply, storage::sequence number, bool without_headers, progress* batch);  // false: gone
  void send_status(std::string_view reply, std::string_view status);
  void send_end(std::string_view reply, const progress& batch, storage::sequence up_to);
  std::uint64_t batch_bytes(const message_get_request& what) const;

  stream_context& stream_;
  std::string headers_;  // of the answer at hand
};

}  // namespace tern::jetstream
