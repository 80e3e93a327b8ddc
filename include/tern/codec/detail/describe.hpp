// Builds the constant descriptions of reflect.hpp. One table per type; everything that runs is in json_reader.cpp and
// json_writer.cpp, so that a record costs the compiler little.
#pragma once

#include <concepts>
#include <memory>

#include <tern/codec/detail/names.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::codec {

/// What TERN_DESCRIBE makes of a class: its members, in order.
template <auto... Members>
struct described_members {
  std::array<std::string_view, sizeof...(Members)> names;
};

}  // namespace tern::codec

namespace tern::codec::detail {

template <class T>
concept listed = requires { tern_describe(std::type_identity<T>{}); };

template <class T, template <class...> class Template>
inline constexpr bool is_instance = false;
template <class... Arguments, template <class...> class Template>
inline constexpr bool is_instance<Template<Arguments...>, Template> = true;

template <class T>
concept has_custom_form = requires(std::string& out, const T& value) { custom_json<T>::write(out, value); };

template <class T>
concept text_mapping = requires { typename T::mapped_type; } && std::same_as<typename T::key_type, std::string>;

template <class T>
concept appendable = (is_instance<T, std::vector> || is_instance<T, std::deque>) && !std::same_as<T, std::vector<bool>>;

template <class T>
concept record = listed<T> || (std::is_aggregate_v<T> && std::is_class_v<T>);

template <class E>
constexpr auto enum_word_table = [] {
  std::array<enum_word, std::size(enum_words<E>::words)> table{};
  for (std::size_t index = 0; index < table.size(); ++index) {
    table[index] = {static_cast<std::int64_t>(enum_words<E>::words[index].first), enum_words<E>::words[index].second};
  }
  return table;
}();

template <class E>
inline constexpr enum_operations enum_operations_of{enum_word_table<E>, requires {requires enum_words<E>::ignore_case;
}  // namespace tern::codec::detail
, [](const void* object) { return static_cast<std::int64_t>(*static_cast<const E*>(object)); },
    [](void* object, std::int64_t value) { *static_cast<E*>(object) = static_cast<E>(value); }
}
;

template <class Optional>
inline constexpr optional_operations optional_operations_of{
    [](const void* object) -> const void* {
      const auto& value = *static_cast<const Optional*>(object);
      return value ? &*value : nullptr;
    },
    [](void* object) -> void* {
      auto& value = *static_cast<Optional*>(object);
      if constexpr (is_instance<Optional, std::unique_ptr>) {
        value = std::make_unique<typename Optional::element_type>();
        return value.get();
      } else {
        return &value.emplace();
      }
    },
    [](void* object) { static_cast<Optional*>(object)->reset(); }};

template <class Sequence>
inline constexpr container_operations sequence_operations_of{
    [](const void* object) { return static_cast<const Sequence*>(object)->size(); },
    [](void* object) { static_cast<Sequence*>(object)->clear(); },
    [](void* object) -> void* { return &static_cast<Sequence*>(object)->emplace_back(); }, nullptr,
    [](const void* object, void* context, element_visitor visit) {
      for (const auto& element : *static_cast<const Sequence*>(object)) visit(context, {}, &element);
    }};

template <class Mapping>
inline constexpr container_operations mapping_operations_of{
    [](const void* object) { return static_cast<const Mapping*>(object)->size(); },
    [](void* object) { static_cast<Mapping*>(object)->clear(); }, nullptr,
    [](void* object, std::string_view key) -> void* { return &(*static_cast<Mapping*>(object))[std::string(key)]; },
    [](const void* object, void* context, element_visitor visit) {
      for (const auto& [key, element] : *static_cast<const Mapping*>(object)) visit(context, key, &element);
    }};

template <class T>
inline constexpr custom_operations custom_operations_of{
    [](json_reader& reader, void* object) { return custom_json<T>::read(reader, *static_cast<T*>(object)); },
    [](std::string& out, const void* object) { custom_json<T>::write(out, *static_cast<const T*>(object)); }};

template <class T>
const record_type& record_type_of();

template <class T>
consteval value_kind integer_kind() {
  constexpr int step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<value_kind>(static_cast<int>(std::is_signed_v<T> ? value_kind::int8 : value_kind::uint8) + step);
}

template <class T>
consteval value_type make_value_type();

template <class T>
inline constexpr value_type value_type_of = make_value_type<T>();

template <class T>
consteval value_type with_kind(value_kind kind) {
  return value_type{.kind = kind};
}

template <class T>
consteval value_type make_value_type() {
  if constexpr (has_custom_form<T>) {
    return {.kind = value_kind::custom, .custom = &custom_operations_of<T>};
  } else if constexpr (std::same_as<T, bool>) {
    return {.kind = value_kind::boolean};
  } else if constexpr (std::integral<T>) {
    return {.kind = integer_kind<T>()};
  } else if constexpr (std::floating_point<T>) {
    static_assert(sizeof(T) <= 8, "long double has no JSON form");
    return {.kind = sizeof(T) == 4 ? value_kind::float32 : value_kind::float64};
  } else if constexpr (std::same_as<T, std::string>) {
    return {.kind = value_kind::text};
  } else if constexpr (std::same_as<T, std::string_view>) {
    return {.kind = value_kind::text_view};
  } else if constexpr (std::same_as<T, nanoseconds>) {
    return {.kind = value_kind::duration};
  } else if constexpr (std::same_as<T, time_point>) {
    return {.kind = value_kind::time};
  } else if constexpr (std::same_as<T, json_bytes>) {
    return {.kind = value_kind::bytes};
  } else if constexpr (std::same_as<T, raw_json>) {
    return {.kind = value_kind::raw};
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(described_enum<T>, "specialise tern::codec::enum_words for this enumeration");
    return {.kind = value_kind::enumeration, .enumeration = &enum_operations_of<T>};
  } else if constexpr (is_instance<T, std::optional>) {
    return {.kind = value_kind::optional,
            .element = &value_type_of<typename T::value_type>,
            .optional = &optional_operations_of<T>};
  } else if constexpr (is_instance<T, std::unique_ptr>) {
    return {.kind = value_kind::optional,
            .element = &value_type_of<typename T::element_type>,
            .optional = &optional_operations_of<T>};
  } else if constexpr (text_mapping<T>) {
    return {.kind = value_kind::mapping,
            .element = &value_type_of<typename T::mapped_type>,
            .container = &mapping_operations_of<T>};
  } else if constexpr (appendable<T>) {
    return {.kind = value_kind::sequence,
            .element = &value_type_of<typename T::value_type>,
            .container = &sequence_operations_of<T>};
  } else {
    static_assert(record<T>, "this type has no JSON form: make it an aggregate or use TERN_DESCRIBE or custom_json");
    return {.kind = value_kind::record, .record = &record_type_of<T>};
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Records

template <class T>
consteval std::span<const member_option> member_options_of() {
  if constexpr (requires { record_traits<T>::json_members; }) {
    return record_traits<T>::json_members;
  } else if constexpr (requires { T::json_members; }) {
    return T::json_members;
  } else {
    return {};
  }
}

template <class T>
consteval omit_when omit_of() {
  if constexpr (requires { record_traits<T>::json_omit; }) {
    return record_traits<T>::json_omit;
  } else if constexpr (requires { T::json_omit; }) {
    return T::json_omit;
  } else {
    return omit_when::never;
  }
}

template <class Owner, class... Pointers>
consteval auto types_behind(const pointer_list<Owner, Pointers...>&) {
  return std::array<const value_type*, sizeof...(Pointers)>{
      &value_type_of<std::remove_cvref_t<std::remove_pointer_t<Pointers>>>...};
}

template <class Class, class Member>
consteval const value_type* type_behind(Member Class::*) {
  return &value_type_of<Member>;
}

// What is known of a record before its layout: names, types, and, from a sample, addresses.
struct member_source {
  std::string_view name;
  const value_type* type;
  const void* address;
};

template <class T>
consteval bool options_name_members(std::span<const std::string_view> names) {
  for (const member_option& option : member_options_of<T>()) {
    bool found = false;
    for (std::string_view name : names) found = found || name == option.member;
    if (!found) return false;
  }
  return true;
}

// In reflect.cpp.
record_type build_record(const void* sample, std::span<const member_source> members,
                         std::span<const member_option> options, omit_when otherwise);

template <class T, auto... Members>
record_type build_listed(const T& sample, described_members<Members...> listed) {
  std::array<member_source, sizeof...(Members)> sources{{{{}, type_behind(Members), &(sample.*Members)}...}};
  for (std::size_t index = 0; index < sources.size(); ++index) sources[index].name = listed.names[index];
  return build_record(&sample, sources, member_options_of<T>(), omit_of<T>());
}

template <class T>
record_type build_aggregate(const T& sample) {
  static_assert(options_name_members<T>(aggregate_member_names<T>), "an option names a member that does not exist");
  static constexpr auto types = types_behind(phantom_members<T>());
  return with_members(sample, [&](auto&... members) {
    std::array<member_source, sizeof...(members)> sources{{{{}, nullptr, &members}...}};
    for (std::size_t index = 0; index < sources.size(); ++index) {
      sources[index].name = aggregate_member_names<T>[index];
      sources[index].type = types[index];
    }
    return build_record(&sample, sources, member_options_of<T>(), omit_of<T>());
  });
}

template <class T>
const record_type& record_type_of() {
  static const T sample{};
  static const record_type built = [] {
    if constexpr (listed<T>) {
      return build_listed<T>(sample, tern_describe(std::type_identity<T>{}));
    } else {
      return build_aggregate<T>(sample);
    }
  }();
  return built;
}

}  // namespace tern::codec::detail

namespace tern::codec {

template <class T>
const value_type& type_of() {
  return detail::value_type_of<T>;
}

template <class T>
std::vector<std::string_view> member_names() {
  std::vector<std::string_view> names;
  for (const member_type& member : detail::record_type_of<T>().members) names.push_back(member.name);
  return names;
}

}  // namespace tern::codec

// ---------------------------------------------------------------------------------------------------------------------
// TERN_DESCRIBE(type, member, ...), in the namespace of the type. `(member, "name")` renames.

#define TERN_DESCRIBE_PARENS ()
#define TERN_DESCRIBE_EXPAND(...) \
  TERN_DESCRIBE_EXPAND3(TERN_DESCRIBE_EXPAND3(TERN_DESCRIBE_EXPAND3(TERN_DESCRIBE_EXPAND3(__VA_ARGS__))))
#define TERN_DESCRIBE_EXPAND3(...) \
  TERN_DESCRIBE_EXPAND2(TERN_DESCRIBE_EXPAND2(TERN_DESCRIBE_EXPAND2(TERN_DESCRIBE_EXPAND2(__VA_ARGS__))))
#define TERN_DESCRIBE_EXPAND2(...) \
  TERN_DESCRIBE_EXPAND1(TERN_DESCRIBE_EXPAND1(TERN_DESCRIBE_EXPAND1(TERN_DESCRIBE_EXPAND1(__VA_ARGS__))))
#define TERN_DESCRIBE_EXPAND1(...) __VA_ARGS__

#define TERN_DESCRIBE_EACH(macro, type, ...) \
  __VA_OPT__(TERN_DESCRIBE_EXPAND(TERN_DESCRIBE_STEP(macro, type, __VA_ARGS__)))
#define TERN_DESCRIBE_STEP(macro, type, member, ...) \
  macro(type, member) __VA_OPT__(, TERN_DESCRIBE_AGAIN TERN_DESCRIBE_PARENS(macro, type, __VA_ARGS__))
#define TERN_DESCRIBE_AGAIN() TERN_DESCRIBE_STEP

// Tells `(member, "name")` from `member`.
#define TERN_DESCRIBE_PROBE(...) ~, 1
#define TERN_DESCRIBE_SECOND(first, second, ...) second
#define TERN_DESCRIBE_IS_PAIR(...) TERN_DESCRIBE_SECOND(__VA_ARGS__, 0, )
#define TERN_DESCRIBE_JOIN(left, right) TERN_DESCRIBE_JOIN_(left, right)
#define TERN_DESCRIBE_JOIN_(left, right) left##right
#define TERN_DESCRIBE_KIND(member) TERN_DESCRIBE_IS_PAIR(TERN_DESCRIBE_PROBE member)
#define TERN_DESCRIBE_FIRST_0(member) member
#define TERN_DESCRIBE_FIRST_1(member) TERN_DESCRIBE_FIRST_OF member
#define TERN_DESCRIBE_FIRST_OF(member, name) member
#define TERN_DESCRIBE_NAME_0(member) #member
#define TERN_DESCRIBE_NAME_1(member) TERN_DESCRIBE_NAME_OF member
#define TERN_DESCRIBE_NAME_OF(member, name) name
#define TERN_DESCRIBE_POINTER(type, member) \
  &type::TERN_DESCRIBE_JOIN(TERN_DESCRIBE_FIRST_, TERN_DESCRIBE_KIND(member))(member)
#define TERN_DESCRIBE_TEXT(type, member) TERN_DESCRIBE_JOIN(TERN_DESCRIBE_NAME_, TERN_DESCRIBE_KIND(member))(member)

#define TERN_DESCRIBE(type, ...)                                                                           \
  [[maybe_unused]] constexpr auto tern_describe(std::type_identity<type>) {                                \
    return ::tern::codec::described_members<TERN_DESCRIBE_EACH(TERN_DESCRIBE_POINTER, type, __VA_ARGS__)>{ \
        {TERN_DESCRIBE_EACH(TERN_DESCRIBE_TEXT, type, __VA_ARGS__)}};                                      \
  }
