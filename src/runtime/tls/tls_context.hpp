// What TLS connections of one side share: certificates, trust, versions and ciphers. Made from PEM text; files are the
// caller's business. Immutable: a reload makes another one, and streams keep the one that they began with.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_ctx_st;

namespace tern::runtime {

enum class tls_role { server, client };
enum class tls_version { v1_2, v1_3 };

struct tls_key_pair {
  std::string chain_pem;  // the certificate, then those that lead to the root
  std::string key_pem;
};

struct tls_settings {
  tls_role role = tls_role::server;
  std::vector<tls_key_pair> identities;  // one per kind of key; a client may have none
  std::string trusted_pem;               // of the peer's issuers; empty: those that the system trusts
  bool demand_peer_certificate = true;   // a server: ask every client for one; a client: check the server's
  tls_version oldest = tls_version::v1_2;
  std::vector<std::string> cipher_suites;  // standard names (TLS_...); empty: those with forward secrecy
  std::vector<std::string> curves;         // as in configuration files (CurveP256); empty: X25519 and the NIST ones
  std::vector<std::string> pinned_keys;    // lower-case hex SHA-256 of public keys; not empty: the peer's is among them
  std::string staple;                      // an OCSP response (DER) for clients that ask
};

// Any thread.
class tls_context {
 public:
  // Error texts are those of the peer's configuration reader where it has any.
  static result<std::shared_ptr<const tls_context>> make(const tls_settings& settings);
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  ssl_ctx_st* native() const { return native_; }
  tls_role role() const { return role_; }
  const std::vector<std::string>& pinned_keys() const { return pinned_keys_; }
  // The end of the first certificate's validity; the epoch without one.
  time_point not_after() const { return not_after_; }

 private:
  tls_context() = default;

  ssl_ctx_st* native_ = nullptr;
  tls_role role_ = tls_role::server;
  std::vector<std::string> pinned_keys_;
  std::string staple_;
  time_point not_after_{};
};

bool is_known_cipher_suite(std::string_view name);
bool is_insecure_cipher_suite(std::string_view name);  // to be allowed by name only (core 4.3)
bool is_known_curve(std::string_view name);

}  // namespace tern::runtime
