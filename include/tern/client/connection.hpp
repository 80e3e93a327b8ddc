/// A connection to a server: publish, subscribe, request. It reconnects by itself.
///
///     auto connected = connection::connect(options("nats://127.0.0.1:4222")).get();
///     if (!connected) return fail_with(connected.error());
///     connection nats = *std::move(connected);
///     auto time = nats.request("time", "", request_options().timeout(std::chrono::seconds(2))).get();
///     auto sent = nats.publish("orders.placed", R"({"id":"o-1"})");
///
/// A handle that may be copied; the connection closes with the last one (buffered bytes are written first as far as the
/// socket takes them; call drain() or close() to be sure). Each connection has a thread of its own for its event loop;
/// callbacks run there and must not block. Thread safety: all functions from any thread; what one thread does reaches
/// the server in that order. Source: core 1 and 2, service 11 and 18.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include <tern/client/coroutine_guard.hpp>
#include <tern/client/headers.hpp>
#include <tern/client/message.hpp>
#include <tern/client/operation.hpp>
#include <tern/client/options.hpp>
#include <tern/client/subscription.hpp>
#include <tern/codec/json.hpp>

namespace tern::client {

/// What the connected server told about itself.
struct server_info {
  std::string id;
  std::string name;
  std::string version;
  std::string address;  ///< "host:port" that was dialled
  std::uint64_t client_id = 0;
  std::int64_t max_payload = 1 << 20;  ///< -1: no limit
  bool headers = true;
  bool jetstream = false;
  bool lame_duck = false;
  std::string domain;
  std::string cluster;
};

struct connection_statistics {
  std::uint64_t in_messages = 0, out_messages = 0;
  std::uint64_t in_bytes = 0, out_bytes = 0;  ///< payloads and headers
  std::uint64_t reconnects = 0;
  std::uint64_t server_errors = 0;
  std::uint64_t dropped_messages = 0;  ///< for want of room in subscriptions
};

enum class connection_state { connecting, connected, reconnecting, draining, closed };
std::string_view name_of(connection_state state);

class request_options {
 public:
  /// Exactly this long. Default: options::request_timeout.
  request_options& timeout(nanoseconds patience) {
    timeout_ = patience;
    return *this;
  }
  request_options& headers(client::headers with) {
    headers_ = std::move(with);
    return *this;
  }

  nanoseconds timeout() const { return timeout_; }
  const client::headers& headers() const { return headers_; }

 private:
  nanoseconds timeout_{-1};
  client::headers headers_;
};

/// When a request with several answers has had them all.
class request_many_options {
 public:
  /// After so many answers. Default 0: any number.
  request_many_options& count(std::size_t answers) {
    count_ = answers;
    return *this;
  }
  /// At most that long in all. Default: options::request_timeout.
  request_many_options& patience(nanoseconds most) {
    patience_ = most;
    return *this;
  }
  /// When nothing has come for that long since the last answer. Default 0: off.
  request_many_options& stall(nanoseconds pause) {
    stall_ = pause;
    return *this;
  }
  /// With an answer that has neither payload nor headers; it is not one of the answers. Default: off.
  request_many_options& sentinel() {
    sentinel_ = true;
    return *this;
  }

  std::size_t count() const { return count_; }
  nanoseconds patience() const { return patience_; }
  nanoseconds stall() const { return stall_; }
  bool ends_with_empty() const { return sentinel_; }

 private:
  std::size_t count_ = 0;
  nanoseconds patience_{-1};
  nanoseconds stall_{};
  bool sentinel_ = false;
};

/// A value that is sent as JSON: a plain record or a container of them, not text.
template <class T>
concept json_payload = !std::convertible_to<const std::remove_cvref_t<T>&, std::string_view>;

namespace detail {
class connection_core;
}

class connection {
 public:
  connection() = default;  ///< closed
  explicit connection(std::shared_ptr<detail::connection_core> core);

  /// Dials the servers in turn. errc::connect_failed with the reason of the last one, errc::invalid_options.
  static operation<connection> connect(const options& with);

  /// Hands the message to the connection; nothing waits for the server. errc::payload_too_large, errc::invalid_subject,
  /// errc::invalid_header and errc::closed before a byte is written; errc::disconnected when there is no connection and
  /// the pending buffer is full; errc::limit_exceeded (options::write_buffer).
  result<void> publish(std::string_view subject, std::string_view payload);
  result<void> publish(std::string_view subject, std::string_view payload, const headers& with);
  result<void> publish_with_reply(std::string_view subject, std::string_view reply, std::string_view payload);
  result<void> publish_with_reply(std::string_view subject, std::string_view reply, std::string_view payload,
                                  const headers& with);

  /// Completes when the server has processed all that was sent before. Default patience: options::request_timeout.
  operation<void> flush();
  operation<void> flush(nanoseconds patience);

  /// The first answer. errc::no_responders at once when nobody listens, errc::timeout.
  operation<message> request(std::string_view subject, std::string_view payload, const request_options& with = {});
  /// Answers until `count` have come, or `patience` is over, or the server says that nobody listens.
  operation<std::vector<message>> request_many(std::string_view subject, std::string_view payload, std::size_t count,
                                               nanoseconds patience);
  operation<std::vector<message>> request_many(std::string_view subject, std::string_view payload,
                                               const request_many_options& with);
  /// Of a PING and its PONG, what was buffered before included.
  operation<nanoseconds> round_trip_time();

  /// Values as JSON.
  template <json_payload T>
  result<void> publish(std::string_view subject, const T& value) {
    return publish(subject, std::string_view(codec::to_json(value)));
  }
  template <json_payload T>
  operation<message> request(std::string_view subject, const T& value, const request_options& with = {}) {
    return request(subject, std::string_view(codec::to_json(value)), with);
  }
  template <class T>
    requires unsafe_in_co_await<T> && json_payload<T>
  result<void> publish(std::string_view subject, T&& name_the_value_first) = delete;
  template <class T>
    requires unsafe_in_co_await<T> && json_payload<T>
  operation<message> request(std::string_view subject, T&& name_the_value_first,
                             const request_options& with = {}) = delete;

  /// errc::invalid_subject, errc::closed. The server has it after the next flush().
  result<subscription> subscribe(std::string_view subject, const subscribe_options& with = {});
  result<subscription> subscribe(std::string_view subject, subscription::callback callback,
                                 const subscribe_options& with = {});

  /// A fresh reply subject under the connection's own inbox.
  std::string new_inbox();

  /// Ends in order: subscriptions drain, then what is buffered is sent and confirmed, then it closes. errc::timeout
  /// after options::drain_timeout (it closes then too).
  operation<void> drain();
  /// Sends what is buffered, then closes; open operations end with errc::closed. Completes when it is closed.
  operation<void> close();

  connection_state state() const;
  server_info server() const;
  connection_statistics statistics() const;
  nanoseconds default_request_timeout() const;
  const client::options& settings() const;
  /// The loop, to spawn coroutines on the thread of the callbacks.
  boost::asio::any_io_executor executor() const;

  explicit operator bool() const { return core_ != nullptr; }
  const std::shared_ptr<detail::connection_core>& core() const { return core_; }  // for the library itself

 private:
  std::shared_ptr<detail::connection_core> core_;
};

}  // namespace tern::client
