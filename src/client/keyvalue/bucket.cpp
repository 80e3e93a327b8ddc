#include "client/keyvalue/bucket.hpp"

#include "protocol/headers.hpp"

namespace tern::client {
namespace detail {
namespace {

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
}

bool is_key_letter(char letter) {
  return is_letter_or_digit(letter) || letter == '-' || letter == '_' || letter == '/' || letter == '=';
}

bool is_key(std::string_view key) {
  char before = '.';
  for (const char letter : key) {
    if (letter == '.' ? before == '.' : !is_key_letter(letter)) return false;
    before = letter;
  }
  return before != '.';
}

// Like a key, with `*` as a whole token and `>` as the last one.
bool is_pattern(std::string_view pattern) {
  while (!pattern.empty()) {
    const auto dot = pattern.find('.');
    const auto token = pattern.substr(0, dot);
    if (token == ">") return dot == std::string_view::npos;
    if (token != "*" && !is_key(token)) return false;
    if (dot == std::string_view::npos) return true;
    pattern.remove_prefix(dot + 1);
  }
  return false;
}

result<std::string> through(const std::function<result<std::string>(std::string_view)>& change, std::string_view text) {
  if (!change) return std::string(text);
  return change(text);
}

std::unexpected<error> bad_key(std::string_view key) {
  return fail(errc::invalid_argument, "'" + std::string(key) + "' is no key",
              "letters, digits and - _ / = ., no dot at its ends nor two in a row");
}

// Token by token; wildcards stay.
result<std::string> token_wise(std::string_view key, result<std::string> (*change)(std::string_view)) {
  std::string out;
  for (;;) {
    const auto dot = key.find('.');
    const auto token = key.substr(0, dot);
    if (token == "*" || token == ">") {
      out += token;
    } else {
      auto changed = change(token);
      if (!changed) return changed;
      out += *changed;
    }
    if (dot == std::string_view::npos) return out;
    out += '.';
    key.remove_prefix(dot + 1);
  }
}

result<std::string> token_to_base64(std::string_view token) {
  std::string text = codec::to_base64(token);
  for (char& letter : text) {
    if (letter == '+') letter = '-';
    if (letter == '/') letter = '_';
  }
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

result<std::string> token_from_base64(std::string_view token) { return codec::from_base64(token); }

}  // namespace

result<void> check_bucket_name(std::string_view bucket) {
  bool good = !bucket.empty();
  for (const char letter : bucket) good = good && (is_letter_or_digit(letter) || letter == '_' || letter == '-');
  if (good) return {};
  return fail(errc::invalid_argument, "'" + std::string(bucket) + "' is no bucket name", "letters, digits, _ and -");
}

result<std::string> encode_key(const bucket_core& bucket, std::string_view key) {
  auto written = through(bucket.codec.encode_key, key);
  if (written && !is_key(*written)) return bad_key(key);
  return written;
}

result<std::string> encode_pattern(const bucket_core& bucket, std::string_view pattern) {
  if (pattern == ">") return std::string(pattern);
  auto written = through(bucket.codec.encode_key, pattern);
  if (written && !is_pattern(*written)) return bad_key(pattern);
  return written;
}

result<std::string> encode_value(const bucket_core& bucket, std::string_view value) {
  return through(bucket.codec.encode_value, value);
}

key_value_operation operation_of(std::string_view header_block) {
  if (header_block.empty()) return key_value_operation::put;
  const protocol::header_view view(header_block);
  if (const auto told = view.get("KV-Operation"); told) {
    if (*told == "DEL") return key_value_operation::deleted;
    if (*told == "PURGE") return key_value_operation::purged;
  }
  if (const auto reason = view.get("Nats-Marker-Reason"); reason) {
    if (*reason == "Remove") return key_value_operation::deleted;
    if (*reason == "MaxAge" || *reason == "Purge") return key_value_operation::purged;
  }
  return key_value_operation::put;
}

result<key_value_entry> entry_of(const bucket_core& bucket, std::string_view subject, std::string_view header_block,
                                 std::string_view payload) {
  if (!subject.starts_with(bucket.prefix)) return fail(errc::not_found, "no entry of bucket " + bucket.bucket);
  auto key = through(bucket.codec.decode_key, subject.substr(bucket.prefix.size()));
  if (!key) return std::unexpected(std::move(key).error().within("key"));
  key_value_entry entry;
  entry.key = *std::move(key);
  entry.operation = operation_of(header_block);
  if (!payload.empty() && entry.operation == key_value_operation::put) {
    auto value = through(bucket.codec.decode_value, payload);
    if (!value) return std::unexpected(std::move(value).error().within("value of '" + entry.key + "'"));
    entry.value = *std::move(value);
  }
  return entry;
}

}  // namespace detail

key_value_codec base64_keys() {
  key_value_codec codec;
  codec.encode_key = [](std::string_view key) { return detail::token_wise(key, detail::token_to_base64); };
  codec.decode_key = [](std::string_view key) { return detail::token_wise(key, detail::token_from_base64); };
  return codec;
}

}  // namespace tern::client
