/// A compile error where gcc 12 would destroy a temporary twice.
///
/// gcc before 13 destroys twice any *braced temporary of a non-trivially-destructible aggregate* inside a `co_await`
/// expression: `co_await js.create_stream(stream_config{.name = "ORDERS"})` is a double free. Functions of the client
/// that take records therefore delete their overload for such rvalues while that compiler is used. Name the value
/// first:
///
///     stream_config orders{.name = "ORDERS", .subjects = {"orders.>"}};
///     auto created = co_await js.create_stream(orders);
///
/// Options are classes with chained setters and therefore safe in place. clang and gcc 13 are not affected.
/// Source: design 3.
#pragma once

#include <type_traits>

namespace tern::client {

#if defined(__GNUC__) && __GNUC__ < 13 && !defined(__clang__)
inline constexpr bool compiler_destroys_temporaries_twice = true;
#else
inline constexpr bool compiler_destroys_temporaries_twice = false;
#endif

/// True for an argument deduced as `T&&` that must not stand in a co_await expression.
template <class T>
concept unsafe_in_co_await = compiler_destroys_temporaries_twice && !std::is_lvalue_reference_v<T> &&
                             std::is_aggregate_v<std::remove_cvref_t<T>> && !std::is_array_v<std::remove_cvref_t<T>> &&
                             !std::is_trivially_destructible_v<std::remove_cvref_t<T>>;

}  // namespace tern::client
