/// Messages of a push consumer: the server sends them by itself, up to max_ack_pending without an acknowledgement.
///
///     auto bound = js.push("ORDERS", "mailer").get();
///     while (auto order = co_await bound->next()) order->ack();
///
/// Flow control is answered when everything before it was taken. With a deliver group several members share the
/// messages. Two missed heartbeats are an item with errc::missing_heartbeat; the subscription goes on.
/// A handle, moved but not copied; after its destructor no callback runs. Thread safety: one next() at a time, the rest
/// from any thread. Source: jetstream 16.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <tern/client/jetstream_message.hpp>
#include <tern/client/operation.hpp>

namespace tern::client {

namespace detail {
class push_core;
template <class T>
class item_queue;
}  // namespace detail

class push_subscription {
 public:
  using item = result<jetstream_message>;
  using callback = std::move_only_function<void(item&&)>;  ///< On the loop.

  push_subscription() = default;
  push_subscription(std::shared_ptr<detail::push_core> core,
                    std::shared_ptr<detail::item_queue<jetstream_message>> items);
  ~push_subscription();
  push_subscription(push_subscription&&) noexcept;
  push_subscription& operator=(push_subscription&&) noexcept;

  operation<jetstream_message> next();
  std::optional<item> try_next();
  bool ended() const;
  std::size_t buffered() const;
  void stop();

 private:
  std::shared_ptr<detail::push_core> core_;
  std::shared_ptr<detail::item_queue<jetstream_message>> items_;
};

}  // namespace tern::client
