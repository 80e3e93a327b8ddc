// Reading: the only place that knows simdjson. The text is copied between brackets into a padded buffer of the thread,
// so that scalars at the root are elements like others, then read front to back into the described object. simdjson's
// on-demand interface checks only what is looked at, so ignored values are walked.
#include <cstring>
#include <memory>

#include "codec/document_decoder.hpp"
#include "codec/hook_reader.hpp"

namespace tern::codec {

// A well-formed value of another type is named by what was expected; anything else is malformed.
bool document_decoder::wrong(ondemand::value& value, std::string_view expected) {
  ondemand::json_type found;
  if (value.type().get(found)) return malformed();
  if (found == ondemand::json_type::number && !is_json_number(without_blanks_behind(value.raw_json_token())))
    return malformed();
  if (found == ondemand::json_type::boolean) {
    bool flag;
    if (value.get_bool().get(flag)) return malformed();
  }
  return fail(std::string("expected ").append(expected));
}

template <class Integer>
bool document_decoder::read_integer(ondemand::value& value, void* object) {
  if constexpr (std::is_signed_v<Integer>) {
    std::int64_t number;
    if (!value.get_int64().get(number)) {
      if (!std::in_range<Integer>(number)) return fail("integer out of range");
      *static_cast<Integer*>(object) = static_cast<Integer>(number);
      return true;
    }
  } else {
    std::uint64_t number;
    if (!value.get_uint64().get(number)) {
      if (!std::in_range<Integer>(number)) return fail("integer out of range");
      *static_cast<Integer*>(object) = static_cast<Integer>(number);
      return true;
    }
  }
  const std::string_view token = without_blanks_behind(value.raw_json_token());
  if (token == "-0") {
    *static_cast<Integer*>(object) = 0;
    return true;
  }
  return is_json_integer(token) ? fail("integer out of range") : wrong(value, "integer");
}

template <class Float>
bool document_decoder::read_float(ondemand::value& value, void* object) {
  double number;
  if (value.get_double().get(number)) {
    return is_json_number(without_blanks_behind(value.raw_json_token())) ? fail("number out of range")
                                                                         : wrong(value, "number");
  }
  if (sizeof(Float) == 4 &&
      (number > std::numeric_limits<float>::max() || number < std::numeric_limits<float>::lowest())) {
    return fail("number out of range");
  }
  *static_cast<Float*>(object) = static_cast<Float>(number);
  return true;
}

bool document_decoder::read_text(ondemand::value& value, std::string_view& text) {
  return !value.get_string().get(text) || wrong(value, "string");
}

bool document_decoder::read_word(ondemand::value& value, const enum_operations& enumeration, void* object) {
  std::string_view text;
  if (!read_text(value, text)) return false;
  for (const enum_word& known : enumeration.words) {
    if (known.word == text || (enumeration.ignore_case && detail::equal_ignoring_case(known.word, text))) {
      enumeration.set(object, known.value);
      return true;
    }
  }
  std::string problem = "unknown word ";
  write_json_string(problem, text);
  return fail(problem);
}

bool document_decoder::read_null(ondemand::value& value, const value_type& type, void* object) {
  bool is_null = false;
  if (value.is_null().get(is_null) || !is_null) return malformed();
  if (type.kind == value_kind::optional) type.optional->reset(object);
  if (type.kind == value_kind::sequence || type.kind == value_kind::mapping) type.container->clear(object);
  return true;
}

bool document_decoder::read_optional(ondemand::value& value, const value_type& type, void* object) {
  // A record that is there already is merged into, as it would be outside an optional.
  const bool merge = type.element->kind == value_kind::record && type.optional->get(object) != nullptr;
  void* inner = merge ? const_cast<void*>(type.optional->get(object)) : type.optional->emplace(object);
  return read(value, *type.element, inner);
}

// Null is a value that was left out here too, unless everything must be there.
bool document_decoder::read_element(ondemand::value& value, const value_type& type, void* object) {
  const bool is_null = options_.missing == missing_fields::use_default && type.kind != value_kind::raw &&
                       *value.raw_json_token().data() == 'n';
  return is_null ? read_null(value, type, object) : read(value, type, object);
}

bool document_decoder::read_sequence(ondemand::value& value, const value_type& type, void* object) {
  ondemand::array array;
  if (value.get_array().get(array)) return wrong(value, "array");
  if (!enter()) return false;
  type.container->clear(object);
  std::size_t index = 0;
  for (auto element : array) {
    ondemand::value item;
    if (element.get(item)) return malformed();
    if (!read_element(item, *type.element, type.container->append(object))) {
      within(index);
      return false;
    }
    ++index;
  }
  leave();
  return true;
}

bool document_decoder::read_mapping(ondemand::value& value, const value_type& type, void* object) {
  ondemand::object members;
  if (value.get_object().get(members)) return wrong(value, "object");
  if (!enter()) return false;
  type.container->clear(object);
  for (auto member : members) {
    ondemand::field field;
    std::string_view name;
    if (std::move(member).get(field)) return malformed();
    if (!key(field, name)) return false;
    if (!read_element(field.value(), *type.element, type.container->insert(object, name))) {
      within(name);
      return false;
    }
  }
  leave();
  return true;
}

// The record's next member when the text has the record's order, compared in place. The padding behind the text covers
// the comparison.
const member_type* document_decoder::expected_member(ondemand::field& field, const record_type& record,
                                                     std::size_t& next) {
  if (next >= record.members.size()) return nullptr;
  const member_type& member = record.members[next];
  const char* const begin = field.key().raw();
  if (member.name.size() >= simdjson::SIMDJSON_PADDING ||
      std::memcmp(begin, member.name.data(), member.name.size()) != 0 || begin[member.name.size()] != '"') {
    return nullptr;
  }
  next = next + 1 == record.members.size() ? 0 : next + 1;
  return &member;
}

bool document_decoder::read_record(ondemand::value& value, const record_type& record, void* object) {
  ondemand::object members;
  if (value.get_object().get(members)) return wrong(value, "object");
  if (!enter()) return false;
  std::bitset<record_members_max> seen;
  std::size_t next = 0;
  for (auto entry : members) {
    ondemand::field field;
    std::string_view name;
    if (std::move(entry).get(field)) return malformed();
    const member_type* member = expected_member(field, record, next);
    if (member == nullptr) {
      if (!key(field, name)) return false;
      member = find_member(record, name, next, options_.keys);
    }
    if (member == nullptr) {
      if (options_.unknown == unknown_fields::refuse) {
        std::string problem(unknown_field_begin);
        write_json_string(problem, name);
        is_unknown_ = true;
        return fail(problem);
      }
      if (!skip(field.value())) return false;
      continue;
    }
    void* target = static_cast<char*>(object) + member->offset;
    const bool is_null = *field.value().raw_json_token().data() == 'n' && member->type->kind != value_kind::raw;
    if (is_null ? !read_null(field.value(), *member->type, target) : !read(field.value(), *member->type, target)) {
      within(member->name);
      return false;
    }
    if (!is_null) seen.set(static_cast<std::size_t>(member - record.members.data()));
  }
  leave();
  const bool complete = !record.has_required && options_.missing == missing_fields::use_default;
  return complete || check_required(record, seen);
}

bool document_decoder::check_required(const record_type& record, const std::bitset<record_members_max>& seen) {
  for (std::size_t index = 0; index < record.members.size(); ++index) {
    const member_type& member = record.members[index];
    const bool refused =
        member.required || (options_.missing == missing_fields::refuse && member.type->kind != value_kind::optional);
    if (refused && !seen.test(index)) {
      fail("missing");
      within(member.name);
      return false;
    }
  }
  return true;
}

bool document_decoder::key(ondemand::field& field, std::string_view& key) {
  // The key is compared in place when it has no escapes, which is nearly always.
  const char* begin = field.key().raw();
  const char* end = begin;
  while (*end != '"' && *end != '\\') ++end;
  if (*end == '"') {
    key = {begin, static_cast<std::size_t>(end - begin)};
    return true;
  }
  return !field.unescaped_key().get(key) || malformed();
}

bool document_decoder::skip(ondemand::value& value) {
  ondemand::json_type found;
  if (value.type().get(found)) return malformed();
  switch (found) {
    case ondemand::json_type::array: {
      ondemand::array array;
      if (value.get_array().get(array)) return malformed();
      if (!enter()) return false;
      for (auto element : array) {
        ondemand::value item;
        if (element.get(item)) return malformed();
        if (!skip(item)) return false;
      }
      leave();
      return true;
    }
    case ondemand::json_type::object: {
      ondemand::object members;
      if (value.get_object().get(members)) return malformed();
      if (!enter()) return false;
      for (auto member : members) {
        ondemand::field field;
        std::string_view name;
        if (std::move(member).get(field)) return malformed();
        if (!key(field, name) || !skip(field.value())) return false;
      }
      leave();
      return true;
    }
    case ondemand::json_type::string: {
      std::string_view text;
      return !value.get_string().get(text) || malformed();
    }
    case ondemand::json_type::number:
      return is_json_number(without_blanks_behind(value.raw_json_token())) || malformed();
    case ondemand::json_type::boolean: {
      bool flag;
      return !value.get_bool().get(flag) || malformed();
    }
    case ondemand::json_type::null: {
      bool is_null = false;
      return (!value.is_null().get(is_null) && is_null) || malformed();
    }
  }
  return malformed();
}

bool document_decoder::raw(ondemand::value& value, std::string_view& text) {
  const std::string_view token = value.raw_json_token();
  ondemand::json_type found;
  if (value.type().get(found)) return malformed();
  if (!skip(value)) return false;
  if (found != ondemand::json_type::array && found != ondemand::json_type::object) {
    text = without_blanks_behind(token);
    return true;
  }
  // The reader stands on the token behind the value; the brackets around the document make sure that there is one.
  const char* end = nullptr;
  if (document_.current_location().get(end)) return malformed();
  text = without_blanks_behind({token.data(), static_cast<std::size_t>(end - token.data())});
  return true;
}

bool document_decoder::read(ondemand::value& value, const value_type& type, void* object) {
  switch (type.kind) {
    case value_kind::boolean:
      return !value.get_bool().get(*static_cast<bool*>(object)) || wrong(value, "boolean");
    case value_kind::int8:
      return read_integer<std::int8_t>(value, object);
    case value_kind::int16:
      return read_integer<std::int16_t>(value, object);
    case value_kind::int32:
      return read_integer<std::int32_t>(value, object);
    case value_kind::int64:
      return read_integer<std::int64_t>(value, object);
    case value_kind::uint8:
      return read_integer<std::uint8_t>(value, object);
    case value_kind::uint16:
      return read_integer<std::uint16_t>(value, object);
    case value_kind::uint32:
      return read_integer<std::uint32_t>(value, object);
    case value_kind::uint64:
      return read_integer<std::uint64_t>(value, object);
    case value_kind::float32:
      return read_float<float>(value, object);
    case value_kind::float64:
      return read_float<double>(value, object);
    case value_kind::text: {
      std::string_view text;
      if (!read_text(value, text)) return false;
      static_cast<std::string*>(object)->assign(text);
      return true;
    }
    // Only hooks read views: the text is gone with the parse.
    case value_kind::text_view:
      return read_text(value, *static_cast<std::string_view*>(object));
    case value_kind::duration: {
      std::int64_t count = 0;
      if (!read_integer<std::int64_t>(value, &count)) return false;
      *static_cast<nanoseconds*>(object) = nanoseconds(count);
      return true;
    }
    case value_kind::time: {
      std::string_view text;
      if (!read_text(value, text)) return false;
      const auto at = parse_rfc3339(text);
      if (!at) return fail("expected RFC 3339 time");
      *static_cast<time_point*>(object) = *at;
      return true;
    }
    case value_kind::bytes: {
      std::string_view text;
      if (!read_text(value, text)) return false;
      auto bytes = from_base64(text);
      if (!bytes) return fail("expected base64");
      static_cast<json_bytes*>(object)->value = *std::move(bytes);
      return true;
    }
    case value_kind::raw: {
      std::string_view text;
      if (!raw(value, text)) return false;
      static_cast<raw_json*>(object)->text.assign(text);
      return true;
    }
    case value_kind::enumeration:
      return read_word(value, *type.enumeration, object);
    case value_kind::optional:
      return read_optional(value, type, object);
    case value_kind::sequence:
      return read_sequence(value, type, object);
    case value_kind::mapping:
      return read_mapping(value, type, object);
    case value_kind::record:
      return read_record(value, type.record(), object);
    case value_kind::custom: {
      hook_reader reader(*this, value);
      return type.custom->read(reader, object) || fail("not accepted");
    }
  }
  return fail("a kind that cannot be read");
}

namespace {

constexpr std::size_t retained_buffer_max = 256 * 1024;  // larger ones are given back after use

// Buffers of one parse; each thread keeps one, a hook that reads another text meanwhile gets its own.
struct parse_buffers {
  ondemand::parser parser;
  std::unique_ptr<char[]> text;
  std::size_t capacity = 0;
  bool busy = false;

