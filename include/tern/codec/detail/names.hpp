// Names of members, read from how the compiler prints the address of a member of an object that is never defined.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tern/codec/detail/members.hpp>

namespace tern::codec::detail {

template <class T>
struct holder {
  T value;
};

// Only addresses inside it are taken, at compile time.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

template <class T>
extern const holder<T> phantom;

// A flat list of pointers; std::tuple costs the compiler several times as much.
template <std::size_t Index, class Pointer>
struct pointer_at {
  Pointer pointer;
};
template <class Indices, class... Pointers>
struct pointer_list;
template <std::size_t... Index, class... Pointers>
struct pointer_list<std::index_sequence<Index...>, Pointers...> : pointer_at<Index, Pointers>... {
  constexpr explicit pointer_list(Pointers... pointers) : pointer_at<Index, Pointers>{pointers}... {}
};
template <std::size_t Index, class Pointer>
constexpr Pointer get_pointer(const pointer_at<Index, Pointer>& list) {
  return list.pointer;
}

template <class T>
constexpr auto phantom_members() {
  return with_members(phantom<T>.value, [](auto&... members) {
    return pointer_list<std::index_sequence_for<decltype(members)...>, decltype(&members)...>(&members...);
  });
}

// "... = (& phantom<order>.holder<order>::value.order::id); ...]" and "... = &phantom.value.id]" both end in the name.
consteval std::string_view last_identifier(std::string_view printed) {
  const auto is_identifier = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || static_cast<unsigned char>(letter) >= 0x80;
  };
  std::size_t end = printed.size();
  while (end > 0 && !is_identifier(printed[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_identifier(printed[begin - 1])) --begin;
  return printed.substr(begin, end - begin);
}

template <auto Pointer>
consteval std::string_view pointee_name() {
  const std::string_view printed = __PRETTY_FUNCTION__;
#if defined(__clang__)
  return last_identifier(printed);
#else
  return last_identifier(printed.substr(0, printed.find(';')));
#endif
}

template <class T>
consteval auto aggregate_names() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    [[maybe_unused]] constexpr auto list = phantom_members<T>();
    return std::array<std::string_view, sizeof...(Index)>{pointee_name<get_pointer<Index>(list)>()...};
  }(std::make_index_sequence<member_count<T>>{});
}

template <class T>
inline constexpr auto aggregate_member_names = aggregate_names<T>();

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

}  // namespace tern::codec::detail
