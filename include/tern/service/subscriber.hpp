/// A registration: what to listen to, the handler, and how its deliveries are treated.
///
///     using namespace std::chrono_literals;
///     auto capture_payments =
///         subscriber(jetstream("payments.authorized").stream("PAYMENTS").durable("capture").ack_wait(60s), capture)
///             .reply<captured>()
///             .max_attempts(5)
///             .dead_letter("payments.dead");
///
/// Options that contradict each other are found when the application starts: errc::invalid_options.
/// Source: service specification sections 3, 7-10, 14.
#pragma once

#include <tern/service/descriptor.hpp>
#include <tern/service/handler.hpp>
#include <tern/service/publisher.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

namespace tern::service {

enum class reply_route {
  automatic,  ///< into a stream when one captures the subject at the start, else over Core; the choice is logged
  core,
  stream,
};

/// When a consumer disappears under a running subscription (18).
enum class stream_end { recreate, fail_fast, degrade };

struct registration_options {
  std::string name;  // default: the subject
  std::size_t workers = 1;
  bool by_key = false;
  std::string key_header = "nats-partition-key";
  std::optional<std::size_t> batch;
  std::optional<std::chrono::nanoseconds> linger;
  std::optional<std::uint64_t> max_attempts;
  std::string dead_letter;
  bool dead_letter_confirmed = true;
  std::optional<failure_action> on_decode_failure;
  std::optional<failure_action> on_panic;
  bool keep_alive = false;
  std::optional<std::pair<std::chrono::nanoseconds, outcome>> timeout;
  bool ack_sync = false;
  std::optional<stream_end> on_stream_end;  // default: recreate, fail_fast for bind()
  std::optional<std::size_t> prefetch;      // default: max(2, 2 * workers)
  std::optional<std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>> retry_backoff;
  reply_route reply_over = reply_route::automatic;
  std::string retry_to;  // where a delayed copy of a wildcard's message goes
  std::chrono::nanoseconds settle_warnings = std::chrono::minutes(1);
};

/// A registration without its types, as the application keeps it.
struct registration {
  std::variant<core, core_wildcard, jetstream_consumer> from;
  registration_options options;
  std::vector<detail::reply_target> replies;
  std::map<std::type_index, destination> outs;
  std::unique_ptr<detail::handler_base> handler;

  bool is_jetstream() const { return std::holds_alternative<jetstream_consumer>(from); }
  const std::string& subject() const {
    return std::visit([](const auto& descriptor) -> const std::string& { return descriptor.subject(); }, from);
  }
};

namespace detail {

template <class State, class Codec, bool Jetstream, class Replies, class Outs>
struct handler_traits {
  using state_type = State;
  using codec_type = Codec;
  using replies = Replies;
  using outs = Outs;
  static constexpr bool jetstream = Jetstream;
};

template <class T, class Tuple>
inline constexpr bool contains = false;
template <class T, class... Each>
inline constexpr bool contains<T, std::tuple<Each...>> = (std::is_same_v<T, Each> || ...);

// The publisher and destination of a slot, found through the delivery's context.
std::pair<publisher, const destination*> slot_of(context& delivery, std::type_index slot);

template <class Slot, class Traits>
struct slot<out<Slot>, Traits> {
  static_assert(contains<Slot, typename Traits::outs>, "out<Slot>: bind the slot with .out<Slot>(destination)");
  using holder = out<Slot>;
  static std::expected<holder, outcome> fill(context& delivery, handled&) {
    auto [with, to] = slot_of(delivery, typeid(Slot));
    return out<Slot>(std::move(with), *to);
  }
  static holder& get(holder& held) { return held; }
};

}  // namespace detail

template <class Descriptor, class Handler, class Codec, bool Batched, class Replies, class Outs>
class subscriber_builder;

template <class Descriptor, class Handler, class Codec, bool Batched, class... Replies, class... Outs>
class subscriber_builder<Descriptor, Handler, Codec, Batched, std::tuple<Replies...>, std::tuple<Outs...>> {
  using self = subscriber_builder;
  static_assert(std::is_same_v<Descriptor, core> || std::is_same_v<Descriptor, core_wildcard> ||
                    std::is_same_v<Descriptor, jetstream_consumer>,
                "the first argument is core(...), core_wildcard(...) or jetstream(subject).stream(name): a JetStream "
                "descriptor needs its stream");

 public:
  subscriber_builder(Descriptor from, Handler handler)
      : made_{std::move(from), {}, {}, {}, nullptr}, handler_(std::move(handler)) {}
  subscriber_builder(registration made, Handler handler) : made_(std::move(made)), handler_(std::move(handler)) {}

