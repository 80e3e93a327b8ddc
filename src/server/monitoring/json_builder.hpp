// Appends JSON documents of monitoring member by member. The caller keeps begin and end in pairs.
#pragma once

#include "base/numbers.hpp"

#include <tern/base/time.hpp>
#include <tern/codec/json.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::server {

class json_builder {
 public:
  json_builder& begin_object(std::string_view key = {}) { return open(key, '{'); }
  json_builder& end_object() { return close('}'); }
  json_builder& begin_array(std::string_view key = {}) { return open(key, '['); }
  json_builder& end_array() { return close(']'); }

  json_builder& field(std::string_view key, std::string_view value) {
    name(key);
    codec::write_json_string(out_, value);
    return *this;
  }
  json_builder& field(std::string_view key, const char* value) { return field(key, std::string_view(value)); }
  json_builder& field(std::string_view key, const std::string& value) { return field(key, std::string_view(value)); }
  json_builder& field(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  json_builder& field(std::string_view key, Number value) {
    name(key);
    if constexpr (std::unsigned_integral<Number>)
      append_decimal(out_, value);
    else
      append_signed_decimal(out_, value);
    return *this;
  }
  json_builder& field(std::string_view key, double value) {
    name(key);
    codec::write_json_number(out_, value);
    return *this;
  }
  json_builder& field(std::string_view key, time_point value) {
    name(key);
    out_ += '"';
    append_rfc3339(out_, value);
    out_ += '"';
    return *this;
  }
  json_builder& raw(std::string_view key, std::string_view json) {
    name(key);
    out_ += json;
    return *this;
  }
  // Left out when it is empty, zero or false.
  template <class Value>
  json_builder& field_unless_empty(std::string_view key, const Value& value) {
    if (value == Value{}) return *this;
    return field(key, value);
  }
  json_builder& element(std::string_view text) { return field({}, text); }

  const std::string& text() const { return out_; }

 private:
  void name(std::string_view key) {
    if (needs_comma_) out_ += ',';
    needs_comma_ = true;
    if (key.empty()) return;
    codec::write_json_string(out_, key);
    out_ += ':';
  }
  json_builder& open(std::string_view key, char bracket) {
    name(key);
    out_ += bracket;
    needs_comma_ = false;
    return *this;
  }
  json_builder& close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
    return *this;
  }

  std::string out_;
  bool needs_comma_ = false;
};

// The same document with line breaks and an indent of two, as Go prints it.
std::string indented(std::string_view json);

}  // namespace tern::server
