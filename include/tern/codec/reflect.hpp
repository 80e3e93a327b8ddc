/// Plain C++ records as data: their members, names and types, without macros.
///
///     struct order {
///       std::string id;
///       std::int64_t amount = 0;
///       std::optional<std::string> note;
///     };
///     auto text = tern::codec::to_json(order{"o-1", 1299});       // {"id":"o-1","amount":1299}
///
/// What a record may tell about its members stands in the record, as `json_members`:
///
///     struct stream_limits {
///       std::string name;
///       std::int64_t max_messages = -1;
///       std::chrono::nanoseconds max_age{};
///       static constexpr tern::codec::member_option json_members[] = {
///           {"max_messages", {.name = "max_msgs"}},
///           {"max_age", {.omit = tern::codec::omit_when::empty}},
///           {"name", {.required = true}}};
///     };
///
/// For a type of somebody else, specialise `record_traits`. A trailing underscore is not part of the name on the wire
/// (`export_` is written "export"). Classes that are no aggregates are listed by TERN_DESCRIBE(type, member, ...).
/// Thread safety: descriptions are built once, thread safe, and never change. Source: service specification section 13.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tern/base/time.hpp>
#include <tern/codec/detail/members.hpp>

namespace tern::codec {

/// When a member is left out of the written text. An absent std::optional is always left out.
enum class omit_when : std::uint8_t {
  never,
  empty,          ///< false, 0, "", no elements (Go's `omitempty`)
  default_value,  ///< equal to what a default-constructed record has
};

struct member_rule {
  std::string_view name = {};  ///< on the wire; empty: the member's own
  omit_when omit = omit_when::never;
  bool required = false;  ///< reading fails when it is absent or null
  bool flatten = false;   ///< a record whose members stand in the outer object
};

struct member_option {
  std::string_view member;
  member_rule rule;
};

/// Options of a record's members. The primary template takes them from `T::json_members`; a record may also set
/// `static constexpr tern::codec::omit_when json_omit = ...` for all members that have no option of their own.
template <class T>
struct record_traits {};

/// The words of an enumeration:
///
///     template <> struct tern::codec::enum_words<retention> {
///       static constexpr std::pair<retention, std::string_view> words[] = {{retention::limits, "limits"}, ...};
///       static constexpr bool ignore_case = true;   // optional, for reading
///     };
template <class E>
struct enum_words {};

template <class E>
concept described_enum = std::is_enum_v<E> && requires { enum_words<E>::words; };

template <described_enum E>
constexpr std::string_view to_word(E value) {
  for (const auto& [known, word] : enum_words<E>::words) {
    if (known == value) return word;
  }
  return {};
}

namespace detail {
bool equal_ignoring_case(std::string_view left, std::string_view right);
}

template <described_enum E>
std::optional<E> from_word(std::string_view text) {
  for (const auto& [known, word] : enum_words<E>::words) {
    if (word == text) return known;
    if constexpr (requires { requires enum_words<E>::ignore_case; }) {
      if (detail::equal_ignoring_case(word, text)) return known;
    }
  }
  return std::nullopt;
}

/// Bytes that are written as standard base64 with padding (Go's `[]byte`).
struct json_bytes {
  std::string value;
  friend bool operator==(const json_bytes&, const json_bytes&) = default;
};

/// JSON text that is kept and written verbatim; empty is written as null.
struct raw_json {
  std::string text;
  friend bool operator==(const raw_json&, const raw_json&) = default;
};

class json_reader;

/// Hook for types with a form of their own: specialise with
/// `static bool read(json_reader& reader, T& value)` (false after reader.fail("expected ...")) and
/// `static void write(std::string& out, const T& value)`.
template <class T>
struct custom_json {};

// ---------------------------------------------------------------------------------------------------------------------
// What readers and writers work from: one constant description per type, free of templates.

enum class value_kind : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  text,
  text_view,
  duration,
  time,
  bytes,
  raw,
  enumeration,
  optional,
  sequence,
  mapping,
  record,
  custom,
};

struct record_type;
struct value_type;

struct enum_word {
  std::int64_t value;
  std::string_view word;
};

struct enum_operations {
  std::span<const enum_word> words;
  bool ignore_case;
  std::int64_t (*get)(const void* object);
  void (*set)(void* object, std::int64_t value);
};

struct optional_operations {
  const void* (*get)(const void* object);  // null when absent
  void* (*emplace)(void* object);
  void (*reset)(void* object);
};

// Calls `visit(context, key, element)`; key is empty for sequences.
using element_visitor = void (*)(void* context, std::string_view key, const void* element);

struct container_operations {
  std::size_t (*size)(const void* object);
  void (*clear)(void* object);
  void* (*append)(void* object);                        // sequences whose elements have addresses
  void* (*insert)(void* object, std::string_view key);  // mappings
  void (*visit)(const void* object, void* context, element_visitor visit);
};

struct custom_operations {
  bool (*read)(json_reader& reader, void* object);
  void (*write)(std::string& out, const void* object);
};

struct value_type {
  value_kind kind;
  const value_type* element = nullptr;  // optional, sequence, mapping
  const record_type& (*record)() = nullptr;
  union {
    const void* none = nullptr;
    const enum_operations* enumeration;
    const optional_operations* optional;
    const container_operations* container;
    const custom_operations* custom;
  };
};

struct member_type {
  std::string_view name;
  const value_type* type;
  std::uint32_t offset;
  omit_when omit;
  bool required;
};

struct record_type {
  std::vector<member_type> members;  // flattened ones included, at most record_members_max
  const void* sample;                // a default-constructed record
  bool has_required = false;         // whether any member is required
};

inline constexpr std::size_t record_members_max = 256;  // a reader marks the ones seen in a fixed bitmap

/// The description of a type; a compile error names types that have none.
template <class T>
const value_type& type_of();

/// The names of a record's members on the wire, in order.
template <class T>
std::vector<std::string_view> member_names();

}  // namespace tern::codec

#include <tern/codec/detail/describe.hpp>
