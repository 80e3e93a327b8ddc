#include "codec/value_compare.hpp"

#include <cstring>

#include <tern/codec/json.hpp>

namespace tern::codec {
namespace {

std::size_t scalar_size(value_kind kind) {
  switch (kind) {
    case value_kind::boolean:
    case value_kind::int8:
    case value_kind::uint8:
      return 1;
    case value_kind::int16:
    case value_kind::uint16:
      return 2;
    case value_kind::int32:
    case value_kind::uint32:
      return 4;
    case value_kind::int64:
    case value_kind::uint64:
    case value_kind::duration:
    case value_kind::time:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

bool is_empty(const value_type& type, const void* object) {
  if (const std::size_t size = scalar_size(type.kind); size != 0) {
    constexpr char zeros[8] = {};
    return std::memcmp(object, zeros, size) == 0;
  }
  switch (type.kind) {
    case value_kind::float32:
      return *static_cast<const float*>(object) == 0;
    case value_kind::float64:
      return *static_cast<const double*>(object) == 0;
    case value_kind::text:
      return static_cast<const std::string*>(object)->empty();
    case value_kind::text_view:
      return static_cast<const std::string_view*>(object)->empty();
    case value_kind::bytes:
      return static_cast<const json_bytes*>(object)->value.empty();
    case value_kind::raw:
      return static_cast<const raw_json*>(object)->text.empty();
    case value_kind::enumeration:
      return type.enumeration->get(object) == 0;
    case value_kind::optional:
      return type.optional->get(object) == nullptr;
    case value_kind::sequence:
    case value_kind::mapping:
      return type.container->size(object) == 0;
    default:
      return false;  // a record is never empty, as in Go
  }
}

bool same_value(const value_type& type, const void* left, const void* right) {
  if (const std::size_t size = scalar_size(type.kind); size != 0) return std::memcmp(left, right, size) == 0;
  if (type.kind == value_kind::text) {
    return *static_cast<const std::string*>(left) == *static_cast<const std::string*>(right);
  }
  if (type.kind == value_kind::enumeration) return type.enumeration->get(left) == type.enumeration->get(right);
  if (is_empty(type, left) && is_empty(type, right)) return true;
  // Rare kinds: two values are the same when they are written the same.
  std::string left_text;
  std::string right_text;
  write_json(left_text, type, left);
  write_json(right_text, type, right);
  return left_text == right_text;
}

}  // namespace tern::codec
