/// A real server as a child process: `ternd` or `nats-server`, on a fresh directory and a free port of 127.0.0.1.
///
///     auto server = tern::testing::server_process::start("build/release/apps/ternd/ternd");
///     if (!server) return fail(server.error());
///     auto nats = tern::client::connection::connect(tern::client::options(server->url())).get();
///
/// Ends in order with its destructor; the directory goes with it. Thread safety: one owner.
#pragma once

#include <tern/base/error.hpp>

#include <memory>
#include <string>

namespace tern::testing {

class server_process {
 public:
  /// `program` is a path or a name on the PATH. Returns when it listens; errc::not_found, errc::io_error,
  /// errc::timeout.
  static result<server_process> start(const std::string& program);
  server_process(server_process&&) noexcept;
  server_process& operator=(server_process&&) noexcept;
  ~server_process();

  const std::string& url() const;        ///< "nats://127.0.0.1:34567"
  const std::string& directory() const;  ///< where its streams are
  int process_id() const;
  std::string output() const;  ///< the end of what it wrote
  /// Asks it to end (SIGTERM) and waits; its exit code.
  result<int> stop();

 private:
  struct implementation;
  explicit server_process(std::unique_ptr<implementation> made);
  std::unique_ptr<implementation> implementation_;
};

}  // namespace tern::testing
