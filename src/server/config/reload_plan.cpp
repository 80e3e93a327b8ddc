#include "server/config/reload_plan.hpp"

#include "base/go_duration.hpp"
#include "server/jetstream_host.hpp"

#include <tern/codec/json.hpp>

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

namespace tern::server {
namespace {

constexpr std::string_view not_supported = "config reload not supported for ";

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(std::integral auto value) { return std::to_string(value); }
std::string shown(const std::string& value) { return value; }
std::string shown(nanoseconds value) { return to_go_duration(value); }
std::string shown(const std::optional<nanoseconds>& value) { return value ? to_go_duration(*value) : "always"; }
std::string shown(write_timeout_policy value) {
  switch (value) {
    case write_timeout_policy::default_policy:
      return "";
    case write_timeout_policy::close:
      return "close";
    case write_timeout_policy::retry:
      return "retry";
  }
  return "";
}
std::string shown(const std::map<std::string, bool>& value) {
  std::string out = "map[";
  for (const auto& [key, on] : value) out.append(out.size() > 4 ? " " : "").append(key).append(":").append(shown(on));
  return out + "]";
}

std::string directory_of(const options& what) {
  return what.jetstream.store_directory.empty() ? what.store_directory : what.jetstream.store_directory;
}

class comparison {
 public:
  comparison(const options& before, const options& after) : before_(before), after_(after) {}

  // The peer's name of what cannot change.
  template <class Value>
  void fixed(std::string_view name, const Value& before, const Value& after) {
    if (before == after) return;
    refuse(std::string(name) + ": old=" + shown(before) + ", new=" + shown(after));
  }
  template <auto Member>
  void fixed(std::string_view name) {
    fixed(name, before_.*Member, after_.*Member);
  }
  template <auto Member>
  void applied(std::string_view name) {
    if (before_.*Member != after_.*Member) note("Reloaded: " + std::string(name) + " = " + shown(after_.*Member));
  }
  template <auto Member>
  void applied_without_value(std::string_view name) {
    if (before_.*Member != after_.*Member) note("Reloaded: " + std::string(name));
  }
  void note(std::string line) { lines_.push_back(std::move(line)); }
  void refuse(std::string what) {
    if (!refusal_) refusal_ = std::string(not_supported) + std::move(what);
  }

  std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }
  const std::optional<std::string>& refusal() const { return refusal_; }

 private:
  const options& before_;
  const options& after_;
  std::vector<std::string> lines_;
  std::optional<std::string> refusal_;
};

void compare_jetstream(comparison& seen, const options& before, const options& after) {
  const jetstream_options& old = before.jetstream;
  const jetstream_options& fresh = after.jetstream;
  if (old.enabled != fresh.enabled) return seen.note("Reloaded: JetStream");
  if (!old.enabled) return;
  if (directory_of(before) != directory_of(after)) return seen.refuse("jetstream storage directory");
  const bool was_given = old.max_memory >= 0 && old.max_storage >= 0;
  const bool is_given = fresh.max_memory >= 0 && fresh.max_storage >= 0;
  const bool same = old.max_memory == fresh.max_memory && old.max_storage == fresh.max_storage;
  if (!same && was_given && !is_given) seen.refuse("jetstream max memory and max store");
  if (!same && !was_given) seen.refuse("jetstream dynamic max memory and store");
  if (!same && (fresh.max_memory < old.max_memory || fresh.max_storage < old.max_storage))
    seen.refuse("decreasing jetstream max memory and store");
  seen.fixed("JetStreamDomain", old.domain, fresh.domain);
  seen.fixed("NoJetStreamStrict", !old.strict, !fresh.strict);
  seen.fixed("SyncInterval", old.sync_interval, fresh.sync_interval);
  seen.fixed("StreamMaxBufferedMsgs", old.max_buffered_messages, fresh.max_buffered_messages);
  seen.fixed("StreamMaxBufferedSize", old.max_buffered_bytes, fresh.max_buffered_bytes);
  if (old.max_ack_pending != fresh.max_ack_pending || old.max_request_batch != fresh.max_request_batch ||
      old.duplicate_window != fresh.duplicate_window)
    seen.note("Reloaded: JetStream limits");
  if (old.max_memory != fresh.max_memory)
    seen.note("Reloaded: JetStream max_mem_store = " + friendly_bytes(fresh.max_memory));
  if (old.max_storage != fresh.max_storage)
    seen.note("Reloaded: JetStream max_file_store = " + friendly_bytes(fresh.max_storage));
}

// A login's timeout is told in seconds, as "1.5".
std::string in_seconds(nanoseconds value) {
  constexpr nanoseconds default_timeout = std::chrono::seconds(2);
  std::string out;
  codec::write_json_number(out,
                           std::chrono::duration<double>(value == nanoseconds(0) ? default_timeout : value).count());
  return out;
}

void compare_security(comparison& seen, const security_options& old, const security_options& fresh) {
  if (old.users != fresh.users) seen.note("Reloaded: authorization users");
  if (old.accounts != fresh.accounts) seen.note("Reloaded: accounts");
  seen.fixed("SystemAccount", old.system_account, fresh.system_account);
  seen.fixed("NoSystemAccount", old.no_system_account, fresh.no_system_account);
  if (old.user != fresh.user) seen.note("Reloaded: authorization username");
  if (old.password != fresh.password) seen.note("Reloaded: authorization password");
  if (old.token != fresh.token) seen.note("Reloaded: authorization token");
}

}  // namespace

