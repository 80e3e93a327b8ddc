// The `tls {}` blocks of a configuration (core 4.3): what they say, and how they are read. Every listener that can
// speak TLS has one.
#pragma once

#include "runtime/tls/tls_context.hpp"
#include "server/config/config_value.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tern::server {

struct config_findings;

// How long a connection that may begin with TLS at once is waited for before INFO is sent (core 1.6).
enum class handshake_first { never, always, with_fallback };

struct tls_options {
  std::string certificate_file, key_file, authority_file;
  std::vector<std::pair<std::string, std::string>> certificates;  // further pairs of files (`certs`)
  bool verify = false;
  bool verify_and_map = false;
  bool check_known_urls = false;  // of routes and gateways
  bool insecure = false;          // of outgoing connections
  nanoseconds timeout = std::chrono::seconds(2);
  std::vector<std::string> cipher_suites, curves;
  runtime::tls_version oldest = runtime::tls_version::v1_2;
  std::vector<std::string> pinned_keys;
  std::int64_t connection_rate_limit = 0;  // new connections a second; 0: any
  handshake_first first = handshake_first::never;
  nanoseconds first_fallback = std::chrono::milliseconds(50);
  std::string staple_file;  // an OCSP response to give to those who ask

  // What the above amounts to, made when the block was read and again at a reload; never null in a listener's options.
  std::shared_ptr<const runtime::tls_context> context;
};

// What the command line says of TLS on the client port; it replaces the block of the file.
struct tls_flags {
  bool enabled = false, verify = false;
  std::string certificate_file, key_file, authority_file;
};

// Reads the block and its files. False, with the complaints noted, when it is of no use.
bool read_tls_block(const config_value& block, tls_options& into, config_findings& findings);

result<void> apply_tls_flags(const tls_flags& flags, std::optional<tls_options>& to);

// Reads the files and makes the context anew, for a listener. The error's context is the peer's text.
result<void> load_tls_files(tls_options& what);

}  // namespace tern::server
