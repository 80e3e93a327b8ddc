// A parsed configuration file: a tree of values that know where they stand. Plain values.
#pragma once

#include <tern/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

// "file:line:column"; columns count from 0 on the first line and from 1 on later ones, as the peer counts (core 4.1).
struct config_place {
  std::shared_ptr<const std::string> file;
  int line = 1;
  int column = 0;
  std::string text() const;
};

struct config_entry;

struct config_value {
  enum class kind { boolean, integer, floating, text, datetime, array, map };

  kind what = kind::map;
  bool boolean = false;
  std::int64_t integer = 0;
  double floating = 0;
  std::string text;  // also the letters of a datetime
  std::vector<config_value> elements;
  std::vector<config_entry> entries;  // one per key, in the order of their first appearance
  config_place place;                 // of the key, or of an array's element

  const config_entry* find(std::string_view key) const;
  bool is_map() const { return what == kind::map; }
  bool is_text() const { return what == kind::text; }
  std::string_view type_name() const;  // Go's, for error texts
};

struct config_entry {
  std::string key;
  config_value value;
  bool used_as_variable = false;  // then an unknown key is no error
};

// The tree as compact JSON with sorted keys, as the digest takes it.
void append_json(std::string& out, const config_value& value);
// "sha256:<hex>" of that and a line feed (core 4.4).
std::string digest_of(const config_value& value);

}  // namespace tern::server
