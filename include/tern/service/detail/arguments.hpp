// Parameters of a handler, resolved by type when it is compiled. (service 4.1)
#pragma once

#include <tern/codec/codec.hpp>
#include <tern/codec/reflect.hpp>
#include <tern/service/context.hpp>
#include <tern/service/detail/returns.hpp>
#include <tern/service/detail/state_members.hpp>

#include <boost/asio/awaitable.hpp>

#include <charconv>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tern::service::detail {

// --- callables ---
template <class R>
struct unwrapped {
  using type = R;
  static constexpr bool asynchronous = false;
};
template <class R>
struct unwrapped<boost::asio::awaitable<R>> {
  using type = R;
  static constexpr bool asynchronous = true;
};

template <class R, class... A>
struct signature {
  using arguments = std::tuple<A...>;
  using value_type = typename unwrapped<R>::type;
  static constexpr bool asynchronous = unwrapped<R>::asynchronous;
};
template <class F>
struct callable : callable<decltype(&F::operator())> {};
template <class R, class... A>
struct callable<R (*)(A...)> : signature<R, A...> {};
template <class R, class... A>
struct callable<R (*)(A...) noexcept> : signature<R, A...> {};
template <class C, class R, class... A>
struct callable<R (C::*)(A...)> : signature<R, A...> {};
template <class C, class R, class... A>
struct callable<R (C::*)(A...) const> : signature<R, A...> {};
template <class C, class R, class... A>
struct callable<R (C::*)(A...) noexcept> : signature<R, A...> {};
template <class C, class R, class... A>
struct callable<R (C::*)(A...) const noexcept> : signature<R, A...> {};

template <class T>
inline constexpr bool is_span = false;
template <class T>
inline constexpr bool is_span<std::span<const T>> = true;

template <class Tuple>
struct first_of {
  using type = void;
};
template <class First, class... Rest>
struct first_of<std::tuple<First, Rest...>> {
  using type = First;
};
template <class Call>
inline constexpr bool is_batch_call = is_span<std::remove_cvref_t<typename first_of<typename Call::arguments>::type>>;

// --- payload ---
template <class T>
concept self_decoding = requires(std::string_view bytes) {
  { T::from_bytes(bytes) } -> std::same_as<result<T>>;
};

template <class T, class Codec>
result<T> decode_payload(std::string_view bytes) {
  if constexpr (std::is_same_v<T, raw_view>) {
    return raw_view{bytes};
  } else if constexpr (self_decoding<T>) {
    return T::from_bytes(bytes);
  } else {
    static_assert(!std::is_same_v<T, std::string_view> && !std::is_same_v<T, std::span<const std::byte>>,
                  "a handler that takes bare bytes skips decoding: take raw_view to say so");
    static_assert(codec::codec_for<Codec, T>,
                  "the codec of this registration cannot decode the first parameter's type");
    return Codec::template decode<T>(bytes);
  }
}

// --- the other parameters: slot<P>::fill(context) gives expected<holder, outcome>, get(holder) what is passed ---
template <class P, class Traits>
struct slot;

template <class Traits>
struct slot<context, Traits> {
  using holder = context*;
  static std::expected<holder, outcome> fill(context& delivery, handled&) { return &delivery; }
  static context& get(holder& held) { return *held; }
};
template <class Key>
std::optional<typename Key::value_type> broker_field(const context& delivery) {
  const auto& from = delivery.jetstream();
  if (!from) return std::nullopt;
  if constexpr (std::is_same_v<Key, nats::stream>)
    return from->stream;
  else if constexpr (std::is_same_v<Key, nats::consumer>)
    return from->consumer;
  else if constexpr (std::is_same_v<Key, nats::stream_sequence>)
    return from->stream_sequence;
  else if constexpr (std::is_same_v<Key, nats::consumer_sequence>)
    return from->consumer_sequence;
  else if constexpr (std::is_same_v<Key, nats::delivered>)
    return from->delivered;
  else if constexpr (std::is_same_v<Key, nats::pending>)
    return from->pending;
  else
    return from->timestamp;
}
template <class Key, class Traits>
struct slot<field<Key>, Traits> {
  using holder = field<Key>;
  static std::expected<holder, outcome> fill(context& delivery, handled&) {
    return field<Key>(broker_field<Key>(delivery));
  }
  static holder& get(holder& held) { return held; }
};
template <class Traits>
struct slot<nats::delivered_count, Traits> {
  static_assert(Traits::jetstream,
                "nats::delivered_count needs a JetStream descriptor; a Core delivery has none: take "
                "field<nats::delivered>, which is empty there");
  using holder = nats::delivered_count;
  static std::expected<holder, outcome> fill(context& delivery, handled&) {
    return nats::delivered_count(delivery.jetstream() ? delivery.jetstream()->delivered : 1);
  }
  static holder& get(holder& held) { return held; }
};
template <class T, class Traits>
struct slot<state<T>, Traits> {
  using holder = state<T>;
  static std::expected<holder, outcome> fill(context& delivery, handled&) {
    return state<T>(state_member<T>(*static_cast<typename Traits::state_type*>(delivery.app_state())));
  }
  static holder& get(holder& held) { return held; }
};
template <class Traits>
struct slot<deadline, Traits> {
  using holder = deadline;
  static std::expected<holder, outcome> fill(context& delivery, handled&) { return deadline{delivery.deadline()}; }
  static holder& get(holder& held) { return held; }
};

