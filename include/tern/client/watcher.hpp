/// What arrives bit by bit from a stream: updates of keys and objects, pieces of an object.
///
///     auto changes = profiles.watch({"ada.>"});
///     while (auto change = co_await changes->next()) ...              // an error ends it
///
/// A handle, moved but not copied, that ends it; after its destructor no callback runs. It survives reconnects and
/// restarts of the server. Thread safety: one next() at a time, the rest from any thread. Source: jetstream 16 and 21.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <tern/client/operation.hpp>

namespace tern::client {

namespace detail {
class ordered_core;
template <class T>
class item_queue;
}  // namespace detail

template <class T>
class watcher {
 public:
  using item = result<T>;
  using callback = std::move_only_function<void(item&&)>;  ///< On the loop; the error that ends it comes last.

  watcher() = default;
  watcher(std::shared_ptr<detail::ordered_core> core, std::shared_ptr<detail::item_queue<T>> items);
  ~watcher();
  watcher(watcher&&) noexcept;
  watcher& operator=(watcher&&) noexcept;

  /// The error that ended it, once everything was taken; errc::closed after stop().
  operation<T> next();
  std::optional<item> try_next();
  bool ended() const;
  void stop();

 private:
  std::shared_ptr<detail::ordered_core> core_;
  std::shared_ptr<detail::item_queue<T>> items_;
};

}  // namespace tern::client
