// The abstract reader over a document that is being decoded. Included by json_reader.cpp only.
#pragma once

#include <vector>

#include "codec/document_decoder.hpp"

namespace tern::codec {

// What a custom_json hook sees: the value it stands for, and the objects and arrays it has entered.
class hook_reader final : public json_reader {
 public:
  hook_reader(document_decoder& decoder, ondemand::value value) : decoder_(decoder), value_(value) {}

  json_kind kind() override {
    ondemand::json_type found;
    if (value_.type().get(found)) {
      decoder_.malformed();
      return json_kind::null;
    }
    switch (found) {
      case ondemand::json_type::array:
        return json_kind::array;
      case ondemand::json_type::object:
        return json_kind::object;
      case ondemand::json_type::string:
        return json_kind::string;
      case ondemand::json_type::number:
        return json_kind::number;
      case ondemand::json_type::boolean:
        return json_kind::boolean;
      case ondemand::json_type::null:
        return json_kind::null;
    }
    return json_kind::null;
  }
  bool as_bool(bool& value) override { return json_reader::as(value); }
  bool as_int64(std::int64_t& value) override { return json_reader::as(value); }
  bool as_uint64(std::uint64_t& value) override { return json_reader::as(value); }
  bool as_double(double& value) override { return json_reader::as(value); }
  bool as_string(std::string_view& value) override { return json_reader::as(value); }
  bool as_null() override {
    bool is_null = false;
    if (kind() != json_kind::null) return decoder_.fail("expected null");
    return (!value_.is_null().get(is_null) && is_null) || decoder_.malformed();
  }
  bool raw(std::string_view& text) override { return !failed() && decoder_.raw(value_, text); }
  bool skip() override { return !failed() && decoder_.skip(value_); }
  bool as(const value_type& type, void* object) override { return !failed() && decoder_.read(value_, type, object); }

  bool enter_object() override {
    if (failed() || kind() != json_kind::object) return decoder_.fail("expected object");
    level entered{};
    ondemand::object members;
    if (value_.get_object().get(members) || !decoder_.enter()) return decoder_.malformed();
    if (members.begin().get(entered.member) || members.end().get(entered.member_end)) return decoder_.malformed();
    levels_.push_back(entered);
    return true;
  }
  bool next_key(std::string_view& key) override {
    if (failed() || levels_.empty()) return false;
    level& top = levels_.back();
    if (top.started) ++top.member;
    top.started = true;
    if (top.member == top.member_end) return leave();
    ondemand::field field;
    if ((*top.member).get(field)) return decoder_.malformed();
    if (!decoder_.key(field, key)) return false;
    value_ = field.value();
    return true;
  }
  bool enter_array() override {
    if (failed() || kind() != json_kind::array) return decoder_.fail("expected array");
    level entered{};
    ondemand::array elements;
    if (value_.get_array().get(elements) || !decoder_.enter()) return decoder_.malformed();
    if (elements.begin().get(entered.element) || elements.end().get(entered.element_end)) return decoder_.malformed();
    levels_.push_back(entered);
    return true;
  }
  bool next_element() override {
    if (failed() || levels_.empty()) return false;
    level& top = levels_.back();
    if (top.started) ++top.element;
    top.started = true;
    if (top.element == top.element_end) return leave();
    if ((*top.element).get(value_)) return decoder_.malformed();
    return true;
  }
  bool failed() const override { return decoder_.failed(); }
  bool fail(std::string_view what) override { return decoder_.fail(what); }

 private:
  struct level {
    ondemand::object_iterator member, member_end;
    ondemand::array_iterator element, element_end;
    bool started = false;
  };
  bool leave() {
    levels_.pop_back();
    decoder_.leave();
    return false;
  }

  document_decoder& decoder_;
  ondemand::value value_;
  std::vector<level> levels_;
};

}  // namespace tern::codec
