// Length: one small reader per option, and the table that finds it.
#include "server/config/config_reader.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "server/config/listener_options.hpp"
#include "server/config/option_table.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace tern::server {
namespace {

// Blocks whose readers stand in files of their own: the name in the table, what reads it. Length: it grows a line a
// block.
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

// One run over a tree. Every take_ function notes an error instead of setting when the value does not fit.
class reader {
 public:
  reader(options& into, config_findings& findings) : into_(into), findings_(findings) {}

  void read(const config_value& tree);

 private:
  struct rule {
    std::string_view name;
    void (reader::*take)(const config_entry&);
  };
  static std::span<const rule> rules();
  static std::span<const rule> jetstream_rules();

  void complain(const config_value& at, std::string text) {
    findings_.errors.push_back(at.place.text() + ": " + std::move(text));
  }
  void wrong_type(const config_value& at, std::string_view wanted) {
    complain(at,
             "interface conversion: interface {} is " + std::string(at.type_name()) + ", not " + std::string(wanted));
  }
  void unknown(const config_entry& entry) {
    if (!entry.used_as_variable) complain(entry.value, "unknown field \"" + entry.key + "\"");
  }

  bool take_text(const config_value& from, std::string& to) {
    if (!from.is_text()) return wrong_type(from, "string"), false;
    to = from.text;
    return true;
  }
  bool take_integer(const config_value& from, std::int64_t& to) {
    if (from.what != config_value::kind::integer) return wrong_type(from, "int64"), false;
    to = from.integer;
    return true;
  }
  bool take_int(const config_value& from, int& to) {
    std::int64_t wide = 0;
    if (!take_integer(from, wide)) return false;
    to = static_cast<int>(
        std::clamp<std::int64_t>(wide, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    return true;
  }
  bool take_bool(const config_value& from, bool& to) {
    if (from.what != config_value::kind::boolean) return wrong_type(from, "bool"), false;
    to = from.boolean;
    return true;
  }
  bool take_duration(const config_entry& entry, nanoseconds& to, bool seconds_allowed = true);
  bool take_address(const config_entry& entry, std::string& host, int& port);

  template <auto Member>
  void boolean(const config_entry& entry) {
    take_bool(entry.value, into_.*Member);
  }
  // Either wants a trace to begin with.
  template <auto Member>
  void tracing(const config_entry& entry) {
    if (take_bool(entry.value, into_.*Member)) into_.trace = into_.trace || into_.*Member;
  }
  template <auto Member>
  void integer(const config_entry& entry) {
    take_integer(entry.value, into_.*Member);
  }
  template <auto Member>
  void small_integer(const config_entry& entry) {
    take_int(entry.value, into_.*Member);
  }
  template <auto Member>
  void text(const config_entry& entry) {
    take_text(entry.value, into_.*Member);
  }
  template <auto Member>
  void duration(const config_entry& entry) {
    take_duration(entry, into_.*Member);
  }
  template <auto Member>
  void jetstream_integer(const config_entry& entry) {
    take_integer(entry.value, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_duration(const config_entry& entry) {
    take_duration(entry, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_text(const config_entry& entry) {
    take_text(entry.value, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_boolean(const config_entry& entry) {
    take_bool(entry.value, into_.jetstream.*Member);
  }

  void listen(const config_entry& entry) {
    if (!read_own_listen_forms(entry, into_, findings_)) take_address(entry, into_.host, into_.port);
  }
  void http(const config_entry& entry) { take_address(entry, into_.http_host, into_.http_port); }
  void server_name(const config_entry& entry);
  void max_subscription_tokens(const config_entry& entry);
  void write_timeout(const config_entry& entry);
  void lame_duck_duration(const config_entry& entry);
  void lame_duck_grace_period(const config_entry& entry);
  void tags(const config_entry& entry);
  void metadata(const config_entry& entry);
  void jetstream(const config_entry& entry);
  void jetstream_sync_interval(const config_entry& entry);
  void jetstream_limits(const config_entry& entry);
  void jetstream_batch_limits(const config_entry& entry);
  void read_block(std::string_view block, const config_value& tree, std::span<const rule> takes);
  void without_effect(const option_info& what, const config_entry& entry);
  void feature_flags(const config_entry& entry);
  bool take_limit(const config_entry& entry, std::int64_t& to);
  void max_payload(const config_entry& entry) { take_limit(entry, into_.max_payload); }
  void max_control_line(const config_entry& entry) { take_limit(entry, into_.max_control_line); }
  template <auto Member>
  void jetstream_size(const config_entry& entry) {
    take_storage_size(entry, into_.jetstream.*Member);
  }
  void take_storage_size(const config_entry& entry, std::int64_t& to);

  options& into_;
  config_findings& findings_;
};

std::span<const reader::rule> reader::rules() {
  static constexpr rule all[] = {
      {"listen", &reader::listen},
      {"host", &reader::text<&options::host>},
      {"port", &reader::small_integer<&options::port>},
      {"server_name", &reader::server_name},
      {"client_advertise", &reader::text<&options::client_advertise>},
      {"http", &reader::http},
      {"http_port", &reader::small_integer<&options::http_port>},
      {"http_base_path", &reader::text<&options::http_base_path>},
      {"debug", &reader::boolean<&options::debug>},
      {"trace", &reader::boolean<&options::trace>},
      {"trace_verbose", &reader::tracing<&options::trace_verbose>},
      {"trace_headers", &reader::tracing<&options::trace_headers>},
      {"logtime", &reader::boolean<&options::log_time>},
      {"logtime_utc", &reader::boolean<&options::log_time_utc>},
      {"max_traced_msg_len", &reader::integer<&options::max_traced_message>},
      {"log_file", &reader::text<&options::log_file>},
      {"log_size_limit", &reader::integer<&options::log_size_limit>},
      {"syslog", &reader::boolean<&options::syslog>},
      {"remote_syslog", &reader::text<&options::remote_syslog>},
      {"log_max_num", &reader::integer<&options::log_max_files>},
      {"pid_file", &reader::text<&options::pid_file>},
      {"ports_file_dir", &reader::text<&options::ports_file_directory>},
      {"max_connections", &reader::integer<&options::max_connections>},
      {"max_subscriptions", &reader::integer<&options::max_subscriptions>},
      {"max_sub_tokens", &reader::max_subscription_tokens},
      {"max_control_line", &reader::max_control_line},
      {"max_payload", &reader::max_payload},
      {"max_pending", &reader::integer<&options::max_pending>},
      {"max_closed_clients", &reader::integer<&options::max_closed_clients>},
      {"ping_interval", &reader::duration<&options::ping_interval>},
      {"ping_max", &reader::small_integer<&options::ping_max>},
      {"write_deadline", &reader::duration<&options::write_deadline>},
      {"write_timeout", &reader::write_timeout},
      {"no_fast_producer_stall", &reader::boolean<&options::no_fast_producer_stall>},
      {"disable_sublist_cache", &reader::boolean<&options::disable_interest_cache>},
      {"no_header_support", &reader::boolean<&options::no_header_support>},
      {"lame_duck_duration", &reader::lame_duck_duration},
      {"lame_duck_grace_period", &reader::lame_duck_grace_period},
      {"server_tags", &reader::tags},
      {"server_metadata", &reader::metadata},
      {"store_dir", &reader::text<&options::store_directory>},
      {"jetstream", &reader::jetstream},
      {"feature_flags", &reader::feature_flags},
  };
  return all;
}

std::span<const reader::rule> reader::jetstream_rules() {
  static constexpr rule all[] = {
      {"enabled", &reader::jetstream_boolean<&jetstream_options::enabled>},
      {"store_dir", &reader::jetstream_text<&jetstream_options::store_directory>},
      {"max_memory_store", &reader::jetstream_size<&jetstream_options::max_memory>},
      {"max_file_store", &reader::jetstream_size<&jetstream_options::max_storage>},
      {"domain", &reader::jetstream_text<&jetstream_options::domain>},
      {"strict", &reader::jetstream_boolean<&jetstream_options::strict>},
      {"sync_interval", &reader::jetstream_sync_interval},
      {"limits", &reader::jetstream_limits},
      {"max_buffered_size", &reader::jetstream_size<&jetstream_options::max_buffered_bytes>},
      {"max_buffered_msgs", &reader::jetstream_integer<&jetstream_options::max_buffered_messages>},
  };
  return all;
}

void reader::read(const config_value& tree) { read_block({}, tree, rules()); }

void reader::read_block(std::string_view block, const config_value& tree, std::span<const rule> takes) {
  for (const config_entry& entry : tree.entries) {
    const option_info* info = find_option(block, lower_case(entry.key));
    if (info == nullptr) {
      unknown(entry);
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
void reader::without_effect(const option_info& what, const config_entry& entry) {
  const auto is = [&what](std::string_view type) { return what.type.starts_with(type); };
  const config_value& from = entry.value;
  if (is("boolean") && from.what != config_value::kind::boolean) return wrong_type(from, "bool");
  if (is("number") && from.what != config_value::kind::integer) return wrong_type(from, "int64");
  if (is("text") && !from.is_text()) return wrong_type(from, "string");
  findings_.without_effect.push_back(from.place.text() + ": " + without_effect_text(what, entry.key));
}

// Limits that travel as 32 bits (core 1.1).
bool reader::take_limit(const config_entry& entry, std::int64_t& to) {
  std::int64_t value = 0;
  if (!take_integer(entry.value, value)) return false;
  if (value > std::numeric_limits<std::int32_t>::max()) {
    complain(entry.value, entry.key + " value is too big");
    return false;
  }
  to = value;
  return true;
}

// A number, or digits with K, M, G or T behind them in quotes, which makes powers of 1024.
void reader::take_storage_size(const config_entry& entry, std::int64_t& to) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::integer) {
    to = from.integer;
    return;
  }
  if (!from.is_text()) return complain(from, entry.key + " must be int64 or string");
  if (from.text.empty()) return;
  constexpr std::string_view suffixes = "KMGT";
  const std::size_t power = suffixes.find(from.text.back());
  if (power == std::string_view::npos)
    return complain(from, entry.key + " sizes defined as strings must end in K, M, G, T");
  const std::string_view digits = std::string_view(from.text).substr(0, from.text.size() - 1);
  const auto number = parse_signed_decimal(digits);
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (!number || *number > (std::numeric_limits<std::int64_t>::max() >> shift) ||
      *number < -(std::numeric_limits<std::int64_t>::max() >> shift))
    return complain(from, entry.key + " strconv.ParseInt: parsing \"" + std::string(digits) + "\": invalid syntax");
  to = *number * (std::int64_t{1} << shift);
}

void reader::feature_flags(const config_entry& entry) {
  if (!entry.value.is_map())
    return complain(entry.value,
                    "error parsing feature flags: unsupported type " + std::string(entry.value.type_name()));
  for (const config_entry& flag : entry.value.entries) {
    bool on = false;
    if (!take_bool(flag.value, on)) continue;
    into_.feature_flags[flag.key] = on;
    findings_.without_effect.push_back(flag.value.place.text() + ": feature flag \"" + flag.key +
                                       "\" changes nothing in this version of ternd");
  }
}

bool reader::take_duration(const config_entry& entry, nanoseconds& to, bool seconds_allowed) {
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

bool reader::take_address(const config_entry& entry, std::string& host, int& port) {
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

void reader::server_name(const config_entry& entry) {
  std::string name;
  if (!take_text(entry.value, name)) return;
  if (name.find(' ') != std::string::npos) return complain(entry.value, "server name cannot contain spaces");
  into_.server_name = std::move(name);
}

void reader::max_subscription_tokens(const config_entry& entry) {
  std::int64_t tokens = 0;
  if (!take_integer(entry.value, tokens)) return;
  if (tokens > 255) return complain(entry.value, "max_sub_tokens value is too big");
  if (tokens < 0) return complain(entry.value, "max_sub_tokens value can not be negative");
  into_.max_subscription_tokens = static_cast<int>(tokens);
}

void reader::write_timeout(const config_entry& entry) {
  std::string word;
  if (!take_text(entry.value, word)) return;
  if (word == "default")
    into_.write_timeout = write_timeout_policy::default_policy;
  else if (word == "close")
    into_.write_timeout = write_timeout_policy::close;
  else if (word == "retry")
    into_.write_timeout = write_timeout_policy::retry;
  else
    complain(entry.value, "write_timeout must be 'default', 'close' or 'retry'");
}

void reader::lame_duck_duration(const config_entry& entry) {
  nanoseconds value{0};
  if (!take_duration(entry, value, false)) return;
  if (value < std::chrono::seconds(30))
    return complain(entry.value, "invalid lame_duck_duration of " + to_go_duration(value) + ", minimum is 30 seconds");
  into_.lame_duck_duration = value;
}

void reader::lame_duck_grace_period(const config_entry& entry) {
  nanoseconds value{0};
  if (!take_duration(entry, value, false)) return;
  if (value < nanoseconds(0)) return complain(entry.value, "invalid lame_duck_grace_period, needs to be positive");
  into_.lame_duck_grace_period = value;
}

void reader::tags(const config_entry& entry) {
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

void reader::metadata(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  into_.metadata.clear();
  for (const config_entry& one : entry.value.entries) {
    std::string text;
    if (take_text(one.value, text)) into_.metadata[one.key] = std::move(text);
  }
}

void reader::jetstream(const config_entry& entry) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::boolean) {
    into_.jetstream.enabled = from.boolean;
    return;
  }
  if (from.is_text()) {
    const std::string word = lower_case(from.text);
    if (word == "enabled" || word == "enable")
      into_.jetstream.enabled = true;
    else if (word == "disabled" || word == "disable")
      into_.jetstream.enabled = false;
    else
      complain(from, "expected 'enabled' or 'disabled' for string value, got '" + from.text + "'");
    return;
  }
  if (!from.is_map())
    return complain(from, "expected map, bool or string to define JetStream, got " + std::string(from.type_name()));
  into_.jetstream.enabled = true;
  read_block("jetstream", from, jetstream_rules());
}

void reader::jetstream_sync_interval(const config_entry& entry) {
  if (entry.value.is_text() && lower_case(entry.value.text) == "always") {
    into_.jetstream.sync_interval.reset();
    return;
  }
  nanoseconds interval{0};
  if (take_duration(entry, interval)) into_.jetstream.sync_interval = interval;
}

void reader::jetstream_limits(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  static constexpr rule all[] = {
      {"max_ack_pending", &reader::jetstream_integer<&jetstream_options::max_ack_pending>},
      {"max_request_batch", &reader::jetstream_integer<&jetstream_options::max_request_batch>},
      {"duplicate_window", &reader::jetstream_duration<&jetstream_options::duplicate_window>},
      {"batch", &reader::jetstream_batch_limits},
  };
  read_block("jetstream.limits", entry.value, all);
}

void reader::jetstream_batch_limits(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  static constexpr rule all[] = {
      {"max_inflight_per_stream", &reader::jetstream_integer<&jetstream_options::batch_inflight_per_stream>},
      {"max_inflight_total", &reader::jetstream_integer<&jetstream_options::batch_inflight_total>},
      {"max_msgs", &reader::jetstream_integer<&jetstream_options::batch_messages>},
      {"timeout", &reader::jetstream_duration<&jetstream_options::batch_timeout>},
  };
  read_block("jetstream.limits.batch", entry.value, all);
}

}  // namespace

config_findings apply_config(const config_value& tree, options& into) {
  config_findings findings;
  reader(into, findings).read(tree);
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
