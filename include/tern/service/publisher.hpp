/// Publishing from a service: typed values, over Core or into a stream.
///
///     struct audit {};                                      // a slot: names a destination at the registration
///     boost::asio::awaitable<void> capture(const payment& p, tern::service::out<audit> log) {
///       captured event{p.id, p.amount_cents};
///       co_await log.publish(event);
///     }
///     scope.include(subscriber(core("payments.authorized"), capture).out<audit>(into_stream("audit.log")));
///
/// Name the value first: a braced temporary inside co_await does not compile on gcc 12 (it would be destroyed twice).
/// Errors: errc::closed after shutdown began, errc::not_started before the start, errc::payload_too_large,
/// errc::invalid_subject, errc::no_stream_for_subject, errc::timeout. Thread safety: the application's own thread.
/// Source: service specification section 11.
#pragma once

#include <tern/base/error.hpp>
#include <tern/client/connection.hpp>
#include <tern/client/coroutine_guard.hpp>
#include <tern/codec/codec.hpp>
#include <tern/service/message_traits.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tern::service {

/// Where a slot's messages go: over Core (at most once) or into a stream (the publish waits for its acknowledgement).
class destination {
 public:
  destination(std::string subject, bool confirmed) : subject_(std::move(subject)), confirmed_(confirmed) {}
  /// Another broker of the application than the subscription's own.
  destination on(std::string broker) && {
    broker_ = std::move(broker);
    return std::move(*this);
  }
  const std::string& subject() const { return subject_; }
  const std::string& broker() const { return broker_; }
  bool confirmed() const { return confirmed_; }

 private:
  std::string subject_;
  std::string broker_;
  bool confirmed_;
};
inline destination over_core(std::string subject) { return destination(std::move(subject), false); }
inline destination into_stream(std::string subject) { return destination(std::move(subject), true); }

class publish_options {
 public:
  /// `Nats-Msg-Id`: the stream drops a repetition within its duplicate window.
  publish_options& message_id(std::string id) {
    message_id_ = std::move(id);
    return *this;
  }
  publish_options& expect_last_sequence(std::uint64_t last) {
    expect_last_sequence_ = last;
    return *this;
  }
  publish_options& header(std::string_view name, std::string_view value) {
    headers_.add(name, value);
    return *this;
  }

  const std::string& message_id() const { return message_id_; }
  const std::optional<std::uint64_t>& expect_last_sequence() const { return expect_last_sequence_; }
  const client::headers& headers() const { return headers_; }

 private:
  std::string message_id_;
  std::optional<std::uint64_t> expect_last_sequence_;
  client::headers headers_;
};

/// What a stream answered; all zero over Core.
struct published {
  std::string stream;
  std::uint64_t sequence = 0;
  bool duplicate = false;
};

namespace detail {
class broker_link;  // one broker of a running application
}

/// A broker's publisher. Cheap to copy; may outlive the application, then publishing fails with errc::closed.
class publisher {
 public:
  publisher() = default;
  explicit publisher(std::shared_ptr<detail::broker_link> link) : link_(std::move(link)) {}

  boost::asio::awaitable<result<published>> publish_bytes(std::string subject, std::string payload, bool confirmed,
                                                          publish_options with, std::string_view content_type);
  boost::asio::awaitable<result<client::message>> request_bytes(std::string subject, std::string payload,
                                                                std::chrono::nanoseconds timeout);

  /// To the fixed subject of T, over Core.
  template <has_fixed_subject T>
  boost::asio::awaitable<result<published>> publish(const T& value) {
    return send(std::string(message_traits<T>::subject.text()), value, false, publish_options());
  }
  template <class T>
  boost::asio::awaitable<result<published>> publish(std::string subject, const T& value,
                                                    publish_options with = publish_options()) {
    return send(std::move(subject), value, false, std::move(with));
  }
  /// Into the stream that captures the subject; completes with its acknowledgement.
  template <class T>
  boost::asio::awaitable<result<published>> publish_to_stream(std::string subject, const T& value,
                                                              publish_options with = publish_options()) {
    return send(std::move(subject), value, true, std::move(with));
  }
  template <class T>
    requires client::unsafe_in_co_await<T>
  boost::asio::awaitable<result<published>> publish(T&& name_the_value_first) = delete;
  template <class T>
    requires client::unsafe_in_co_await<T>
  boost::asio::awaitable<result<published>> publish(std::string subject, T&& name_the_value_first,
                                                    publish_options with = publish_options()) = delete;

  /// One typed answer. errc::no_responders at once, errc::timeout after exactly `timeout`, errc::decode_error.
  template <class Response, class Request>
  boost::asio::awaitable<result<Response>> request(std::string subject, const Request& what,
                                                   std::chrono::nanoseconds timeout) {
    std::string payload;
    if (auto encoded = codec::json_codec::encode(payload, what); !encoded) co_return std::unexpected(encoded.error());
    auto answer = co_await request_bytes(std::move(subject), std::move(payload), timeout);
    if (!answer) co_return std::unexpected(std::move(answer).error());
    co_return codec::json_codec::decode<Response>(answer->payload());
  }

  explicit operator bool() const { return link_ != nullptr; }

 protected:
  template <class T>
  boost::asio::awaitable<result<published>> send(std::string subject, const T& value, bool confirmed,
                                                 publish_options with) {
    std::string payload;
    auto encoded = codec::json_codec::encode(payload, value);
    return encoded ? publish_bytes(std::move(subject), std::move(payload), confirmed, std::move(with),
                                   codec::json_codec::content_type)
                   : fail_with(std::move(encoded).error());
  }
  static boost::asio::awaitable<result<published>> fail_with(error why);

  std::shared_ptr<detail::broker_link> link_;
};

/// A slot bound at the registration; an unbound one does not compile.
template <class Slot>
class out : private publisher {
 public:
  out(publisher with, const destination& to) : publisher(std::move(with)), to_(&to) {}

  template <class T>
  boost::asio::awaitable<result<published>> publish(const T& value, publish_options with = publish_options()) {
    return send(to_->subject(), value, to_->confirmed(), std::move(with));
  }
  template <class T>
    requires client::unsafe_in_co_await<T>
  boost::asio::awaitable<result<published>> publish(T&& name_the_value_first,
                                                    publish_options with = publish_options()) = delete;

 private:
  const destination* to_;
};

}  // namespace tern::service
