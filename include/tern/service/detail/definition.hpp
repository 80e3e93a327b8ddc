// An application as the builder describes it, without its types; hooks become coroutines over an erased state.
#pragma once

#include <tern/client/options.hpp>
#include <tern/service/log.hpp>
#include <tern/service/subscriber.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tern::service::detail {

using erased_state = std::shared_ptr<void>;
using startup_function = std::move_only_function<boost::asio::awaitable<result<erased_state>>(erased_state)>;
using hook_function = std::move_only_function<boost::asio::awaitable<result<void>>(void* state)>;
using publisher_function = std::move_only_function<boost::asio::awaitable<result<void>>(publisher)>;

struct broker_definition {
  std::string name;
  client::options connect;
  std::vector<registration> registrations;
  std::optional<failure_action> on_decode_failure, on_panic;
  std::vector<publisher_function> after_startup;
  std::optional<error> problem;  // the first registration that contradicts itself
};

struct app_definition {
  std::string name, version;
  std::vector<startup_function> on_startup;
  std::vector<broker_definition> brokers;
  std::vector<hook_function> after_startup, on_shutdown, after_shutdown;
  std::optional<failure_action> on_decode_failure, on_panic;
  std::optional<std::chrono::nanoseconds> shutdown_timeout;
  std::shared_ptr<log_sink> sink;
};

std::unique_ptr<app_definition> new_definition(std::string name, std::string version);

// --- what hooks return ---
template <class T>
struct settled_type {
  using type = T;
};
template <class T, class E>
struct settled_type<std::expected<T, E>> {
  using type = T;
};

template <class E>
error to_error(E&& problem) {
  if constexpr (std::is_same_v<std::remove_cvref_t<E>, error>) {
    return std::forward<E>(problem);
  } else {
    return error(errc::handler_failed, describe_error(problem));
  }
}

template <class T>
result<void> to_result(std::expected<T, error>&& value) {
  if (!value) return std::unexpected(std::move(value).error());
  return {};
}
template <class T, class E>
result<void> to_result(std::expected<T, E>&& value) {
  if (!value) return std::unexpected(to_error(std::move(value).error()));
  return {};
}

template <class Hook, class State>
using startup_state = typename settled_type<typename unwrapped<std::invoke_result_t<Hook&, State>>::type>::type;

template <class Next, class V>
result<erased_state> to_state(V&& value) {
  if constexpr (is_expected<std::remove_cvref_t<V>>) {
    if (!value) return std::unexpected(to_error(std::forward<V>(value).error()));
    return std::make_shared<Next>(*std::forward<V>(value));
  } else {
    return std::make_shared<Next>(std::forward<V>(value));
  }
}

// Coroutines as functions of named arguments, never as lambdas with captures: design 3.
template <class Hook, class State>
boost::asio::awaitable<result<erased_state>> call_startup(Hook& hook, erased_state before) {
  using returned = std::invoke_result_t<Hook&, State>;
  using next = startup_state<Hook, State>;
  State& state = *static_cast<State*>(before.get());
  if constexpr (unwrapped<returned>::asynchronous) {
    auto pending = hook(std::move(state));
    auto value = co_await std::move(pending);
    co_return to_state<next>(std::move(value));
  } else {
    co_return to_state<next>(hook(std::move(state)));
  }
}

template <class Hook, class State>
class startup_caller {
 public:
  explicit startup_caller(Hook hook) : hook_(std::make_unique<Hook>(std::move(hook))) {}
  boost::asio::awaitable<result<erased_state>> operator()(erased_state before) {
    return call_startup<Hook, State>(*hook_, std::move(before));
  }

 private:
  std::unique_ptr<Hook> hook_;
};
template <class Hook, class State>
startup_function startup_hook(Hook hook) {
  return startup_caller<Hook, State>(std::move(hook));
}

template <class Hook, class Argument>
boost::asio::awaitable<result<void>> call_hook(Hook& hook, Argument argument) {
  using returned = std::invoke_result_t<Hook&, Argument>;
  using value_type = typename unwrapped<returned>::type;
  if constexpr (unwrapped<returned>::asynchronous) {
    auto pending = hook(std::forward<Argument>(argument));
    if constexpr (std::is_void_v<value_type>) {
      co_await std::move(pending);
      co_return result<void>();
    } else {
      auto value = co_await std::move(pending);
      co_return to_result(std::move(value));
    }
  } else if constexpr (std::is_void_v<value_type>) {
    hook(std::forward<Argument>(argument));
    co_return result<void>();
  } else {
    co_return to_result(hook(std::forward<Argument>(argument)));
  }
}

template <class Hook, class State>
class state_caller {
 public:
  explicit state_caller(Hook hook) : hook_(std::make_unique<Hook>(std::move(hook))) {}
  boost::asio::awaitable<result<void>> operator()(void* state) {
    return call_hook<Hook, State&>(*hook_, *static_cast<State*>(state));
  }

 private:
  std::unique_ptr<Hook> hook_;
};
template <class State, class Hook>
hook_function state_hook(Hook hook) {
  return state_caller<Hook, State>(std::move(hook));
}

template <class Hook>
class publisher_caller {
 public:
  explicit publisher_caller(Hook hook) : hook_(std::make_unique<Hook>(std::move(hook))) {}
  boost::asio::awaitable<result<void>> operator()(publisher with) {
    return call_hook<Hook, publisher>(*hook_, std::move(with));
  }

 private:
  std::unique_ptr<Hook> hook_;
};
template <class Hook>
publisher_function publisher_hook(Hook hook) {
  return publisher_caller<Hook>(std::move(hook));
}

}  // namespace tern::service::detail