// In the order in which the peer looks at them, which decides what is told of several that cannot change.
result<reload_plan> plan_reload(const options& before, const options& after, int port) {
  comparison seen(before, after);
  reload_plan plan;
  seen.fixed<&options::server_name>("ServerName");
  seen.fixed<&options::host>("Host");
  if (before.port != after.port) seen.fixed("Port", port, after.port);
  if (before.client_advertise != after.client_advertise)
    seen.note("Reload: client_advertise = " + after.client_advertise);
  seen.applied<&options::trace>("trace");
  seen.applied<&options::debug>("debug");
  seen.applied<&options::trace_verbose>("trace_verbose");
  seen.applied<&options::trace_headers>("trace_headers");
  seen.fixed<&options::disable_interest_cache>("NoSublistCache");
  seen.fixed<&options::no_header_support>("NoHeaderSupport");
  seen.applied<&options::log_time>("logtime");
  seen.applied<&options::log_time_utc>("logtime_utc");
  seen.applied<&options::max_connections>("max_connections");
  seen.fixed<&options::max_subscriptions>("MaxSubs");
  seen.fixed<&options::max_subscription_tokens>("MaxSubTokens");
  compare_security(seen, before.security, after.security);
  plan.first = seen.take_lines();

  seen.applied<&options::ping_interval>("ping_interval");
  seen.applied<&options::ping_max>("ping_max");
  const auto http_host = [](const options& of) { return of.http_host.empty() ? of.host : of.http_host; };
  seen.fixed("HTTPHost", http_host(before), http_host(after));
  seen.fixed<&options::http_port>("HTTPPort");
  seen.fixed<&options::http_base_path>("HTTPBasePath");
  if (before.security.timeout != after.security.timeout)
    seen.note("Reloaded: authorization timeout = " + in_seconds(after.security.timeout));
  seen.applied<&options::max_control_line>("max_control_line");
  seen.applied<&options::max_payload>("max_payload");
  seen.fixed<&options::max_pending>("MaxPending");
  if (before.no_fast_producer_stall != after.no_fast_producer_stall)
    seen.note(after.no_fast_producer_stall ? "Reloaded: fast producers will not be stalled"
                                           : "Reloaded: fast producers will be stalled");
  compare_jetstream(seen, before, after);
  seen.applied<&options::pid_file>("pid_file");
  seen.applied<&options::ports_file_directory>("ports_file_dir");
  seen.applied<&options::log_file>("log_file");
  seen.fixed<&options::log_size_limit>("LogSizeLimit");
  seen.fixed<&options::log_max_files>("LogMaxFiles");
  seen.applied<&options::syslog>("syslog");
  seen.applied<&options::remote_syslog>("remote_syslog");
  seen.applied<&options::write_deadline>("write_deadline");
  seen.fixed<&options::write_timeout>("WriteTimeout");
  seen.fixed<&options::max_closed_clients>("MaxClosedClients");
  seen.fixed<&options::lame_duck_duration>("LameDuckDuration");
  seen.fixed<&options::lame_duck_grace_period>("LameDuckGracePeriod");
  seen.applied<&options::max_traced_message>("max_traced_msg_len");
  seen.applied_without_value<&options::tags>("tags");
  seen.applied_without_value<&options::metadata>("metadata");
  seen.fixed("NoAuthUser", before.security.no_auth_user, after.security.no_auth_user);
  seen.fixed<&options::feature_flags>("FeatureFlags");
  plan.rest = seen.take_lines();
  if (seen.refusal()) return fail(errc::config_error, *seen.refusal());
  return plan;
}

}  // namespace tern::server
