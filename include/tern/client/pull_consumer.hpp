/// Taking messages from a pull consumer: one batch at a time, or as a stream that keeps requests open.
///
///     auto billing = js.pull_consumer("ORDERS", "billing");
///     auto batch = billing.fetch(fetch_options().batch(100).expires(std::chrono::seconds(1))).get();
///
///     auto opened = billing.messages();                        // the pull stream: 200 ahead, refilled at half
///     while (!opened->ended()) {
///       auto order = co_await opened->next();
///       if (order) order->ack();
///     }
///
/// Thread safety: pull_consumer from any thread; of one pull_stream, next() and try_next() from one thread at a time,
/// the rest from any. Source: service 16 and 17, jetstream 15.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/jetstream_message.hpp>
#include <tern/client/jetstream_records.hpp>
#include <tern/client/operation.hpp>

namespace tern::client {

class fetch_options {
 public:
  fetch_options& batch(std::uint32_t messages) {
    batch_ = messages;
    return *this;
  }  ///< At most. Default 1.
  fetch_options& expires(nanoseconds patience) {
    expires_ = patience;
    return *this;
  }  ///< Default 5 s.
  /// End at the end of the data: with a patience above 0 once something has come, else at once. Default: wait for the
  /// whole batch until it expires.
  fetch_options& no_wait(bool yes = true) {
    no_wait_ = yes;
    return *this;
  }
  fetch_options& max_bytes(std::int64_t bytes) {
    max_bytes_ = bytes;
    return *this;
  }  ///< Default 0: no limit.
  /// The server shows every so often that it is there; missing two ends the fetch. At most half of expires. Default 0:
  /// off.
  fetch_options& heartbeat(nanoseconds interval) {
    heartbeat_ = interval;
    return *this;
  }

  std::uint32_t batch() const { return batch_; }
  nanoseconds expires() const { return expires_; }
  bool no_wait() const { return no_wait_; }
  std::int64_t max_bytes() const { return max_bytes_; }
  nanoseconds heartbeat() const { return heartbeat_; }

 private:
  std::uint32_t batch_ = 1;
  nanoseconds expires_ = std::chrono::seconds(5);
  bool no_wait_ = false;
  std::int64_t max_bytes_ = 0;
  nanoseconds heartbeat_{};
};

/// What one fetch brought. Messages that came before something went wrong are there as well.
struct fetched {
  std::vector<jetstream_message> messages;
  std::optional<error> problem;  ///< Why it ended, when neither the batch was full nor the data at its end.
  int status = 0;                ///< The number of the status that ended it (404, 408, 409 ...), 0: none.
};

/// Figures of a pull stream, as seed and service 16 name them.
class pull_options {
 public:
  pull_options& batch(std::uint32_t messages) {
    batch_ = messages;
    return *this;
  }  ///< Per request. Default 200.
  /// Ask again when so many or fewer are outstanding. Default: half of the batch.
  pull_options& refill_at(std::uint32_t messages) {
    refill_at_ = messages;
    return *this;
  }
  pull_options& expires(nanoseconds life) {
    expires_ = life;
    return *this;
  }  ///< Of a request. Default 30 s.
  /// At most half of expires. Default 15 s.
  pull_options& heartbeat(nanoseconds interval) {
    heartbeat_ = interval;
    return *this;
  }
  /// Bounds a request by bytes too, and refills at half of them. Default 0: no limit.
  pull_options& max_bytes(std::int64_t bytes) {
    max_bytes_ = bytes;
    return *this;
  }
  pull_options& group(std::string_view name) {
    group_ = name;
    return *this;
  }  ///< Of a priority consumer.
  pull_options& min_pending(std::int64_t messages) {
    min_pending_ = messages;
    return *this;
  }
  pull_options& min_ack_pending(std::int64_t messages) {
    min_ack_pending_ = messages;
    return *this;
  }

