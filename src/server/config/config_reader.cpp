#include "server/config/config_reader.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "server/config/option_reader.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tern::server {
namespace {

// Blocks whose readers stand in files of their own: the name in the table, what reads it.
struct block_reader {
  std::string_view name;
  void (*read)(const config_entry&, options&, config_findings&);
};
constexpr block_reader blocks[] = {
    {"authorization", read_authorization_option},
    {"accounts", read_accounts_option},
    {"mappings", read_mappings_option},
    {"no_auth_user", read_no_auth_user_option},
    {"system_account", read_system_account_option},
    {"no_system_account", read_no_system_account_option},
    {"operator", read_operator_option},
    {"trusted", read_trusted_keys_option},
    {"resolver", read_resolver_option},
    {"resolver_preload", read_resolver_preload_option},
    {"resolver_pinned_accounts", read_pinned_accounts_option},
    {"default_sentinel", read_default_sentinel_option},
    {"tls", read_tls_option},
    {"websocket", read_websocket_option},
    {"leafnodes", read_leafnodes_option},
    {"https", read_https_option},
    {"https_port", read_https_port_option},
    {"allow_non_tls", read_allow_non_tls_option},
    {"proxy_protocol", read_proxy_protocol_option},
};

}  // namespace

std::span<const option_reader::rule> option_reader::rules() {
  static constexpr rule all[] = {
      {"listen", &option_reader::listen},
      {"host", &option_reader::text<&options::host>},
      {"port", &option_reader::small_integer<&options::port>},
      {"server_name", &option_reader::server_name},
      {"client_advertise", &option_reader::text<&options::client_advertise>},
      {"http", &option_reader::http},
      {"http_port", &option_reader::small_integer<&options::http_port>},
      {"http_base_path", &option_reader::text<&options::http_base_path>},
      {"debug", &option_reader::boolean<&options::debug>},
      {"trace", &option_reader::boolean<&options::trace>},
      {"trace_verbose", &option_reader::tracing<&options::trace_verbose>},
      {"trace_headers", &option_reader::tracing<&options::trace_headers>},
      {"logtime", &option_reader::boolean<&options::log_time>},
      {"logtime_utc", &option_reader::boolean<&options::log_time_utc>},
      {"max_traced_msg_len", &option_reader::integer<&options::max_traced_message>},
      {"log_file", &option_reader::text<&options::log_file>},
      {"log_size_limit", &option_reader::integer<&options::log_size_limit>},
      {"syslog", &option_reader::boolean<&options::syslog>},
      {"remote_syslog", &option_reader::text<&options::remote_syslog>},
      {"log_max_num", &option_reader::integer<&options::log_max_files>},
      {"pid_file", &option_reader::text<&options::pid_file>},
      {"ports_file_dir", &option_reader::text<&options::ports_file_directory>},
      {"max_connections", &option_reader::integer<&options::max_connections>},
      {"max_subscriptions", &option_reader::integer<&options::max_subscriptions>},
      {"max_sub_tokens", &option_reader::max_subscription_tokens},
      {"max_control_line", &option_reader::max_control_line},
      {"max_payload", &option_reader::max_payload},
      {"max_pending", &option_reader::integer<&options::max_pending>},
      {"max_closed_clients", &option_reader::integer<&options::max_closed_clients>},
      {"ping_interval", &option_reader::duration<&options::ping_interval>},
      {"ping_max", &option_reader::small_integer<&options::ping_max>},
      {"write_deadline", &option_reader::duration<&options::write_deadline>},
      {"write_timeout", &option_reader::write_timeout},
      {"no_fast_producer_stall", &option_reader::boolean<&options::no_fast_producer_stall>},
      {"disable_sublist_cache", &option_reader::boolean<&options::disable_interest_cache>},
      {"no_header_support", &option_reader::boolean<&options::no_header_support>},
      {"lame_duck_duration", &option_reader::lame_duck_duration},
      {"lame_duck_grace_period", &option_reader::lame_duck_grace_period},
      {"server_tags", &option_reader::tags},
      {"server_metadata", &option_reader::metadata},
      {"store_dir", &option_reader::text<&options::store_directory>},
      {"jetstream", &option_reader::jetstream},
      {"feature_flags", &option_reader::feature_flags},
  };
  return all;
}

void option_reader::read(const config_value& tree) { read_block({}, tree, rules()); }

void option_reader::read_block(std::string_view block, const config_value& tree, std::span<const rule> takes) {
  for (const config_entry& entry : tree.entries) {
    const option_info* info = find_option(block, lower_case(entry.key));
    if (info == nullptr) {
      errors_.unknown(entry);
      continue;
    }
    if (info->status == option_status::refused) {
      complain(entry.value, refusal_text(*info, entry.key));
      continue;
    }
    if (info->status == option_status::without_effect) {
      without_effect(*info, entry);
      continue;
    }
    const auto own = std::ranges::find(takes, info->name(), &rule::name);
    const auto other = std::ranges::find(blocks, info->name(), &block_reader::name);
    if (own != takes.end())
      (this->*own->take)(entry);
    else if (block.empty() && other != std::end(blocks))
      other->read(entry, into_, findings_);
    else
      complain(entry.value, "option \"" + entry.key + "\" is not supported by this version of ternd");
  }
}

// Of parts of the peer that have no counterpart here. The value is checked all the same.
void option_reader::without_effect(const option_info& what, const config_entry& entry) {
  const auto is = [&what](std::string_view type) { return what.type.starts_with(type); };
  const config_value& from = entry.value;
  if (is("boolean") && from.what != config_value::kind::boolean) return wrong_type(from, "bool");
  if (is("number") && from.what != config_value::kind::integer) return wrong_type(from, "int64");
  if (is("text") && !from.is_text()) return wrong_type(from, "string");
  findings_.without_effect.push_back(from.place.text() + ": " + without_effect_text(what, entry.key));
}

