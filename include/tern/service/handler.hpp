/// Handlers: any function or object with one call operator, whose parameters are resolved by type when it is compiled.
///
///     expected<captured, outcome> capture(const payment& p, nats::delivered_count attempt, state<bank> bank);
///     app.include(subscriber(jetstream("payments.authorized").stream("PAYMENTS"), capture).reply<captured>());
///
/// First parameter: the payload, decoded by the codec (`const T&` or `T`), as it came (`raw_view`), by the type itself
/// (`static result<T> T::from_bytes(std::string_view)`), or a batch (`std::span<const T>`). Further ones: `context&`,
/// `field<K>`, `nats::delivered_count`, `state<T>`, `headers<T>`, `deadline`, and types with an `extractor`.
/// Returns: nothing, `outcome`, `expected<void, E>`, `expected<outcome, E>`, with `.reply<T>()` also `T`,
/// `optional<T>`, `expected<T, outcome>`, `variant<T, outcome>`; each also as `boost::asio::awaitable`.
/// On gcc 12 name an awaited value before you switch on it: `switch (co_await ...)` breaks the coroutine's frame.
/// Source: service specification section 4.
#pragma once

#include <tern/service/detail/arguments.hpp>
#include <tern/service/detail/returns.hpp>

#include <boost/asio/awaitable.hpp>

#include <span>
#include <vector>

namespace tern::service::detail {

// One per registration, called by its subscription loop on the application's thread. Owns the handler object, so lambda
// captures outlive every coroutine made from it.
class handler_base {
 public:
  virtual ~handler_base() = default;
  virtual bool asynchronous() const = 0;
  virtual bool batched() const = 0;
  // Decode, extract, call. `run_now` for plain functions, `run` for coroutines.
  virtual void run_now(context& delivery, handled& made) = 0;
  virtual boost::asio::awaitable<void> run(context& delivery, handled& made) = 0;
  // The same for a batch; `made` has one entry per delivery. Undecodable elements are marked and left out of the span.
  virtual void run_batch_now(std::span<context* const> deliveries, std::span<handled> made) = 0;
  virtual boost::asio::awaitable<void> run_batch(std::span<context* const> deliveries, std::span<handled> made) = 0;
};

// Exceptions of a handler end here; cancellation is told apart, since it is no failure of the handler (9).
void note_exception(handled& made) noexcept;  // call inside a catch block

template <class Handler, class Traits>
class typed_handler final : public handler_base {
  using call = callable<Handler>;
  using state_type = typename Traits::state_type;
  using codec_type = typename Traits::codec_type;
  using results = return_value<typename call::value_type, typename Traits::replies>;
  static constexpr bool is_batch = is_batch_call<call>;
  using arguments = std::conditional_t<is_batch, no_arguments, argument_pack<typename call::arguments, Traits>>;

 public:
  typed_handler(Handler handler, std::vector<reply_target> targets)
      : handler_(std::move(handler)), targets_(std::move(targets)) {}

  bool asynchronous() const override { return call::asynchronous; }
  bool batched() const override { return is_batch; }

  void run_now(context& delivery, handled& made) override {
    if constexpr (!call::asynchronous && !is_batch) {
      try {
        arguments pack;
        if (!pack.prepare(delivery, made)) return;
        if constexpr (std::is_void_v<typename call::value_type>) {
          pack.apply(handler_);
          results::take(made);
        } else {
          results::template take<codec_type>(pack.apply(handler_), made, targets_);
        }
        pack.release(made.result);
      } catch (...) {
        note_exception(made);
      }
    }
  }

  boost::asio::awaitable<void> run(context& delivery, handled& made) override {
    if constexpr (call::asynchronous && !is_batch) {
      arguments pack;
      try {
        if (!pack.prepare(delivery, made)) co_return;
        auto pending = pack.apply(handler_);
        if constexpr (std::is_void_v<typename call::value_type>) {
          co_await std::move(pending);
          results::take(made);
        } else {
          auto value = co_await std::move(pending);
          results::template take<codec_type>(std::move(value), made, targets_);
        }
        pack.release(made.result);
      } catch (...) {
        note_exception(made);
      }
    }
    co_return;
  }

  void run_batch_now(std::span<context* const> deliveries, std::span<handled> made) override {
    if constexpr (is_batch && !call::asynchronous) {
      batch_elements<call, Traits> elements;
      if (!elements.prepare(deliveries, made)) return;
      try {
        if constexpr (std::is_void_v<typename call::value_type>) {
          elements.apply(handler_, deliveries);
          elements.settle_all(ack(), true, made);
        } else {
          elements.settle(elements.apply(handler_, deliveries), made);
        }
      } catch (...) {
        elements.note_exception(made);
      }
    }
  }

  boost::asio::awaitable<void> run_batch(std::span<context* const> deliveries, std::span<handled> made) override {
    if constexpr (is_batch && call::asynchronous) {
      batch_elements<call, Traits> elements;
      if (!elements.prepare(deliveries, made)) co_return;
      try {
        auto pending = elements.apply(handler_, deliveries);
        if constexpr (std::is_void_v<typename call::value_type>) {
          co_await std::move(pending);
          elements.settle_all(ack(), true, made);
        } else {
          auto value = co_await std::move(pending);
          elements.settle(std::move(value), made);
        }
      } catch (...) {
        elements.note_exception(made);
      }
    }
    co_return;
  }

 private:
  Handler handler_;
  std::vector<reply_target> targets_;
};

}  // namespace tern::service::detail