  std::uint32_t batch() const { return batch_; }
  std::uint32_t refill_at() const { return refill_at_.value_or(batch_ / 2); }
  nanoseconds expires() const { return expires_; }
  nanoseconds heartbeat() const { return heartbeat_; }
  std::int64_t max_bytes() const { return max_bytes_; }
  const std::string& group() const { return group_; }
  std::int64_t min_pending() const { return min_pending_; }
  std::int64_t min_ack_pending() const { return min_ack_pending_; }

 private:
  std::uint32_t batch_ = 200;
  std::optional<std::uint32_t> refill_at_;
  nanoseconds expires_ = std::chrono::seconds(30);
  nanoseconds heartbeat_ = std::chrono::seconds(15);
  std::int64_t max_bytes_ = 0;
  std::string group_;
  std::int64_t min_pending_ = 0;
  std::int64_t min_ack_pending_ = 0;
};

/// Counters of a pull stream; errors by kind.
struct pull_statistics {
  std::uint64_t messages = 0;
  std::uint64_t requests = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t missed_heartbeats = 0;
  std::uint64_t expired = 0;          ///< 408
  std::uint64_t conflicts = 0;        ///< 409 that let the stream go on
  std::uint64_t no_responders = 0;    ///< 503
  std::uint64_t other_statuses = 0;   ///< 400, 404, 423 ...
  std::uint64_t safety_requests = 0;  ///< sent because nothing had been asked for during expires + 5 s
  std::uint64_t reconnects = 0;
  std::uint64_t info_failures = 0;  ///< consumer info without an answer
};

namespace detail {
class pull_stream_core;
}

/// Messages one by one while requests are kept open behind the scenes. Items are messages or errors; after an error the
/// stream goes on unless ended() says otherwise: errc::missing_heartbeat, errc::no_responders and errc::pull_failed let
/// it go on, errc::consumer_deleted ends it. Nothing is asked of the server before the first next(), try_next() or
/// callback.
class pull_stream {
 public:
  using item = result<jetstream_message>;
  using callback = std::move_only_function<void(item&&)>;

  pull_stream() = default;
  explicit pull_stream(std::shared_ptr<detail::pull_stream_core> core);
  ~pull_stream();  ///< Ends it and gives back (`-NAK`) what was not handed out; cancel() returns it instead.
  pull_stream(pull_stream&&) noexcept;
  pull_stream& operator=(pull_stream&&) noexcept;

  operation<jetstream_message> next();
  /// The next item if one waits; also lets the stream begin.
  std::optional<item> try_next();

  /// True when nothing will come any more and all was handed out.
  bool ended() const;
  /// No answer from the server's side since a missed heartbeat or a lost connection.
  bool degraded() const;
  std::size_t buffered() const;  ///< items that wait for next()
  /// Reply subjects of the messages among them, for a `+WPI` while they wait.
  std::vector<std::string> waiting_replies() const;
  pull_statistics statistics() const;

  /// Takes the interest back (UNSUB) and returns the messages that were not handed out, for a nak(). Those that are
  /// still under way are given back (`-NAK`) as they come.
  std::vector<jetstream_message> cancel();

 private:
  std::shared_ptr<detail::pull_stream_core> core_;
};

class pull_consumer {
 public:
  pull_consumer() = default;
  pull_consumer(std::shared_ptr<detail::connection_core> connection, std::string api_prefix, std::string stream,
                std::string name);

  const std::string& stream() const { return stream_; }
  const std::string& name() const { return name_; }

  /// Ends when the batch is full, at 408 and 404, and 5 s after `expires` in any case; those are no errors.
  /// errc::no_responders, and in fetched::problem errc::pull_failed, errc::consumer_deleted, errc::missing_heartbeat.
  /// errc::invalid_options.
  operation<fetched> fetch(const fetch_options& with);
  /// errc::invalid_options when heartbeat * 2 > expires or batch is 0.
  result<pull_stream> messages(const pull_options& with = {});
  /// The same with a callback on the loop instead of next(); it runs for each item and ends with the handle.
  result<pull_stream> messages(pull_stream::callback callback, const pull_options& with = {});
  operation<consumer_info> info();

 private:
  std::shared_ptr<detail::connection_core> connection_;
  std::string api_prefix_;
  std::string stream_;
  std::string name_;
};

}  // namespace tern::client
