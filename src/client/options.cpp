#include <tern/client/options.hpp>

namespace tern::client {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view name_of(connection_event::kind what) {
  switch (what) {
    case connection_event::kind::connected:
      return "connected";
    case connection_event::kind::disconnected:
      return "disconnected";
    case connection_event::kind::reconnected:
      return "reconnected";
    case connection_event::kind::slow_consumer:
      return "slow consumer";
    case connection_event::kind::server_error:
      return "server error";
    case connection_event::kind::callback_failed:
      return "callback failed";
    case connection_event::kind::lame_duck:
      return "lame duck";
    case connection_event::kind::closed:
      return "closed";
  }
  return "unknown";
}

options& options::url(std::string_view comma_separated) {
  values_.urls.clear();
  while (!comma_separated.empty()) {
    const auto comma = comma_separated.find(',');
    const auto one = trimmed(comma_separated.substr(0, comma));
    if (!one.empty()) values_.urls.emplace_back(one);
    if (comma == std::string_view::npos) break;
    comma_separated.remove_prefix(comma + 1);
  }
  return *this;
}

options& options::add_url(std::string_view one) {
  values_.urls.emplace_back(trimmed(one));
  return *this;
}

options& options::keep_server_order(bool yes) {
  values_.keep_server_order = yes;
  return *this;
}

options& options::discover_servers(bool yes) {
  values_.discover_servers = yes;
  return *this;
}

options& options::name(std::string_view connection_name) {
  values_.name = connection_name;
  return *this;
}

options& options::user(std::string_view user, std::string_view password) {
  values_.user = user;
  values_.password = password;
  return *this;
}

options& options::token(std::string_view token) {
  values_.token = token;
  return *this;
}

options& options::no_echo(bool yes) {
  values_.no_echo = yes;
  return *this;
}

options& options::verbose(bool yes) {
  values_.verbose = yes;
  return *this;
}

options& options::pedantic(bool yes) {
  values_.pedantic = yes;
  return *this;
}

options& options::connect_timeout(nanoseconds each_server) {
  values_.connect_timeout = each_server;
  return *this;
}

options& options::request_timeout(nanoseconds default_patience) {
  values_.request_timeout = default_patience;
  return *this;
}

options& options::jetstream_api_timeout(nanoseconds patience) {
  values_.jetstream_api_timeout = patience;
  return *this;
}

options& options::publish_ack_timeout(nanoseconds patience) {
  values_.publish_ack_timeout = patience;
  return *this;
}

options& options::ping_interval(nanoseconds interval) {
  values_.ping_interval = interval;
  return *this;
}

options& options::pings_outstanding(std::uint32_t most) {
  values_.pings_outstanding = most;
  return *this;
}

options& options::drain_timeout(nanoseconds patience) {
  values_.drain_timeout = patience;
  return *this;
}

options& options::max_reconnects(std::uint64_t rounds) {
  values_.max_reconnects = rounds;
  return *this;
}

options& options::reconnect_backoff(nanoseconds first, nanoseconds longest) {
  values_.reconnect_first = first;
  values_.reconnect_longest = longest;
  return *this;
}

options& options::reconnect_jitter(double fraction) {
  values_.reconnect_jitter = fraction;
  return *this;
}

options& options::retry_first_connect(bool yes) {
  values_.retry_first_connect = yes;
  return *this;
}

options& options::pending_buffer(std::size_t bytes) {
  values_.pending_buffer = bytes;
  return *this;
}

options& options::write_buffer(std::size_t bytes) {
  values_.write_buffer = bytes;
  return *this;
}

options& options::subscription_buffer(std::size_t messages) {
  values_.subscription_buffer = messages;
  return *this;
}

options& options::subscription_buffer_bytes(std::size_t bytes) {
  values_.subscription_buffer_bytes = bytes;
  return *this;
}

options& options::inbox_prefix(std::string_view prefix) {
  values_.inbox_prefix = prefix;
  return *this;
}

options& options::tls_authority(std::string_view file) {
  values_.tls_authority_file = file;
  return *this;
}

options& options::tls_certificate(std::string_view certificate_file, std::string_view key_file) {
  values_.tls_certificate_file = certificate_file;
  values_.tls_key_file = key_file;
  return *this;
}

options& options::tls_server_name(std::string_view name) {
  values_.tls_server_name = name;
  return *this;
}

options& options::tls_handshake_first(bool yes) {
  values_.tls_handshake_first = yes;
  return *this;
}

options& options::tls_insecure(bool yes) {
  values_.tls_insecure = yes;
  return *this;
}

options& options::websocket_compression(bool yes) {
  values_.websocket_compression = yes;
  return *this;
}

options& options::on_event(event_callback callback) {
  values_.on_event = std::move(callback);
  return *this;
}

}  // namespace tern::client