// Reads one member of a header contract; the description of T tells names and kinds.
bool read_header_record(const codec::value_type& type, void* object, context& delivery, std::string& problem);

template <class T, class Traits>
struct slot<headers<T>, Traits> {
  using holder = headers<T>;
  static std::expected<holder, outcome> fill(context& delivery, handled& made) {
    T value{};
    if (!read_header_record(codec::type_of<T>(), &value, delivery, made.error)) {
      made.how = handled_how::decode_failed;
      return std::unexpected(drop());
    }
    return headers<T>(std::move(value));
  }
  static holder& get(holder& held) { return held; }
};
template <extractable X, class Traits>
struct slot<X, Traits> {
  using holder = X;
  static std::expected<holder, outcome> fill(context& delivery, handled& made) {
    auto made_of_it = extractor<X>::extract(delivery);
    if (!made_of_it) made.how = handled_how::extract_failed;
    return made_of_it;
  }
  static holder& get(holder& held) { return held; }
};

template <class P, class Traits>
concept resolvable = requires { typename slot<std::remove_cvref_t<P>, Traits>::holder; };

template <std::size_t Position, class P, class Traits>
struct checked_slot : slot<std::remove_cvref_t<P>, Traits> {
  static_assert(
      resolvable<P, Traits>,
      "a parameter behind the payload (its position is the first template argument, the payload is 0) is none of "
      "context&, field<K>, nats::delivered_count, state<T>, headers<T>, deadline, or a type with an extractor");
};

struct no_arguments {};

template <class P>
inline constexpr bool is_contract = false;
template <class T>
inline constexpr bool is_contract<headers<T>> = true;

template <class Arguments, class Traits>
class argument_pack;

template <class Traits>
class argument_pack<std::tuple<>, Traits> {
  static_assert(sizeof(Traits) == 0, "a handler's first parameter is the payload");
};

template <class First, class... Rest, class Traits>
class argument_pack<std::tuple<First, Rest...>, Traits> {
  using payload_type = std::remove_cvref_t<First>;
  static_assert(!std::is_lvalue_reference_v<First> || std::is_const_v<std::remove_reference_t<First>>,
                "the payload parameter is `const T&` or `T`");

 public:
  // Header contracts first, then the payload, then extractors in order (5, step 4). False: `made` tells why.
  bool prepare(context& delivery, handled& made) { return prepare(delivery, made, std::index_sequence_for<Rest...>{}); }

  template <class Handler>
  decltype(auto) apply(Handler& handler) {
    return apply(handler, std::index_sequence_for<Rest...>{});
  }

  // Extractors that want to know how it ended.
  void release(const outcome& how) { release(how, std::index_sequence_for<Rest...>{}); }

 private:
  template <std::size_t Index>
  using slot_at = checked_slot<Index + 1, std::tuple_element_t<Index, std::tuple<Rest...>>, Traits>;
  template <std::size_t... Index>
  bool prepare(context& delivery, handled& made, std::index_sequence<Index...>) {
    if (!(fill<Index, true>(delivery, made) && ...)) return false;
    auto decoded = decode_payload<payload_type, typename Traits::codec_type>(delivery.payload());
    if (!decoded) {
      made.how = handled_how::decode_failed;
      made.error = decoded.error().message();
      return false;
    }
    payload_.emplace(*std::move(decoded));
    return (fill<Index, false>(delivery, made) && ...);
  }

