// Finds the member of an application state that a handler asks for by type. (service 2.7)
#pragma once

#include <tern/codec/detail/members.hpp>

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>

namespace tern::service::detail {

template <class Member, class T>
inline constexpr bool holds = std::is_same_v<Member, T>;
template <class Pointee, class T>
inline constexpr bool holds<std::shared_ptr<Pointee>, T> =
    std::is_same_v<Pointee, T> || std::is_same_v<std::shared_ptr<Pointee>, T>;
template <class Pointee, class Deleter, class T>
inline constexpr bool holds<std::unique_ptr<Pointee, Deleter>, T> =
    std::is_same_v<Pointee, T> || std::is_same_v<std::unique_ptr<Pointee, Deleter>, T>;

template <class T, class Member>
T* member_if(Member& member) {
  if constexpr (std::is_same_v<std::remove_const_t<Member>, T>) {
    return &member;
  } else if constexpr (holds<std::remove_const_t<Member>, T>) {
    return member.get();
  } else {
    return nullptr;
  }
}

template <class T, class State>
T& state_member(State& state) {
  if constexpr (std::is_same_v<T, State>) {
    return state;
  } else {
    static_assert(std::is_aggregate_v<State>, "state<T>: the application's state is no aggregate and is not T itself");
    return codec::detail::with_members(state, [](auto&... members) -> T& {
      constexpr std::size_t matches =
          (std::size_t{0} + ... + std::size_t{holds<std::remove_cvref_t<decltype(members)>, T>});
      static_assert(matches != 0, "state<T>: the application's state has no member of type T");
      static_assert(matches < 2, "state<T>: the application's state has two members of type T");
      T* found = nullptr;
      ((found = found != nullptr ? found : member_if<T>(members)), ...);
      return *found;
    });
  }
}

}  // namespace tern::service::detail
