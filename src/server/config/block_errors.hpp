// What the readers of blocks have in common: complaints with their place, and values of the wrong type (core 4.2).
// Lives during one run over a tree.
#pragma once

#include "server/config/config_reader.hpp"

#include "base/ascii.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

// A value as a complaint shows it.
inline std::string shown(const config_value& value) {
  if (value.is_text()) return value.text;
  std::string out;
  append_json(out, value);
  return out;
}

class block_errors {
 public:
  explicit block_errors(config_findings& findings) : findings_(findings) {}

  void at(const config_value& where, const std::string& text) {
    findings_.errors.push_back(where.place.text() + ": " + text);
  }
  // Of what the peer reports without a place.
  void plain(std::string text) { findings_.errors.push_back(std::move(text)); }
  void unknown(const config_entry& entry) {
    if (!entry.used_as_variable) at(entry.value, "unknown field \"" + entry.key + "\"");
  }
  void wrong_type(const config_value& where, std::string_view wanted) {
    at(where,
       "interface conversion: interface {} is " + std::string(where.type_name()) + ", not " + std::string(wanted));
  }

  bool take(const config_value& from, std::string& to) {
    if (!from.is_text()) return wrong_type(from, "string"), false;
    to = from.text;
    return true;
  }
  bool take(const config_value& from, bool& to) {
    if (from.what != config_value::kind::boolean) return wrong_type(from, "bool"), false;
    to = from.boolean;
    return true;
  }
  bool take(const config_value& from, std::int64_t& to) {
    if (from.what != config_value::kind::integer) return wrong_type(from, "int64"), false;
    to = from.integer;
    return true;
  }
  bool take(const config_value& from, std::vector<std::string>& to) {
    if (from.is_text()) return to.assign(1, from.text), true;
    if (from.what != config_value::kind::array) return wrong_type(from, "[]interface {}"), false;
    to.clear();
    for (const config_value& one : from.elements) {
      if (!one.is_text()) return wrong_type(one, "string"), false;
      to.push_back(one.text);
    }
    return true;
  }

 private:
  config_findings& findings_;
};

}  // namespace tern::server