  template <std::size_t Index, bool Contracts>
  bool fill(context& delivery, handled& made) {
    using parameter = std::remove_cvref_t<std::tuple_element_t<Index, std::tuple<Rest...>>>;
    if constexpr (is_contract<parameter> == Contracts) {
      auto filled = slot_at<Index>::fill(delivery, made);
      if (!filled) {
        made.result = std::move(filled).error();
        return false;
      }
      std::get<Index>(rest_).emplace(*std::move(filled));
    }
    return true;
  }

  template <class Handler, std::size_t... Index>
  decltype(auto) apply(Handler& handler, std::index_sequence<Index...>) {
    if constexpr (std::is_reference_v<First>) {
      return handler(std::as_const(*payload_), slot_at<Index>::get(*std::get<Index>(rest_))...);
    } else {
      return handler(std::move(*payload_), slot_at<Index>::get(*std::get<Index>(rest_))...);
    }
  }

  template <std::size_t... Index>
  void release(const outcome& how, std::index_sequence<Index...>) {
    (release_one<std::remove_cvref_t<std::tuple_element_t<Index, std::tuple<Rest...>>>>(*std::get<Index>(rest_), how),
     ...);
  }
  template <class P, class Held>
  static void release_one(Held& held, const outcome& how) {
    if constexpr (requires { extractor<P>::release(held, how); }) extractor<P>::release(held, how);
  }

  std::optional<payload_type> payload_;
  std::tuple<std::optional<typename slot<std::remove_cvref_t<Rest>, Traits>::holder>...> rest_;
};

// --- batches (8) ---
template <class Call, class Traits>
class batch_elements {
  using span_type = std::remove_cvref_t<typename first_of<typename Call::arguments>::type>;
  using element = std::remove_cv_t<typename span_type::element_type>;
  static_assert(std::tuple_size_v<typename Call::arguments> <= 2,
                "a batch handler takes the span, and at most state<T> beside it");

 public:
  // Decodes each element; undecodable ones are marked and left out. False when nothing is left.
  bool prepare(std::span<context* const> deliveries, std::span<handled> made) {
    for (std::size_t i = 0; i < deliveries.size(); ++i) {
      auto decoded = decode_payload<element, typename Traits::codec_type>(deliveries[i]->payload());
      if (!decoded) {
        made[i].how = handled_how::decode_failed;
        made[i].error = decoded.error().message();
        continue;
      }
      elements_.push_back(*std::move(decoded));
      places_.push_back(i);
    }
    return !elements_.empty();
  }

  template <class Handler>
  decltype(auto) apply(Handler& handler, std::span<context* const> deliveries) {
    if constexpr (std::tuple_size_v<typename Call::arguments> == 1) {
      return handler(span_type(elements_));
    } else {
      using second = std::remove_cvref_t<std::tuple_element_t<1, typename Call::arguments>>;
      handled unused;
      auto filled = checked_slot<1, second, Traits>::fill(*deliveries.front(), unused);
      extra_ = *filled;
      return handler(span_type(elements_), std::any_cast<second&>(extra_));
    }
  }

  void settle_all(const outcome& how, bool silent, std::span<handled> made) {
    for (const std::size_t place : places_) {
      made[place].result = how;
      made[place].asks_for_settlement = !silent;
    }
  }
  void settle(outcome&& how, std::span<handled> made) { settle_all(how, false, made); }
  // By index of the span that was given; too short: the rest is tried again, too long: the rest is ignored; both are
  // noted.
  void settle(std::vector<outcome>&& each, std::span<handled> made) {
    for (std::size_t i = 0; i < places_.size(); ++i) made[places_[i]].result = i < each.size() ? each[i] : retry();
    if (each.size() != places_.size()) {
      made[places_.front()].error = "the handler returned " + std::to_string(each.size()) +
                                    " outcomes for a batch of " + std::to_string(places_.size());
    }
  }
  void note_exception(std::span<handled> made) noexcept;

 private:
  std::vector<element> elements_;
  std::vector<std::size_t> places_;
  std::any extra_;
};

void note_exception(handled& made) noexcept;

template <class Call, class Traits>
void batch_elements<Call, Traits>::note_exception(std::span<handled> made) noexcept {
  for (const std::size_t place : places_) detail::note_exception(made[place]);
}

}  // namespace tern::service::detail
