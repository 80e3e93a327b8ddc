#include "server/config/leafnode_options.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/host_port.hpp"
#include "server/config/option_table.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tern::server {
namespace {

std::array<std::uint64_t, 3> parts_of(std::string_view version) {
  std::array<std::uint64_t, 3> out{};
  version = version.substr(0, version.find('-'));
  if (version.starts_with('v')) version.remove_prefix(1);
  for (std::uint64_t& part : out) {
    const std::size_t dot = std::min(version.find('.'), version.size());
    part = parse_decimal(version.substr(0, dot)).value_or(0);
    version.remove_prefix(std::min(version.size(), dot + 1));
  }
  return out;
}

// One run over a block.
class leafnodes_reader {
 public:
  leafnodes_reader(leafnode_options& into, config_findings& findings) : into_(into), findings_(findings) {}

  void read(const config_value& block) {
    if (!block.is_map()) return complain(block, "Expected leafnode to be a map, got " + std::string(block.type_name()));
    for (const config_entry& entry : block.entries) read_key(lower_case(entry.key), entry);
  }

 private:
  void complain(const config_value& at, std::string text) {
    findings_.errors.push_back(at.place.text() + ": " + std::move(text));
  }
  void wrong_type(const config_value& at, std::string_view wanted) {
    complain(at,
             "interface conversion: interface {} is " + std::string(at.type_name()) + ", not " + std::string(wanted));
  }
  void take(const config_value& from, std::string& to) {
    if (!from.is_text()) return wrong_type(from, "string");
    to = from.text;
  }
  void take(const config_value& from, bool& to) {
    if (from.what != config_value::kind::boolean) return wrong_type(from, "bool");
    to = from.boolean;
  }
  void take_port(const config_value& from) {
    if (from.what != config_value::kind::integer) return wrong_type(from, "int64");
    into_.port = static_cast<int>(std::clamp<std::int64_t>(from.integer, -2, 65536));
  }
  void take_listen(const config_value& from);
  void take_authorization(const config_value& from);
  void read_key(const std::string& key, const config_entry& entry);
  void refuse(std::string_view block, const std::string& key, const config_entry& entry);

  leafnode_options& into_;
  config_findings& findings_;
};

void leafnodes_reader::take_listen(const config_value& from) {
  if (from.what == config_value::kind::integer) return take_port(from);
  if (!from.is_text()) return complain(from, "expected port or host:port, got " + std::string(from.type_name()));
  auto read = parse_host_port(from.text);
  if (!read) return complain(from, read.error().context());
  std::tie(into_.host, into_.port) = std::move(*read);
}

void leafnodes_reader::take_authorization(const config_value& from) {
  if (!from.is_map()) return wrong_type(from, "map[string]interface {}");
  for (const config_entry& one : from.entries) {
    const std::string key = lower_case(one.key);
    if (key == "user" || key == "username") {
      take(one.value, into_.user);
    } else if (key == "pass" || key == "password") {
      take(one.value, into_.password);
    } else if (key == "account") {
      take(one.value, into_.account);
    } else if (key == "timeout") {
      const config_value& value = one.value;
      const auto text = parse_go_duration(value.is_text() ? value.text : "");
      if (text)
        into_.auth_timeout = *text;
      else if (value.what == config_value::kind::integer)
        into_.auth_timeout = std::chrono::seconds(std::clamp<std::int64_t>(value.integer, 0, 86'400));
      else if (value.what == config_value::kind::floating)
        into_.auth_timeout = nanoseconds(static_cast<std::int64_t>(std::clamp(value.floating, 0.0, 86'400.0) * 1e9));
      else
        complain(value, "error parsing leafnode authorization config, 'timeout' wrong type");
    } else {
      refuse("leafnodes.authorization", key, one);
    }
  }
}

// What is known is refused by its name, the rest is not known.
void leafnodes_reader::refuse(std::string_view block, const std::string& key, const config_entry& entry) {
  if (const option_info* const known = find_option(block, key))
    return complain(entry.value, refusal_text(*known, entry.key));
  if (!entry.used_as_variable) complain(entry.value, "unknown field \"" + entry.key + "\"");
}

void leafnodes_reader::read_key(const std::string& key, const config_entry& entry) {
  const config_value& value = entry.value;
  if (key == "listen") return take_listen(value);
  if (key == "port") return take_port(value);
  if (key == "host" || key == "net") return take(value, into_.host);
  if (key == "advertise") return take(value, into_.advertise);
  if (key == "no_advertise") return take(value, into_.no_advertise);
  if (key == "min_version") return take(value, into_.min_version);
  if (key == "authorization") return take_authorization(value);
  if (key == "tls") {
    tls_options block;
    if (read_tls_block(value, block, findings_)) into_.tls = std::move(block);
    return;
  }
  refuse("leafnodes", key, entry);
}

}  // namespace

void read_leafnodes_block(const config_value& block, leafnode_options& into, config_findings& findings) {
  into = {};
  leafnodes_reader(into, findings).read(block);
}

bool is_older_version(std::string_view one, std::string_view than) { return parts_of(one) < parts_of(than); }

}  // namespace tern::server
