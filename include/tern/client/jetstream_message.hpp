/// A message that a consumer delivered, with the means to settle it.
///
///     auto order = co_await stream.next();
///     if (!order) co_return;
///     if (handle(order->payload())) order->ack();
///     else order->nak(std::chrono::seconds(30));
///
/// Settling is once: a second ack(), nak() or term() is errc::settle_failed. Nothing sent means that the server
/// delivers it again after the consumer's ack_wait. Settlements are plain publishes, buffered like those; ack_sync()
/// waits until the server has taken it. Moved, not copied. Thread safety: like any value. Source: service 6,
/// jetstream 14.
#pragma once

#include <memory>
#include <string_view>

#include <tern/client/message.hpp>
#include <tern/client/operation.hpp>

namespace tern::client {

namespace detail {
class connection_core;
}

class jetstream_message {
 public:
  jetstream_message() = default;
  jetstream_message(client::message received, std::shared_ptr<detail::connection_core> connection);
  jetstream_message(jetstream_message&&) noexcept = default;
  jetstream_message& operator=(jetstream_message&&) noexcept = default;

  std::string_view subject() const { return message_.subject(); }
  std::string_view payload() const { return message_.payload(); }
  bool has_headers() const { return message_.has_headers(); }
  std::optional<std::string_view> header(std::string_view name) const { return message_.header(name); }
  client::headers headers() const { return message_.headers(); }
  /// Empty fields when the ack subject does not parse.
  jetstream_metadata metadata() const;
  const client::message& base() const { return message_; }
  /// The message itself, without the means to settle it.
  client::message release() && { return std::move(message_); }

  result<void> ack();                   ///< `+ACK`: done
  result<void> nak();                   ///< `-NAK`: again, at once
  result<void> nak(nanoseconds delay);  ///< again after that; 0 or less is nak()
  result<void> term();                  ///< `+TERM`: never again
  result<void> term(std::string_view reason);
  result<void> in_progress();  ///< `+WPI`: the consumer's ack_wait begins again; any number of times
  /// ack() that the server confirms. Default patience 5 s.
  operation<void> ack_sync(nanoseconds patience = std::chrono::seconds(5));

  bool settled() const { return settled_; }

 private:
  result<void> settle(std::string_view body);

  client::message message_;
  std::shared_ptr<detail::connection_core> connection_;
  bool settled_ = false;
};

}  // namespace tern::client
