// Runs a coroutine on the connection's loop and gives its result the three faces of an operation: how everything is
// written that takes more than one round trip (key-value, objects, batches).
//
// The coroutine's parameters own what it needs; among them is usually a handle of the connection, which keeps the loop
// running until the work has ended. A coroutine that is thrown away unfinished ends its operation with errc::closed.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <tern/client/connection.hpp>

#include "client/connection_core.hpp"

namespace tern::client::detail {

template <class T>
class unfinished_work {
 public:
  explicit unfinished_work(std::shared_ptr<operation_state<T>> state) : state_(std::move(state)) {}
  unfinished_work(const unfinished_work&) = delete;
  unfinished_work& operator=(const unfinished_work&) = delete;
  ~unfinished_work() { state_->complete(fail(errc::closed, "the connection went while the operation was under way")); }

 private:
  std::shared_ptr<operation_state<T>> state_;
};

template <class T>
boost::asio::awaitable<void> complete_with(std::shared_ptr<operation_state<T>> state,
                                           boost::asio::awaitable<result<T>> work) {
  const unfinished_work<T> guard(state);
  try {
    result<T> outcome = co_await std::move(work);
    state->complete(std::move(outcome));
  } catch (const std::exception& thrown) {
    state->complete(fail(errc::handler_failed, thrown.what()));
  }
}

// Any thread. `work` begins on the loop.
template <class T>
operation<T> run_on_loop(const connection& on, boost::asio::awaitable<result<T>> work) {
  auto& loop = on.core()->loop();
  auto state = std::make_shared<operation_state<T>>(&loop);
  loop.post([&loop, state, work = std::move(work)]() mutable {
    boost::asio::co_spawn(loop.context(), complete_with<T>(state, std::move(work)), boost::asio::detached);
  });
  return operation<T>(state);
}

// `convert` makes the result of another operation's: result<From> -> result<To>. It runs on the loop, or at once.
template <class To, class From, class Convert>
operation<To> converted(const connection& on, operation<From> from, Convert convert) {
  auto state = std::make_shared<operation_state<To>>(on ? on.core()->loop_identity() : nullptr);
  from.then([state, convert = std::move(convert)](result<From> outcome) mutable {
    state->complete(convert(std::move(outcome)));
  });
  return operation<To>(state);
}

}  // namespace tern::client::detail
