#include "server/config/config_value.hpp"

#include <tern/codec/json.hpp>

#include <openssl/sha.h>

#include <algorithm>

namespace tern::server {
namespace {

// Go's encoder also escapes what would be markup in a page.
void append_go_string(std::string& out, std::string_view text) {
  std::string plain;
  codec::write_json_string(plain, text);
  for (const char letter : plain) {
    switch (letter) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += letter;
    }
  }
}

}  // namespace

std::string config_place::text() const {
  return (file ? *file : std::string()) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

const config_entry* config_value::find(std::string_view key) const {
  for (const config_entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string_view config_value::type_name() const {
  switch (what) {
    case kind::boolean:
      return "bool";
    case kind::integer:
      return "int64";
    case kind::floating:
      return "float64";
    case kind::text:
      return "string";
    case kind::datetime:
      return "time.Time";
    case kind::array:
      return "[]interface {}";
    case kind::map:
      return "map[string]interface {}";
  }
  return "";
}

void append_json(std::string& out, const config_value& value) {
  switch (value.what) {
    case config_value::kind::boolean:
      out += value.boolean ? "true" : "false";
      break;
    case config_value::kind::integer:
      codec::write_json_number(out, value.integer);
      break;
    case config_value::kind::floating:
      codec::write_json_number(out, value.floating);
      break;
    case config_value::kind::text:
    case config_value::kind::datetime:
      append_go_string(out, value.text);
      break;
    case config_value::kind::array: {
      out += '[';
      for (std::size_t at = 0; at < value.elements.size(); ++at) {
        if (at != 0) out += ',';
        append_json(out, value.elements[at]);
      }
      out += ']';
      break;
    }
    case config_value::kind::map: {
      std::vector<const config_entry*> sorted;
      for (const config_entry& entry : value.entries) sorted.push_back(&entry);
      std::ranges::sort(sorted, {}, [](const config_entry* entry) -> const std::string& { return entry->key; });
      out += '{';
      for (std::size_t at = 0; at < sorted.size(); ++at) {
        if (at != 0) out += ',';
        append_go_string(out, sorted[at]->key);
        out += ':';
        append_json(out, sorted[at]->value);
      }
      out += '}';
      break;
    }
  }
}

std::string digest_of(const config_value& value) {
  std::string json;
  append_json(json, value);
  json += '\n';
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(json.data()), json.size(), hash);
  std::string out = "sha256:";
  for (const unsigned char byte : hash) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace tern::server