  simdjson::padded_string_view wrap(std::string_view source) {
    const std::size_t size = source.size() + 2;
    if (size + simdjson::SIMDJSON_PADDING > capacity) {
      capacity = (size + simdjson::SIMDJSON_PADDING) * 2;
      text = std::make_unique<char[]>(capacity);
    }
    text[0] = '[';
    std::memcpy(text.get() + 1, source.data(), source.size());
    text[size - 1] = ']';
    return simdjson::padded_string_view(text.get(), size, capacity);
  }

  void release() {
    busy = false;
    if (capacity > retained_buffer_max) {
      text.reset();
      capacity = 0;
      parser = ondemand::parser();
    }
  }
};

// Parses and hands the root value to `visit`, then checks that nothing follows.
template <class Visitor>
result<void> parse_document(std::string_view text, const read_options& options, Visitor visit) {
  static thread_local parse_buffers kept;
  std::unique_ptr<parse_buffers> other;
  if (kept.busy) other = std::make_unique<parse_buffers>();
  parse_buffers& buffers = other ? *other : kept;
  buffers.busy = true;
  struct releaser {
    parse_buffers& buffers;
    ~releaser() { buffers.release(); }
  } release{buffers};

  if (without_blanks_behind(text).empty()) return fail(errc::decode_error, "unexpected end of JSON input");
  ondemand::document document;
  if (const auto problem = buffers.parser.iterate(buffers.wrap(text)).get(document)) {
    return fail(errc::decode_error, problem == simdjson::UTF8_ERROR ? "invalid UTF-8 in JSON" : "malformed JSON");
  }
  document_decoder decoder(document, options);
  decoder.set_begin(buffers.text.get() + 1);
  ondemand::array root;
  if (document.get_array().get(root)) return fail(errc::decode_error, "malformed JSON");
  std::size_t values = 0;
  for (auto element : root) {
    ondemand::value value;
    if (element.get(value)) {
      decoder.malformed();
    } else if (++values > 1) {
      decoder.fail("bytes after the JSON value");
    } else {
      visit(decoder, value);
    }
    if (decoder.failed()) return std::unexpected(decoder.to_error());
  }
  const char* rest = nullptr;
  if (document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS) {
    return fail(errc::decode_error, "bytes after the JSON value");
  }
  return {};
}

}  // namespace

result<void> read_json_into(std::string_view text, const value_type& type, void* object, const read_options& options) {
  return parse_document(text, options, [&](document_decoder& decoder, ondemand::value& value) {
    ondemand::json_type found;
    const bool is_null = !value.type().get(found) && found == ondemand::json_type::null;
    if (is_null && options.missing == missing_fields::use_default && type.kind != value_kind::raw) {
      // Null at the root is an absent value, as for the peer's decoder.
      return decoder.skip(value);
    }
    return decoder.read(value, type, object);
  });
}

result<void> walk_json(std::string_view text, const std::function<bool(json_reader&)>& visit,
                       const read_options& options) {
  return parse_document(text, options, [&](document_decoder& decoder, ondemand::value& value) {
    hook_reader reader(decoder, value);
    return visit(reader) || decoder.fail("not accepted");
  });
}

result<void> check_json(std::string_view text) {
  return parse_document(text, {},
                        [](document_decoder& decoder, ondemand::value& value) { return decoder.skip(value); });
}

bool is_unknown_field(const error& problem) {
  return problem.code() == errc::decode_error && problem.context().starts_with(unknown_field_begin);
}

}  // namespace tern::codec
