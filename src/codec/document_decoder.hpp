// Decodes one document into described objects. Included by json_reader.cpp only, the one place that knows simdjson,
// whose header is heavy.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <simdjson.h>

#include <tern/base/time.hpp>
#include <tern/codec/json.hpp>

#include "codec/json_grammar.hpp"

namespace tern::codec {

namespace ondemand = simdjson::ondemand;

inline constexpr std::string_view unknown_field_begin = "json: unknown field ";

// Reads one document. Functions return false once failed_ is set; the text of the error is put together on the way out.
class document_decoder {
 public:
  document_decoder(ondemand::document& document, const read_options& options)
      : document_(document), options_(options) {}

  bool read(ondemand::value& value, const value_type& type, void* object);
  bool skip(ondemand::value& value);
  bool raw(ondemand::value& value, std::string_view& text);
  bool key(ondemand::field& field, std::string_view& key);

  bool enter() { return ++depth_ <= options_.depth_max || fail("nested too deeply"); }
  void leave() { --depth_; }

  bool fail(std::string_view what) {
    if (!failed_) {
      failed_ = true;
      what_ = what;
    }
    return false;
  }
  bool malformed() {
    if (failed_) return false;
    const char* at = nullptr;
    std::string text = "malformed JSON";
    if (!document_.current_location().get(at) && at > begin_) {
      text.append(" at offset ").append(std::to_string(at - begin_));
    }
    return fail(text);
  }
  void set_begin(const char* begin) { begin_ = begin; }

  void within(std::string_view member) {
    if (is_unknown_) return;
    path_.insert(0, path_.empty() || path_.front() == '[' ? std::string(member) : std::string(member) + '.');
  }
  void within(std::size_t index) {
    if (is_unknown_) return;
    const std::string element = '[' + std::to_string(index) + ']';
    path_.insert(0, path_.empty() || path_.front() == '[' ? element : element + '.');
  }

  bool failed() const { return failed_; }
  error to_error() const { return {errc::decode_error, path_.empty() ? what_ : path_ + ": " + what_}; }
  const read_options& options() const { return options_; }

 private:
  template <class Integer>
  bool read_integer(ondemand::value& value, void* object);
  template <class Float>
  bool read_float(ondemand::value& value, void* object);
  bool read_text(ondemand::value& value, std::string_view& text);
  bool read_word(ondemand::value& value, const enum_operations& enumeration, void* object);
  bool read_optional(ondemand::value& value, const value_type& type, void* object);
  bool read_sequence(ondemand::value& value, const value_type& type, void* object);
  bool read_mapping(ondemand::value& value, const value_type& type, void* object);
  bool read_record(ondemand::value& value, const record_type& record, void* object);
  static const member_type* expected_member(ondemand::field& field, const record_type& record, std::size_t& next);
  bool check_required(const record_type& record, const std::bitset<record_members_max>& seen);
  bool read_element(ondemand::value& value, const value_type& type, void* object);
  bool read_null(ondemand::value& value, const value_type& type, void* object);
  bool wrong(ondemand::value& value, std::string_view expected);

  ondemand::document& document_;
  const read_options& options_;
  const char* begin_ = nullptr;
  std::size_t depth_ = 0;
  bool failed_ = false;
  bool is_unknown_ = false;
  std::string what_;
  std::string path_;
};

}  // namespace tern::codec