// Limits that travel as 32 bits (core 1.1).
bool option_reader::take_limit(const config_entry& entry, std::int64_t& to) {
  std::int64_t value = 0;
  if (!errors_.take(entry.value, value)) return false;
  if (value > std::numeric_limits<std::int32_t>::max()) {
    complain(entry.value, entry.key + " value is too big");
    return false;
  }
  to = value;
  return true;
}

void option_reader::feature_flags(const config_entry& entry) {
  if (!entry.value.is_map())
    return complain(entry.value,
                    "error parsing feature flags: unsupported type " + std::string(entry.value.type_name()));
  for (const config_entry& flag : entry.value.entries) {
    bool on = false;
    if (!errors_.take(flag.value, on)) continue;
    into_.feature_flags[flag.key] = on;
    findings_.without_effect.push_back(flag.value.place.text() + ": feature flag \"" + flag.key +
                                       "\" changes nothing in this version of ternd");
  }
}

bool option_reader::take_duration(const config_entry& entry, nanoseconds& to, bool seconds_allowed) {
  const config_value& from = entry.value;
  if (from.is_text()) {
    const auto read = parse_go_duration(from.text);
    if (!read) {
      complain(from, "error parsing " + entry.key + ": time: invalid duration \"" + from.text + "\"");
      return false;
    }
    to = *read;
    return true;
  }
  if (from.what == config_value::kind::integer && seconds_allowed) {
    to = std::chrono::seconds(std::clamp<std::int64_t>(from.integer, -9'000'000'000, 9'000'000'000));
    findings_.warnings.push_back(from.place.text() + ": invalid use of field \"" + entry.key + "\": " + entry.key +
                                 " should be converted to a duration");
    return true;
  }
  wrong_type(from, "string");
  return false;
}

bool option_reader::take_address(const config_entry& entry, std::string& host, int& port) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::integer) return take_int(from, port);
  if (!from.is_text()) {
    complain(from, "expected port or host:port, got " + std::string(from.type_name()));
    return false;
  }
  auto read = parse_host_port(from.text);
  if (!read) {
    complain(from, read.error().context());
    return false;
  }
  std::tie(host, port) = std::move(*read);
  return true;
}

void option_reader::server_name(const config_entry& entry) {
  std::string name;
  if (!errors_.take(entry.value, name)) return;
  if (name.find(' ') != std::string::npos) return complain(entry.value, "server name cannot contain spaces");
  into_.server_name = std::move(name);
}

void option_reader::max_subscription_tokens(const config_entry& entry) {
  std::int64_t tokens = 0;
  if (!errors_.take(entry.value, tokens)) return;
  if (tokens > 255) return complain(entry.value, "max_sub_tokens value is too big");
  if (tokens < 0) return complain(entry.value, "max_sub_tokens value can not be negative");
  into_.max_subscription_tokens = static_cast<int>(tokens);
}

void option_reader::write_timeout(const config_entry& entry) {
  std::string word;
  if (!errors_.take(entry.value, word)) return;
  if (word == "default")
    into_.write_timeout = write_timeout_policy::default_policy;
  else if (word == "close")
    into_.write_timeout = write_timeout_policy::close;
  else if (word == "retry")
    into_.write_timeout = write_timeout_policy::retry;
  else
    complain(entry.value, "write_timeout must be 'default', 'close' or 'retry'");
}

void option_reader::lame_duck_duration(const config_entry& entry) {
  nanoseconds value{0};
  if (!take_duration(entry, value, false)) return;
  if (value < std::chrono::seconds(30))
    return complain(entry.value, "invalid lame_duck_duration of " + to_go_duration(value) + ", minimum is 30 seconds");
  into_.lame_duck_duration = value;
}

void option_reader::lame_duck_grace_period(const config_entry& entry) {
  nanoseconds value{0};
  if (!take_duration(entry, value, false)) return;
  if (value < nanoseconds(0)) return complain(entry.value, "invalid lame_duck_grace_period, needs to be positive");
  into_.lame_duck_grace_period = value;
}

void option_reader::tags(const config_entry& entry) {
  std::vector<std::string> found;
  const auto add = [&found](std::string_view tag) {
    std::string word = lower_case(tag);
    if (std::ranges::find(found, word) == found.end()) found.push_back(std::move(word));
  };
  const config_value& from = entry.value;
  if (from.is_text()) {
    add(from.text);
  } else if (from.what == config_value::kind::array) {
    for (const config_value& element : from.elements) {
      if (!element.is_text())
        return complain(element, "error parsing tags: unsupported type in array " + std::string(element.type_name()));
      add(element.text);
    }
  } else {
    return complain(from, "error parsing tags: unsupported type " + std::string(from.type_name()));
  }
  into_.tags = std::move(found);
}

void option_reader::metadata(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  into_.metadata.clear();
  for (const config_entry& one : entry.value.entries) {
    std::string text;
    if (errors_.take(one.value, text)) into_.metadata[one.key] = std::move(text);
  }
}

config_findings apply_config(const config_value& tree, options& into) {
  config_findings findings;
  option_reader(into, findings).read(tree);
  // A zero asks for the default, as for the peer.
  const options fresh;
  const auto zero_is_default = [&into, &fresh](auto... members) {
    const auto set = [&](auto member) {
      if (into.*member == std::remove_cvref_t<decltype(into.*member)>{}) into.*member = fresh.*member;
    };
    (set(members), ...);
  };
  zero_is_default(&options::max_control_line, &options::max_payload, &options::max_pending, &options::ping_max);
  zero_is_default(&options::max_closed_clients, &options::ping_interval, &options::write_deadline);
  return findings;
}

}  // namespace tern::server