  /// In metrics, logs and tests. Default: the subject.
  self name(std::string text) && {
    made_.options.name = std::move(text);
    return std::move(*this);
  }
  /// At most so many handlers at once; the order in which they end is free. Default 1: in order.
  self workers(std::size_t count) && {
    made_.options.workers = count;
    return std::move(*this);
  }
  /// The same, but messages with one key (header `nats-partition-key`) stay in order.
  self workers_by_key(std::size_t count) && {
    made_.options.by_key = true;
    return std::move(*this).workers(count);
  }
  /// Attempts including the first; then the dead letter subject, or drop. Default: without end.
  self max_attempts(std::uint64_t count) && {
    made_.options.max_attempts = count;
    return std::move(*this);
  }
  /// Published, and acknowledged by its stream, before the original is given up.
  self dead_letter(std::string subject) && {
    made_.options.dead_letter = std::move(subject);
    return std::move(*this);
  }
  /// The same over Core, without confirmation.
  self dead_letter_unconfirmed(std::string subject) && {
    made_.options.dead_letter_confirmed = false;
    return std::move(*this).dead_letter(std::move(subject));
  }
  self on_decode_failure(failure_action action) && {
    made_.options.on_decode_failure = action;
    return std::move(*this);
  }
  self on_panic(failure_action action) && {
    made_.options.on_panic = action;
    return std::move(*this);
  }
  /// `+WPI` every half ack wait while the handler runs or the message waits its turn.
  self keep_alive() && {
    made_.options.keep_alive = true;
    return std::move(*this);
  }
  /// Ends the wait for a coroutine handler with this outcome.
  self timeout(std::chrono::nanoseconds after, outcome how) && {
    made_.options.timeout = {after, std::move(how)};
    return std::move(*this);
  }
  /// Waits for the server's confirmation of each acknowledgement.
  self ack_sync() && {
    made_.options.ack_sync = true;
    return std::move(*this);
  }
  self on_stream_end(stream_end policy) && {
    made_.options.on_stream_end = policy;
    return std::move(*this);
  }
  /// Messages asked for at once. Default max(2, 2 * workers): what waits here is on the server's ack wait clock.
  self prefetch(std::size_t count) && {
    made_.options.prefetch = count;
    return std::move(*this);
  }
  /// A bare retry() becomes a delay that doubles from `least` to `most` with the attempts. Default off.
  self retry_backoff(std::chrono::nanoseconds least, std::chrono::nanoseconds most) && {
    made_.options.retry_backoff = {least, most};
    return std::move(*this);
  }
  self reply_over(reply_route route) && {
    made_.options.reply_over = route;
    return std::move(*this);
  }
  self retry_to(std::string subject) && {
    made_.options.retry_to = std::move(subject);
    return std::move(*this);
  }
  self settle_warnings(std::chrono::nanoseconds every) && {
    made_.options.settle_warnings = every;
    return std::move(*this);
  }
  /// Core batches: how long to gather after the first message. Default 10 ms.
  self linger(std::chrono::nanoseconds wait) && {
    made_.options.linger = wait;
    return std::move(*this);
  }

  /// The handler takes std::span<const T>, never more than `size`, never empty.
  auto batch(std::size_t size) && {
    made_.options.batch = size;
    return subscriber_builder<Descriptor, Handler, Codec, true, std::tuple<Replies...>, std::tuple<Outs...>>(
        std::move(made_), std::move(handler_));
  }
  template <class NewCodec>
  auto codec() && {
    return subscriber_builder<Descriptor, Handler, NewCodec, Batched, std::tuple<Replies...>, std::tuple<Outs...>>(
        std::move(made_), std::move(handler_));
  }
  /// What the handler returns is published before the delivery is acknowledged: to the fixed subject of T, else to
  /// `subject`, else (Core only) to the inbox of the request.
  template <class T>
  auto reply(std::string subject = {}) && {
    if constexpr (has_fixed_subject<T>) {
      const std::string fixed(message_traits<T>::subject.text());
      if (!subject.empty() && subject != fixed)
        conflict_ = "reply subject " + subject + " differs from the type's own, " + fixed;
      subject = fixed;
    }
    made_.replies.push_back({std::move(subject)});
    auto next = subscriber_builder<Descriptor, Handler, Codec, Batched, std::tuple<Replies..., T>, std::tuple<Outs...>>(
        std::move(made_), std::move(handler_));
    next.conflict_ = std::move(conflict_);
    return next;
  }
  template <class Slot>
  auto out(destination to) && {
    made_.outs.emplace(typeid(Slot), std::move(to));
    return subscriber_builder<Descriptor, Handler, Codec, Batched, std::tuple<Replies...>, std::tuple<Outs..., Slot>>(
        std::move(made_), std::move(handler_));
  }

  /// For scopes: the registration for an application with this state.
  template <class State>
  result<registration> build() && {
    using call = detail::callable<Handler>;
    static_assert(detail::is_batch_call<call> == Batched,
                  "a handler of std::span<const T> needs .batch(n), and .batch(n) needs such a handler");
    static_assert(!Batched || sizeof...(Replies) == 0, "a batch handler settles; it has no replies");
    using traits = detail::handler_traits<State, Codec, std::is_same_v<Descriptor, jetstream_consumer>,
                                          std::tuple<Replies...>, std::tuple<Outs...>>;
    if (!conflict_.empty()) return fail(errc::invalid_options, made_.subject() + ": " + conflict_);
    made_.handler = std::make_unique<detail::typed_handler<Handler, traits>>(std::move(handler_), made_.replies);
    if (made_.options.name.empty()) made_.options.name = made_.subject();
    return std::move(made_);
  }

 private:
  template <class, class, class, bool, class, class>
  friend class subscriber_builder;
  registration made_;
  Handler handler_;
  std::string conflict_;
};

/// `handler` is a function or an object with one call operator.
template <class Descriptor, class Handler>
auto subscriber(Descriptor from, Handler handler) {
  return subscriber_builder<std::remove_cvref_t<Descriptor>, std::decay_t<Handler>, codec::json_codec, false,
                            std::tuple<>, std::tuple<>>(std::move(from), std::move(handler));
}

}  // namespace tern::service
