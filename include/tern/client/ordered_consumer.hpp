/// An ordered consumer: the messages of a stream, each once and in the stream's order, without acknowledgements.
///
///     auto opened = js.ordered("ORDERS", ordered_options().filter("orders.eu.>"));
///     while (auto order = co_await opened->next()) handle(*order);        // an error ends it
///
/// Behind it is an ephemeral consumer in the server's memory. Whenever something is missing (a gap, two heartbeats that
/// do not come, a lost connection, a server that restarted) it is made anew behind the last message that was handed
/// out. It ends with the stream (errc::not_found) or the connection (errc::closed). The server sends no more than its
/// flow control window ahead of what was taken.
/// A handle, moved but not copied; after its destructor no callback runs. Thread safety: one next() at a time, the rest
/// from any thread. Source: jetstream 16.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/jetstream_records.hpp>
#include <tern/client/message.hpp>
#include <tern/client/operation.hpp>

namespace tern::client {

class ordered_options {
 public:
  /// Only subjects that match; several calls add. Default: all.
  ordered_options& filter(std::string_view subject) {
    filters_.emplace_back(subject);
    return *this;
  }
  /// Where to begin. Default deliver_policy::all.
  ordered_options& deliver(deliver_policy policy) {
    deliver_ = policy;
    return *this;
  }
  ordered_options& start_sequence(std::uint64_t sequence) {
    deliver_ = deliver_policy::by_start_sequence;
    start_sequence_ = sequence;
    return *this;
  }
  ordered_options& start_time(time_point when) {
    deliver_ = deliver_policy::by_start_time;
    start_time_ = when;
    return *this;
  }
  ordered_options& headers_only(bool yes = true) {
    headers_only_ = yes;
    return *this;
  }
  ordered_options& replay(replay_policy policy) {
    replay_ = policy;
    return *this;
  }
  /// Two that do not come make a new consumer. At least 100 ms. Default 5 s.
  ordered_options& heartbeat(nanoseconds interval) {
    heartbeat_ = interval;
    return *this;
  }

  consumer_config config() const;  ///< what is asked of the server

 private:
  std::vector<std::string> filters_;
  deliver_policy deliver_ = deliver_policy::all;
  std::optional<std::uint64_t> start_sequence_;
  std::optional<time_point> start_time_;
  bool headers_only_ = false;
  replay_policy replay_ = replay_policy::instant;
  nanoseconds heartbeat_ = std::chrono::seconds(5);
};

namespace detail {
class ordered_core;
template <class T>
class item_queue;
}  // namespace detail

class ordered_consumer {
 public:
  using item = result<message>;
  using callback = std::move_only_function<void(item&&)>;  ///< On the loop; the error that ends it comes last.

  ordered_consumer() = default;
  ordered_consumer(std::shared_ptr<detail::ordered_core> core, std::shared_ptr<detail::item_queue<message>> items);
  ~ordered_consumer();
  ordered_consumer(ordered_consumer&&) noexcept;
  ordered_consumer& operator=(ordered_consumer&&) noexcept;

  /// message::jetstream() tells where it stands. The error that ended it, once everything was taken.
  operation<message> next();
  std::optional<item> try_next();
  bool ended() const;
  std::size_t buffered() const;
  std::uint64_t recreated() const;  ///< how often the consumer had to be made anew
  void stop();

 private:
  std::shared_ptr<detail::ordered_core> core_;
  std::shared_ptr<detail::item_queue<message>> items_;
};

}  // namespace tern::client
