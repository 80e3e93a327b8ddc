/// A whole server inside this process: the same engine as `ternd`, on a thread of its own.
///
///     auto server = tern::server::embedded::start(tern::server::embedded_options().port(-1).jetstream(true));
///     if (!server) return fail(server.error());
///     auto url = server->client_url();                       // "nats://127.0.0.1:34567"
///
/// Clients of the same process reach it without sockets: `in_process_url()` names it on `in_process_network()`.
/// Thread safety: an embedded server may be used from any thread; start() and stop() wait for the server's thread. The
/// destructor stops. Stopping keeps what JetStream stored.
#pragma once

#include <tern/base/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tern::runtime {
class pipe_network;
}

namespace tern::server {

/// What an embedded server is told; the rest has the defaults of `ternd`, or comes from a configuration file.
class embedded_options {
 public:
  /// The name in INFO and monitoring; the server id when empty.
  embedded_options& name(std::string value) {
    name_ = std::move(value);
    return *this;
  }
  /// Default: the configuration file's host, without a file 127.0.0.1.
  embedded_options& host(std::string value) {
    host_ = std::move(value);
    return *this;
  }
  /// A TCP port for clients: -1 takes a free one, 0 none at all. Default: the configuration file's port, without a file
  /// none.
  embedded_options& port(int value) {
    port_ = value;
    return *this;
  }
  /// The monitoring port: -1 takes a free one, 0 none. Default: the configuration file's, else none.
  embedded_options& http_port(int value) {
    http_port_ = value;
    return *this;
  }
  embedded_options& jetstream(bool enabled) {
    jetstream_ = enabled;
    return *this;
  }
  /// Where streams are kept; a directory below the temporary one when empty.
  embedded_options& store_directory(std::string value) {
    store_directory_ = std::move(value);
    return *this;
  }
  /// A configuration file in the server's language, read first: what is set here wins.
  embedded_options& config_file(std::string value) {
    config_file_ = std::move(value);
    return *this;
  }
  /// Gets each log line ("INF", "Server is ready") on the server's thread. Without it nothing is logged.
  embedded_options& log(std::function<void(std::string_view level, std::string_view text)> value) {
    log_ = std::move(value);
    return *this;
  }

 private:
  friend class embedded;
  std::string name_, store_directory_, config_file_;
  std::optional<std::string> host_;
  std::optional<int> port_, http_port_;
  bool jetstream_ = false;
  std::function<void(std::string_view, std::string_view)> log_;
};

class embedded {
 public:
  /// Returns when the server is ready. errc::config_error, errc::io_error and what opening the store says.
  static result<embedded> start(embedded_options options = {});
  embedded(embedded&& other) noexcept;
  embedded& operator=(embedded&& other) noexcept;
  ~embedded();

  /// Closes clients, makes JetStream's last state durable and joins the thread. Again: nothing.
  void stop();

  /// "nats://host:port", or empty without a port.
  std::string client_url() const;
  std::uint16_t port() const;
  std::uint16_t http_port() const;
  /// "inproc://<name>", for clients that were given in_process_network().
  std::string in_process_url() const;
  /// Lives as long as this object, stopped or not.
  runtime::pipe_network& in_process_network() const;
  const std::string& server_id() const;

 private:
  struct implementation;
  explicit embedded(std::unique_ptr<implementation> made);
  std::unique_ptr<implementation> implementation_;
};

}  // namespace tern::server
