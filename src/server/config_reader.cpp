#include "server/config_reader.hpp"

#include "base/go_duration.hpp"
#include "base/numbers.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

namespace tern::server {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  });
  return out;
}

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
  void jetstream_text(const config_entry& entry) {
    take_text(entry.value, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_boolean(const config_entry& entry) {
    take_bool(entry.value, into_.jetstream.*Member);
  }

  void listen(const config_entry& entry) { take_address(entry, into_.host, into_.port); }
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
  void accepted(const config_entry&) {}  // has no meaning here, and no harm
  void not_supported(const config_entry& entry) {
    complain(entry.value, "option \"" + entry.key + "\" is not supported by this version of ternd");
  }

  options& into_;
  config_findings& findings_;
};

std::span<const reader::rule> reader::rules() {
  static constexpr rule all[] = {
      {"listen", &reader::listen},
      {"host", &reader::text<&options::host>},
      {"net", &reader::text<&options::host>},
      {"port", &reader::small_integer<&options::port>},
      {"server_name", &reader::server_name},
      {"client_advertise", &reader::text<&options::client_advertise>},
      {"http", &reader::http},
      {"http_port", &reader::small_integer<&options::http_port>},
      {"monitor_port", &reader::small_integer<&options::http_port>},
      {"http_base_path", &reader::text<&options::http_base_path>},
      {"debug", &reader::boolean<&options::debug>},
      {"trace", &reader::boolean<&options::trace>},
      {"trace_verbose", &reader::boolean<&options::trace_verbose>},
      {"trace_headers", &reader::boolean<&options::trace_headers>},
      {"logtime", &reader::boolean<&options::log_time>},
      {"logtime_utc", &reader::boolean<&options::log_time_utc>},
      {"max_traced_msg_len", &reader::integer<&options::max_traced_message>},
      {"log_file", &reader::text<&options::log_file>},
      {"logfile", &reader::text<&options::log_file>},
      {"log_size_limit", &reader::integer<&options::log_size_limit>},
      {"logfile_size_limit", &reader::integer<&options::log_size_limit>},
      {"log_max_num", &reader::integer<&options::log_max_files>},
      {"logfile_max_num", &reader::integer<&options::log_max_files>},
      {"pid_file", &reader::text<&options::pid_file>},
      {"pidfile", &reader::text<&options::pid_file>},
      {"ports_file_dir", &reader::text<&options::ports_file_directory>},
      {"max_connections", &reader::integer<&options::max_connections>},
      {"max_conn", &reader::integer<&options::max_connections>},
      {"max_subscriptions", &reader::integer<&options::max_subscriptions>},
      {"max_subs", &reader::integer<&options::max_subscriptions>},
      {"max_sub_tokens", &reader::max_subscription_tokens},
      {"max_subscription_tokens", &reader::max_subscription_tokens},
      {"max_control_line", &reader::integer<&options::max_control_line>},
      {"max_payload", &reader::integer<&options::max_payload>},
      {"max_pending", &reader::integer<&options::max_pending>},
      {"max_closed_clients", &reader::integer<&options::max_closed_clients>},
      {"ping_interval", &reader::duration<&options::ping_interval>},
      {"ping_max", &reader::small_integer<&options::ping_max>},
      {"write_deadline", &reader::duration<&options::write_deadline>},
      {"write_timeout", &reader::write_timeout},
      {"no_fast_producer_stall", &reader::boolean<&options::no_fast_producer_stall>},
      {"disable_sublist_cache", &reader::boolean<&options::disable_interest_cache>},
      {"no_sublist_cache", &reader::boolean<&options::disable_interest_cache>},
      {"no_header_support", &reader::boolean<&options::no_header_support>},
      {"lame_duck_duration", &reader::lame_duck_duration},
      {"lame_duck_grace_period", &reader::lame_duck_grace_period},
      {"server_tags", &reader::tags},
      {"server_metadata", &reader::metadata},
      {"store_dir", &reader::text<&options::store_directory>},
      {"storedir", &reader::text<&options::store_directory>},
      {"jetstream", &reader::jetstream},
      // About links to other servers, of which there are none, and about the peer's own machinery.
      {"connect_error_reports", &reader::accepted},
      {"reconnect_error_reports", &reader::accepted},
      {"feature_flags", &reader::accepted},
      {"prof_block_rate", &reader::accepted},
      {"no_system_account", &reader::accepted},
      {"no_system", &reader::accepted},
      {"no_sys_acc", &reader::accepted},
      // Known, and not to be overheard: a server without them would admit or reach whom it must not.
      {"https", &reader::not_supported},
      {"https_port", &reader::not_supported},
      {"syslog", &reader::not_supported},
      {"remote_syslog", &reader::not_supported},
      {"prof_port", &reader::not_supported},
      {"proxy_protocol", &reader::not_supported},
      {"proxies", &reader::not_supported},
      {"tls", &reader::not_supported},
      {"allow_non_tls", &reader::not_supported},
      {"ocsp", &reader::not_supported},
      {"ocsp_cache", &reader::not_supported},
      {"authorization", &reader::not_supported},
      {"accounts", &reader::not_supported},
      {"mappings", &reader::not_supported},
      {"maps", &reader::not_supported},
      {"no_auth_user", &reader::not_supported},
      {"system_account", &reader::not_supported},
      {"system", &reader::not_supported},
      {"operator", &reader::not_supported},
      {"operators", &reader::not_supported},
      {"root", &reader::not_supported},
      {"roots", &reader::not_supported},
      {"root_operator", &reader::not_supported},
      {"root_operators", &reader::not_supported},
      {"trusted", &reader::not_supported},
      {"trusted_keys", &reader::not_supported},
      {"resolver", &reader::not_supported},
      {"account_resolver", &reader::not_supported},
      {"resolver_tls", &reader::not_supported},
      {"resolver_preload", &reader::not_supported},
      {"resolver_pinned_accounts", &reader::not_supported},
      {"default_sentinel", &reader::not_supported},
      {"default_js_domain", &reader::not_supported},
      {"msg_trace", &reader::not_supported},
      {"cluster", &reader::not_supported},
      {"gateway", &reader::not_supported},
      {"leafnodes", &reader::not_supported},
      {"leaf", &reader::not_supported},
      {"websocket", &reader::not_supported},
      {"ws", &reader::not_supported},
      {"mqtt", &reader::not_supported},
  };
  return all;
}

std::span<const reader::rule> reader::jetstream_rules() {
  static constexpr rule all[] = {
      {"enabled", &reader::jetstream_boolean<&jetstream_options::enabled>},
      {"enable", &reader::jetstream_boolean<&jetstream_options::enabled>},
      {"store_dir", &reader::jetstream_text<&jetstream_options::store_directory>},
      {"storedir", &reader::jetstream_text<&jetstream_options::store_directory>},
      {"max_memory_store", &reader::jetstream_integer<&jetstream_options::max_memory>},
      {"max_mem_store", &reader::jetstream_integer<&jetstream_options::max_memory>},
      {"max_mem", &reader::jetstream_integer<&jetstream_options::max_memory>},
      {"max_file_store", &reader::jetstream_integer<&jetstream_options::max_storage>},
      {"max_file", &reader::jetstream_integer<&jetstream_options::max_storage>},
      {"domain", &reader::jetstream_text<&jetstream_options::domain>},
      {"strict", &reader::jetstream_boolean<&jetstream_options::strict>},
      {"sync_interval", &reader::jetstream_sync_interval},
      {"sync", &reader::jetstream_sync_interval},
      {"limits", &reader::jetstream_limits},
      // About clusters and the peer's own queues.
      {"unique_tag", &reader::accepted},
      {"extension_hint", &reader::accepted},
      {"request_queue_limit", &reader::accepted},
      {"info_queue_limit", &reader::accepted},
      {"max_outstanding_catchup", &reader::accepted},
      {"compress_ok", &reader::accepted},
      {"meta_compact", &reader::accepted},
      {"meta_compact_size", &reader::accepted},
      {"meta_compact_sync", &reader::accepted},
      {"max_buffered_size", &reader::accepted},
      {"max_buffered_msgs", &reader::accepted},
      {"key", &reader::not_supported},
      {"ek", &reader::not_supported},
      {"encryption_key", &reader::not_supported},
      {"prev_key", &reader::not_supported},
      {"prev_ek", &reader::not_supported},
      {"prev_encryption_key", &reader::not_supported},
      {"cipher", &reader::not_supported},
      {"tpm", &reader::not_supported},
  };
  return all;
}

void reader::read(const config_value& tree) {
  for (const config_entry& entry : tree.entries) {
    const std::string name = lower(entry.key);
    const auto found = std::ranges::find(rules(), std::string_view(name), &rule::name);
    if (found == rules().end())
      unknown(entry);
    else
      (this->*found->take)(entry);
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
    std::string word = lower(tag);
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
    const std::string word = lower(from.text);
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
  for (const config_entry& one : from.entries) {
    const std::string name = lower(one.key);
    const auto found = std::ranges::find(jetstream_rules(), std::string_view(name), &rule::name);
    if (found == jetstream_rules().end())
      unknown(one);
    else
      (this->*found->take)(one);
  }
}

void reader::jetstream_sync_interval(const config_entry& entry) {
  if (entry.value.is_text() && lower(entry.value.text) == "always") {
    into_.jetstream.sync_interval.reset();
    return;
  }
  nanoseconds interval{0};
  if (take_duration(entry, interval)) into_.jetstream.sync_interval = interval;
}

void reader::jetstream_limits(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  for (const config_entry& one : entry.value.entries) {
    const std::string name = lower(one.key);
    if (name == "max_ack_pending")
      take_integer(one.value, into_.jetstream.max_ack_pending);
    else if (name == "max_request_batch")
      take_integer(one.value, into_.jetstream.max_request_batch);
    else if (name == "duplicate_window")
      take_duration(one, into_.jetstream.duplicate_window);
    else if (name != "max_ha_assets")
      unknown(one);  // of clusters
  }
}

}  // namespace

config_findings apply_config(const config_value& tree, options& into) {
  config_findings findings;
  reader(into, findings).read(tree);
  return findings;
}

result<std::pair<std::string, int>> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find(']', colon) != std::string_view::npos)
    return fail(errc::config_error, "could not parse address string \"" + std::string(text) + "\"");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const auto port = parse_signed_decimal(digits);
  if (!port || *port < -1 || *port > 65535)
    return fail(errc::config_error, "could not parse port \"" + std::string(digits) + "\"");
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair(std::string(host), static_cast<int>(*port));
}

}  // namespace tern::server
