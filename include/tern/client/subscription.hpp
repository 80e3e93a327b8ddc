/// Interest in a subject: messages go to a callback, or wait to be taken by next().
///
///     auto taken = connection.subscribe("orders.*", subscribe_options().queue_group("billing"));
///     subscription& orders = *taken;
///     while (auto order = co_await orders.next()) handle(*order);        // errc::closed ends it
///
/// A handle, moved but not copied; the subscription ends with it. The destructor waits for a callback that is running
/// on the loop's thread at that moment (unless it is called from there), so a callback may refer to what outlives the
/// handle. It survives reconnects: messages of the gap are lost, and connection_event::reconnected tells its length.
/// Thread safety: all functions from any thread; one next() at a time. Source: core 2.7, service 11.5 and 18.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tern/client/message.hpp>
#include <tern/client/operation.hpp>

namespace tern::client {

class subscribe_options {
 public:
  /// Members of a queue group share the messages: each goes to one of them. Default: none.
  subscribe_options& queue_group(std::string_view name) {
    queue_group_ = name;
    return *this;
  }
  /// The subscription ends after that many messages. Default 0: never.
  subscribe_options& max_messages(std::uint64_t count) {
    max_messages_ = count;
    return *this;
  }
  /// Overrides options::subscription_buffer for this one; 0 keeps that.
  subscribe_options& buffer(std::size_t messages) {
    buffer_ = messages;
    return *this;
  }

  /// Overrides options::subscription_buffer_bytes for this one; 0 keeps that.
  subscribe_options& buffer_bytes(std::size_t bytes) {
    buffer_bytes_ = bytes;
    return *this;
  }

  const std::string& queue_group() const { return queue_group_; }
  std::uint64_t max_messages() const { return max_messages_; }
  std::size_t buffer() const { return buffer_; }
  std::size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  std::string queue_group_;
  std::uint64_t max_messages_ = 0;
  std::size_t buffer_ = 0;
  std::size_t buffer_bytes_ = 0;
};

namespace detail {
class subscription_core;
}

class subscription {
 public:
  /// Runs on the loop for each message, in order. `const message&` copies nothing and lets the next message use the
  /// same memory; move from it to keep it.
  using callback = std::move_only_function<void(message&&)>;

  subscription() = default;
  explicit subscription(std::shared_ptr<detail::subscription_core> core);
  ~subscription();
  subscription(subscription&&) noexcept;
  subscription& operator=(subscription&&) noexcept;

  /// The next message. errc::closed once the subscription has ended and all that it had received was taken,
  /// errc::timeout when nothing came in time. Not with a callback: errc::unsupported.
  operation<message> next();
  operation<message> next(nanoseconds patience);
  /// The next message if one waits.
  std::optional<message> try_next();

  /// Ends it now, or once `max_messages` have come since its beginning.
  void unsubscribe();
  void unsubscribe(std::uint64_t max_messages);
  /// Ends it in order: no new messages, those sent before are still delivered. Completes when callbacks have had them
  /// all; next() goes on to hand out what waits.
  operation<void> drain();

  bool active() const;  ///< false once it has ended
  std::string_view subject() const;
  std::uint64_t received() const;
  std::uint64_t dropped() const;  ///< for want of room in the buffer
  std::size_t pending() const;    ///< messages that wait for next()

 private:
  std::shared_ptr<detail::subscription_core> core_;
};

}  // namespace tern::client
