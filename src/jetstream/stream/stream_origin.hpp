// Where a mirror or a source reads: the messages of another stream from some sequence on, each once and in order
// (jetstream 7.2). The reader keeps the position; the origin finds its way back to it after every break.
#pragma once

#include "protocol/jetstream_error.hpp"
#include "storage/stream_log.hpp"

#include <tern/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

struct origin_message {
  storage::sequence number = 0;  // in the origin
  time_point timestamp{};
  std::uint64_t pending = 0;  // matching messages behind this one
  std::string_view subject, headers, payload;
};

struct origin_position {
  storage::sequence last = 0;  // the last message that was read; 0: none, begin where the configuration says
  std::string identity;        // of the stream it was read from; empty: not known
};

// What became of a message.
enum class intake_result : std::uint8_t {
  taken,  // stored, or passed over for good
  later,  // there is no room: the origin stops and offers it again after a while
};

// Who reads. Implemented by the stream; called on its shard, between its own deliveries.
class origin_reader {
 public:
  virtual ~origin_reader() = default;
  virtual origin_position position() const = 0;
  virtual intake_result take(const origin_message& what) = 0;
  // The origin answered: its identity, which stands in the headers of what is copied from now on.
  virtual void on_found(std::string_view identity) = 0;
  // Another stream has the origin's name by now: it is read from the beginning.
  virtual void on_replaced() = 0;
};

// One origin being read. Owned by its reader's stream, which opens it and closes it; nothing is called back after
// close().
class stream_origin {
 public:
  virtual ~stream_origin() = default;
  virtual void open() = 0;
  // `forget`: it will not be read again, what keeps the place over there may go.
  virtual void close(bool forget) = 0;
  // What the reader staged was lost: begins again from its position.
  virtual void restart() = 0;

  // --- for STREAM.INFO (7.3) ---
  virtual std::uint64_t lag() const = 0;
  virtual std::optional<time_point> last_seen() const = 0;  // none: never
  virtual const std::optional<protocol::api_error>& problem() const = 0;
};

}  // namespace tern::jetstream
