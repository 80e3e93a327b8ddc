// Writing: appends the text of a described value. No state, no allocation beyond the output.
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include <tern/codec/json.hpp>

#include "codec/value_compare.hpp"

namespace tern::codec {
namespace {

template <class Number>
void append_number(std::string& out, Number value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, static_cast<std::size_t>(end.ptr - digits));
}

template <class Float>
void append_float(std::string& out, Float value) {
  // JSON has no infinities; what cannot be written is null.
  if (std::isfinite(value)) {
    append_number(out, value);
  } else {
    out += "null";
  }
}

// 0: as it is, 'u': \u00XX, else the letter of a short escape. Bytes from 0x80 on are looked at apart.
constexpr std::array<char, 256> escapes = [] {
  std::array<char, 256> table{};
  for (int letter = 0; letter < 0x20; ++letter) table[static_cast<std::size_t>(letter)] = 'u';
  table['"'] = '"';
  table['\\'] = '\\';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  for (std::size_t letter = 0x80; letter < 0x100; ++letter) table[letter] = '8';
  return table;
}();

// Length of the well-formed UTF-8 sequence at the begin of the text, 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const auto continues = [&](std::size_t index) { return index < text.size() && (byte(index) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;   // longer than needed
    if (first == 0xED && byte(1) >= 0xA0) return 0;  // surrogates
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
    return 4;
  }
  return 0;
}

bool is_left_out(const member_type& member, const void* value, const void* sample) {
  if (member.type->kind == value_kind::optional && member.type->optional->get(value) == nullptr) return true;
  switch (member.omit) {
    case omit_when::never:
      return false;
    case omit_when::empty:
      return is_empty(*member.type, value);
    case omit_when::default_value:
      return same_value(*member.type, value, static_cast<const char*>(sample) + member.offset);
  }
  return false;
}

void write_record(std::string& out, const record_type& record, const void* object) {
  out += '{';
  bool first = true;
  for (const member_type& member : record.members) {
    const void* value = static_cast<const char*>(object) + member.offset;
    if (is_left_out(member, value, record.sample)) continue;
    if (!first) out += ',';
    first = false;
    write_json_string(out, member.name);
    out += ':';
    write_json(out, *member.type, value);
  }
  out += '}';
}

struct container_context {
  std::string* out;
  const value_type* element;
  bool first = true;
};

void write_container(std::string& out, const value_type& type, const void* object) {
  const bool keyed = type.kind == value_kind::mapping;
  container_context context{&out, type.element};
  out += keyed ? '{' : '[';
  const element_visitor visit = keyed ? element_visitor([](void* raw, std::string_view key, const void* element) {
    auto& at = *static_cast<container_context*>(raw);
    if (!at.first) *at.out += ',';
    at.first = false;
    write_json_string(*at.out, key);
    *at.out += ':';
    write_json(*at.out, *at.element, element);
  })
                                      : element_visitor([](void* raw, std::string_view, const void* element) {
                                          auto& at = *static_cast<container_context*>(raw);
                                          if (!at.first) *at.out += ',';
                                          at.first = false;
                                          write_json(*at.out, *at.element, element);
                                        });
  type.container->visit(object, &context, visit);
  out += keyed ? '}' : ']';
}

void write_enumeration(std::string& out, const enum_operations& enumeration, const void* object) {
  const std::int64_t value = enumeration.get(object);
  for (const enum_word& known : enumeration.words) {
    if (known.value == value) {
      write_json_string(out, known.word);
      return;
    }
  }
  append_number(out, value);
}

template <class T>
const T& as(const void* object) {
  return *static_cast<const T*>(object);
}

}  // namespace

void write_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char escape = escapes[static_cast<unsigned char>(text[at])];
    if (escape == 0) [[likely]] {
      ++at;
      continue;
    }
    if (escape == '8') {
      if (const std::size_t length = utf8_length(text.substr(at)); length != 0) {
        at += length;
        continue;
      }
    }
    out.append(text, done, at - done);
    if (escape == '8') {
      out += "\xEF\xBF\xBD";
    } else if (escape == 'u') {
      constexpr char hexadecimal[] = "0123456789abcdef";
      const auto letter = static_cast<unsigned char>(text[at]);
      out += "\\u00";
      out += hexadecimal[letter >> 4];
      out += hexadecimal[letter & 15];
    } else {
      out += '\\';
      out += escape;
    }
    done = ++at;
  }
  out.append(text, done);
  out += '"';
}

void write_json_number(std::string& out, std::int64_t value) { append_number(out, value); }
void write_json_number(std::string& out, std::uint64_t value) { append_number(out, value); }
void write_json_number(std::string& out, double value) { append_float(out, value); }

void write_json(std::string& out, const value_type& type, const void* object) {
  switch (type.kind) {
    case value_kind::boolean:
      out += as<bool>(object) ? "true" : "false";
      return;
    case value_kind::int8:
      append_number(out, static_cast<int>(as<std::int8_t>(object)));
      return;
    case value_kind::int16:
      append_number(out, as<std::int16_t>(object));
      return;
    case value_kind::int32:
      append_number(out, as<std::int32_t>(object));
      return;
    case value_kind::int64:
      append_number(out, as<std::int64_t>(object));
      return;
    case value_kind::uint8:
      append_number(out, static_cast<unsigned>(as<std::uint8_t>(object)));
      return;
    case value_kind::uint16:
      append_number(out, as<std::uint16_t>(object));
      return;
    case value_kind::uint32:
      append_number(out, as<std::uint32_t>(object));
      return;
    case value_kind::uint64:
      append_number(out, as<std::uint64_t>(object));
      return;
    case value_kind::float32:
      append_float(out, as<float>(object));
      return;
    case value_kind::float64:
      append_float(out, as<double>(object));
      return;
    case value_kind::text:
      write_json_string(out, as<std::string>(object));
      return;
    case value_kind::text_view:
      write_json_string(out, as<std::string_view>(object));
      return;
    case value_kind::duration:
      append_number(out, as<nanoseconds>(object).count());
      return;
    case value_kind::time:
      out.append(1, '"').append(to_rfc3339(as<time_point>(object))).append(1, '"');
      return;
    case value_kind::bytes:
      out.append(1, '"').append(to_base64(as<json_bytes>(object).value)).append(1, '"');
      return;
    case value_kind::raw: {
      const auto& text = as<raw_json>(object).text;
      out += text.empty() ? std::string_view("null") : std::string_view(text);
      return;
    }
    case value_kind::enumeration:
      write_enumeration(out, *type.enumeration, object);
      return;
    case value_kind::optional: {
      const void* value = type.optional->get(object);
      if (value == nullptr) {
        out += "null";
      } else {
        write_json(out, *type.element, value);
      }
      return;
    }
    case value_kind::sequence:
    case value_kind::mapping:
      write_container(out, type, object);
      return;
    case value_kind::record:
      write_record(out, type.record(), object);
      return;
    case value_kind::custom:
      type.custom->write(out, object);
      return;
  }
}

}  // namespace tern::codec
