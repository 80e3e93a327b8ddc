/// How a connection is made and kept.
///
///     auto settings = options("nats://127.0.0.1:4222").name("billing").user("billing", "secret");
///     auto connected = connection::connect(settings).get();
///
/// A class with chained setters, so that it may be built in place in a co_await expression (coroutine_guard.hpp).
/// Nothing is checked before connect(), which answers errc::invalid_options. Thread safety: a plain value. Source:
/// service 11.5 and 18, core 1.2 and 1.4.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

namespace tern::client {

/// What happens to a connection, for logs and health.
struct connection_event {
  enum class kind {
    connected,        ///< the first time
    disconnected,     ///< `reason` says why; reconnecting begins
    reconnected,      ///< subscriptions are in force again; `gap` is how long the connection was away
    slow_consumer,    ///< a subscription's buffer is full: `subject`; once until it has emptied
    server_error,     ///< the server sent -ERR and kept the connection: `reason`
    callback_failed,  ///< a message callback threw: `subject`, `reason`; the message counts as delivered
    lame_duck,        ///< the server is about to go away
    closed,           ///< for good; `reason` says why when nobody asked for it
  };
  kind what;
  std::string server;  ///< "host:port" where it applies
  std::string subject;
  error reason{errc::cancelled, ""};
  nanoseconds gap{};
};
std::string_view name_of(connection_event::kind what);

class options {
 public:
  using event_callback = std::function<void(const connection_event&)>;
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

  options() = default;
  /// A URL, or several separated by commas; see url().
  explicit options(std::string_view urls) { url(urls); }

  /// Replaces the servers. Each is `nats://[user:password@|token@]host[:port]`, scheme and port may be left out.
  /// `tls://` insists on TLS, which `nats://` uses when the server demands it; `ws://host[:port][/path]` and `wss://`
  /// (with TLS) go through a WebSocket; `unix:///path` is a Unix socket of ternd. Default: nats://127.0.0.1:4222.
  options& url(std::string_view comma_separated);
  options& add_url(std::string_view one);
  /// Servers are tried in the order given instead of a random one. Default: shuffled, the first one stays first.
  options& keep_server_order(bool yes = true);
  /// Also learn servers from the connected one's INFO. Default: yes.
  options& discover_servers(bool yes);

  options& name(std::string_view connection_name);                  ///< Shown by monitoring. Default: none.
  options& user(std::string_view user, std::string_view password);  ///< For URLs without credentials.
  options& token(std::string_view token);
  options& no_echo(bool yes = true);   ///< Own publishes do not come back. Default: they do.
  options& verbose(bool yes = true);   ///< The server confirms each operation. Default: off.
  options& pedantic(bool yes = true);  ///< The server checks publish subjects. Default: off.

  options& connect_timeout(nanoseconds each_server);       ///< Dial to first PONG. Default 5 s.
  options& request_timeout(nanoseconds default_patience);  ///< Default 10 s.
  options& jetstream_api_timeout(nanoseconds patience);    ///< Default 5 s.
  options& publish_ack_timeout(nanoseconds patience);      ///< PubAck. Default 30 s.
  options& ping_interval(nanoseconds interval);            ///< Default 60 s; 0 turns pings off.
  options& pings_outstanding(std::uint32_t most);          ///< One more unanswered is a lost connection. Default 2.
  options& drain_timeout(nanoseconds patience);            ///< Default 30 s.

  /// Attempts per loss of the connection, each a whole round through the servers; 0 turns reconnecting off.
  /// Default: unlimited.
  options& max_reconnects(std::uint64_t rounds);
  /// Pause before the first round and the longest one; it doubles in between. Default 100 ms to 8 s.
  options& reconnect_backoff(nanoseconds first, nanoseconds longest);
  /// Each pause is multiplied by a random number in [1 - fraction, 1 + fraction]. Default 0.25.
  options& reconnect_jitter(double fraction);
  /// Keep trying when the first round finds no server. Default: connect() fails then.
  options& retry_first_connect(bool yes = true);

  /// Bytes that wait while there is no connection; a publish beyond them is errc::disconnected. Default 8 MiB.
  options& pending_buffer(std::size_t bytes);
  /// Bytes that wait for a connected socket: a publishing thread waits for room, the loop's own thread may go on to 64
  /// times as much, then it gets errc::limit_exceeded. Default 1 MiB.
  options& write_buffer(std::size_t bytes);
  /// Messages and bytes that a pull-style subscription keeps; a message beyond them is dropped and counted, and the
  /// event slow_consumer tells. Default 65 536 messages, 64 MiB.
  options& subscription_buffer(std::size_t messages);
  options& subscription_buffer_bytes(std::size_t bytes);
  /// First tokens of reply subjects. Default "_INBOX".
  options& inbox_prefix(std::string_view prefix);
  /// Issuers of server certificates, a file of PEM text. Default: those that the system trusts.
  options& tls_authority(std::string_view file);
  /// Who we are, for servers that ask: files of PEM text. Default: nobody.
  options& tls_certificate(std::string_view certificate_file, std::string_view key_file);
  /// The name that the server's certificate must bear. Default: the host of its URL.
  options& tls_server_name(std::string_view name);
  /// TLS begins before the server speaks: for servers with `handshake_first`. Default: no.
  options& tls_handshake_first(bool yes = true);
  /// Takes any certificate, which protects from nobody who can answer in the server's place. For tests. Default: no.
  options& tls_insecure(bool yes = true);
  /// Offers compression to servers behind a WebSocket. Default: no.
  options& websocket_compression(bool yes = true);
  /// Runs on the loop; must not block. Default: none.
  options& on_event(event_callback callback);

  struct values {
    std::vector<std::string> urls{"nats://127.0.0.1:4222"};
    bool keep_server_order = false;
    bool discover_servers = true;
    std::string name;
    std::string user, password, token;
    bool no_echo = false, verbose = false, pedantic = false;
    nanoseconds connect_timeout = std::chrono::seconds(5);
    nanoseconds request_timeout = std::chrono::seconds(10);
    nanoseconds jetstream_api_timeout = std::chrono::seconds(5);
    nanoseconds publish_ack_timeout = std::chrono::seconds(30);
    nanoseconds ping_interval = std::chrono::seconds(60);
    std::uint32_t pings_outstanding = 2;
    nanoseconds drain_timeout = std::chrono::seconds(30);
    std::uint64_t max_reconnects = unlimited;
    nanoseconds reconnect_first = std::chrono::milliseconds(100);
    nanoseconds reconnect_longest = std::chrono::seconds(8);
    double reconnect_jitter = 0.25;
    bool retry_first_connect = false;
    std::size_t pending_buffer = 8u << 20;
    std::size_t write_buffer = 1u << 20;
    std::size_t subscription_buffer = 65'536;
    std::size_t subscription_buffer_bytes = 64u << 20;
    std::string inbox_prefix = "_INBOX";
    std::string tls_authority_file, tls_certificate_file, tls_key_file, tls_server_name;
    bool tls_handshake_first = false, tls_insecure = false, websocket_compression = false;
    event_callback on_event;
  };
  const values& get() const { return values_; }

 private:
  values values_;
};

}  // namespace tern::client
