// The servers that a connection may dial, in the order of trying, and how long to pause between rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>
#include <tern/client/options.hpp>

#include "runtime/random.hpp"
#include "runtime/transport.hpp"

namespace tern::client {

enum class server_scheme { nats, tls, ws, wss };  // ws: WebSocket; tls, wss: with TLS in any case

struct server_address {
  runtime::endpoint at;
  server_scheme scheme = server_scheme::nats;
  std::string path;  // of a WebSocket: "/where"
  std::string user;
  std::string password;
  std::string token;
  bool discovered = false;  // from an INFO, not from the options

  std::string text() const { return at.in_process ? "inproc://" + at.host : at.text(); }
};

// `[nats://|tls://][user:password@|token@]host[:port]`, the same with `ws://` or `wss://` and a path, `unix:///path`,
// `inproc://name`.
// errc::invalid_options for anything else.
result<server_address> parse_server_url(std::string_view url);

// Owned by one connection; the loop's thread. Invariant: never empty once made.
class server_list {
 public:
  static result<server_list> make(const options::values& with, runtime::random& randomness);

  // The server to dial now.
  const server_address& current() const { return servers_[at_]; }
  // Moves on; true when that began another round.
  bool advance();
  // A connection stands: the next loss begins its first round with another server, this one comes last.
  void connected();
  // Adds those of an INFO that are not known, and forgets discovered ones that are no longer told.
  void discovered(const std::vector<std::string>& connect_urls);

  // The pause before the round that begins, with jitter: doubles from round to round.
  nanoseconds pause(runtime::random& randomness) const;
  std::uint64_t rounds() const { return rounds_; }  // that failed since the last connected()
  std::size_t size() const { return servers_.size(); }

 private:
  std::vector<server_address> servers_;
  std::size_t at_ = 0;
  std::size_t tried_ = 0;
  std::uint64_t rounds_ = 0;
  nanoseconds first_{};
  nanoseconds longest_{};
  double jitter_ = 0;
  server_address defaults_;  // credentials for discovered ones
};

}  // namespace tern::client
