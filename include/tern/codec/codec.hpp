/// How payloads become bytes and back: a codec is a type with a content type, `encode` and `decode`.
///
///     std::string bytes;
///     tern::codec::json_codec::encode(bytes, order);
///     auto again = tern::codec::json_codec::decode<order_placed>(bytes);
///
/// Thread safety: codecs have no state. Source: service specification section 13.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include <tern/base/error.hpp>
#include <tern/codec/json.hpp>

namespace tern::codec {

/// A codec for T: `encode` appends, `decode` reads one whole payload.
template <class Codec, class T>
concept codec_for = requires(std::string& out, const T& value, std::string_view bytes) {
  { Codec::content_type } -> std::convertible_to<std::string_view>;
  { Codec::encode(out, value) } -> std::same_as<result<void>>;
  { Codec::template decode<T>(bytes) } -> std::same_as<result<T>>;
};

/// JSON as services exchange it: unknown members ignored, every member required that is not std::optional.
struct json_codec {
  static constexpr std::string_view content_type = "application/json";

  template <class T>
  static result<void> encode(std::string& out, const T& value) {
    write_json(out, value);
    return {};
  }
  template <class T>
  static result<T> decode(std::string_view bytes) {
    return read_json<T>(bytes, payload_options);
  }
};

/// JSON that also refuses members that the type does not have.
struct strict_json_codec {
  static constexpr std::string_view content_type = "application/json";

  template <class T>
  static result<void> encode(std::string& out, const T& value) {
    write_json(out, value);
    return {};
  }
  template <class T>
  static result<T> decode(std::string_view bytes) {
    read_options options = payload_options;
    options.unknown = unknown_fields::refuse;
    return read_json<T>(bytes, options);
  }
};

/// Bytes as they are: std::string both ways, std::string_view for encoding.
struct raw_codec {
  static constexpr std::string_view content_type = "application/octet-stream";

  static result<void> encode(std::string& out, std::string_view bytes) {
    out.append(bytes);
    return {};
  }
  template <class T>
    requires std::same_as<T, std::string>
  static result<T> decode(std::string_view bytes) {
    return std::string(bytes);
  }
};

}  // namespace tern::codec
