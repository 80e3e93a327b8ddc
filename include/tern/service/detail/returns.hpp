// What handlers return, made into what the subscription loop works with. (service 4.2, 7)
#pragma once

#include <tern/codec/codec.hpp>
#include <tern/service/message_traits.hpp>
#include <tern/service/outcome.hpp>

#include <boost/asio/awaitable.hpp>

#include <expected>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace tern::service::detail {

// Where a reply goes; an empty subject is the inbox of the request.
struct reply_target {
  std::string subject;
};

struct reply_bytes {
  std::size_t target = 0;  // index of the registration's reply targets
  std::string payload;
  std::string_view content_type;
};

enum class handled_how { completed, decode_failed, extract_failed, threw, cancelled };

// What came of one delivery. Reused from delivery to delivery by the loop that owns it.
struct handled {
  handled_how how = handled_how::completed;
  outcome result = outcome(outcome_kind::none);
  bool asks_for_settlement = true;  // false: the handler returns nothing, so a Core delivery is settled silently
  std::vector<reply_bytes> replies;
  std::string error;  // of decode_failed, threw, or an expected's error side

  void clear() {
    how = handled_how::completed;
    result = outcome(outcome_kind::none);
    asks_for_settlement = true;
    replies.clear();
    error.clear();
  }
};

template <class T>
inline constexpr bool is_expected = false;
template <class T, class E>
inline constexpr bool is_expected<std::expected<T, E>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;

template <class Error>
std::string describe_error(const Error& problem) {
  if constexpr (requires {
                  { problem.message() } -> std::convertible_to<std::string>;
                }) {
    return problem.message();
  } else if constexpr (std::is_convertible_v<const Error&, std::string>) {
    return problem;
  } else if constexpr (requires {
                         { problem.what() } -> std::convertible_to<std::string>;
                       }) {
    return problem.what();
  } else {
    return "the handler returned an error";
  }
}

template <class Codec, class T>
void add_reply(const T& value, std::size_t target, handled& made) {
  reply_bytes& reply = made.replies.emplace_back();
  reply.target = target;
  reply.content_type = Codec::content_type;
  if (auto encoded = Codec::encode(reply.payload, value); !encoded) {
    // What cannot be encoded is an attempt that failed: the input is tried again (7).
    made.replies.clear();
    made.result = retry();
    made.error = "reply: " + encoded.error().message();
  }
}

template <class Value, class Replies>
struct return_value;

template <class Value, class... Reply>
struct return_value<Value, std::tuple<Reply...>> {
  static constexpr bool replies = sizeof...(Reply) != 0;
  using reply_type = std::conditional_t<sizeof...(Reply) == 1, std::tuple_element_t<0, std::tuple<Reply..., void>>,
                                        std::tuple<Reply...>>;

  static void take(handled& made) {  // the handler returns nothing
    static_assert(!replies, "a handler with .reply<T>() must be able to return T");
    made.result = ack();
    made.asks_for_settlement = false;
  }

  template <class Codec, class V>
  static void take(V&& value, handled& made, const std::vector<reply_target>& targets) {
    using type = std::remove_cvref_t<V>;
    if constexpr (std::is_same_v<type, outcome>) {
      static_assert(!replies, "a handler with .reply<T>() must be able to return T");
      made.result = std::forward<V>(value);
    } else if constexpr (is_expected<type>) {
      take_expected<Codec>(std::forward<V>(value), made, targets);
    } else if constexpr (replies) {
      take_reply<Codec>(std::forward<V>(value), made);
    } else {
      static_assert(
          std::is_void_v<V>,
          "this return type needs .reply<T>(): without it a handler returns void, outcome, expected<void, E> or "
          "expected<outcome, E>");
    }
  }

 private:
  template <class Codec, class V>
  static void take_expected(V&& value, handled& made, const std::vector<reply_target>& targets) {
    using type = std::remove_cvref_t<V>;
    using success = typename type::value_type;
    using failure = typename type::error_type;
    if (!value.has_value()) {
      if constexpr (std::is_same_v<failure, outcome>) {
        made.result = std::forward<V>(value).error();
      } else {
        made.error = describe_error(value.error());
        made.result = drop();
      }
    } else if constexpr (std::is_void_v<success>) {
      take(made);
      made.asks_for_settlement = true;
    } else {
      take<Codec>(*std::forward<V>(value), made, targets);
    }
  }

  template <class Codec, class V>
  static void take_reply(V&& value, handled& made) {
    using type = std::remove_cvref_t<V>;
    made.result = ack();
    if constexpr (is_optional<type>) {
      if (value) take_reply<Codec>(*value, made);
    } else if constexpr (is_variant<type>) {
      if (const outcome* settled = std::get_if<outcome>(&value)) {
        made.result = *settled;
      } else {
        take_reply<Codec>(std::get<reply_type>(value), made);
      }
    } else if constexpr (is_tuple<type>) {
      static_assert(std::is_same_v<type, std::tuple<Reply...>>,
                    "the tuple must hold the types of .reply<T>() in order");
      add_all<Codec>(value, made, std::index_sequence_for<Reply...>{});
    } else {
      static_assert(std::is_same_v<type, reply_type>, "the handler returns another type than .reply<T>() names");
      add_reply<Codec>(value, 0, made);
    }
  }

  template <class Codec, class Tuple, std::size_t... Index>
  static void add_all(const Tuple& values, handled& made, std::index_sequence<Index...>) {
    (add_reply<Codec>(std::get<Index>(values), Index, made), ...);
  }
};

}  // namespace tern::service::detail
