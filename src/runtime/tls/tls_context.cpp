#include "runtime/tls/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <utility>

namespace tern::runtime {
namespace {

struct suite {
  std::string_view name, openssl_name;
  bool insecure;
};
constexpr suite suites[] = {
#define TERN_TLS_SUITE(name, openssl_name, insecure) {name, openssl_name, insecure},
#include "runtime/tls/tls_names.inc"
#undef TERN_TLS_SUITE
};

struct curve {
  std::string_view name, group;
};
// Groups that this OpenSSL does not know are passed over; a list of none but such is an error.
constexpr curve curves[] = {
    {"CurveP256", "P-256"},
    {"CurveP384", "P-384"},
    {"CurveP521", "P-521"},
    {"X25519", "X25519"},
    {"X25519MLKEM768", "X25519MLKEM768"},
    {"SecP256r1MLKEM768", "SecP256r1MLKEM768"},
    {"SecP384r1MLKEM1024", "SecP384r1MLKEM1024"},
};

template <auto Free>
struct releaser {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};
using bio_pointer = std::unique_ptr<BIO, releaser<BIO_free_all>>;
using certificate_pointer = std::unique_ptr<X509, releaser<X509_free>>;
using key_pointer = std::unique_ptr<EVP_PKEY, releaser<EVP_PKEY_free>>;

bio_pointer reader_of(std::string_view text) {
  return bio_pointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<certificate_pointer> read_certificates(std::string_view pem) {
  std::vector<certificate_pointer> out;
  const auto source = reader_of(pem);
  while (X509* one = PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr)) out.emplace_back(one);
  ERR_clear_error();
  return out;
}

// A key that is locked is not asked for a password.
int no_password(char*, int, int, void*) { return 0; }

std::unexpected<error> refused(std::string text) {
  ERR_clear_error();
  return fail(errc::config_error, std::move(text));
}

result<void> add_identity(SSL_CTX* to, const tls_key_pair& pair) {
  constexpr const char* prefix = "error parsing X509 certificate/key pair: ";
  const auto chain = read_certificates(pair.chain_pem);
  if (chain.empty()) {
    const bool has_pem = pair.chain_pem.find("-----BEGIN ") != std::string::npos;
    return refused(std::string(prefix) + (has_pem ? "tls: failed to find \"CERTIFICATE\" PEM block in certificate input"
                                                  : "tls: failed to find any PEM data in certificate input"));
  }
  const auto source = reader_of(pair.key_pem);
  const key_pointer key(PEM_read_bio_PrivateKey(source.get(), nullptr, no_password, nullptr));
  if (!key) {
    const bool has_pem = pair.key_pem.find("-----BEGIN ") != std::string::npos;
    return refused(std::string(prefix) +
                   (has_pem ? "tls: failed to parse private key" : "tls: failed to find any PEM data in key input"));
  }
  if (X509_check_private_key(chain.front().get(), key.get()) != 1)
    return refused(std::string(prefix) + "tls: private key does not match public key");
  STACK_OF(X509)* const issuers = sk_X509_new_null();
  for (const auto& one : std::span(chain).subspan(1)) sk_X509_push(issuers, one.get());
  const int taken = SSL_CTX_use_cert_and_key(to, chain.front().get(), key.get(), issuers, 1);
  sk_X509_free(issuers);
  if (taken != 1) return refused(std::string(prefix) + ERR_reason_error_string(ERR_peek_last_error()));
  return {};
}

result<void> set_trust(SSL_CTX* to, const tls_settings& settings) {
  if (settings.trusted_pem.empty()) {
    SSL_CTX_set_default_verify_paths(to);
    ERR_clear_error();
    return {};
  }
  const auto trusted = read_certificates(settings.trusted_pem);
  if (trusted.empty()) return refused("failed to parse root ca certificate");
  X509_STORE* const store = SSL_CTX_get_cert_store(to);
  for (const auto& one : trusted) {
    X509_STORE_add_cert(store, one.get());
    if (settings.role == tls_role::server) SSL_CTX_add_client_CA(to, one.get());
  }
  // A certificate that is trusted itself ends the chain, as Go has it.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(to), X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

result<void> set_suites(SSL_CTX* to, const std::vector<std::string>& asked) {
  std::string list;
  bool only_newest = !asked.empty();
  const auto add = [&list](std::string_view name) { list.append(list.empty() ? "" : ":").append(name); };
  if (asked.empty()) {
    for (const suite& one : suites)
      if (!one.insecure && !one.openssl_name.empty()) add(one.openssl_name);
  }
  for (const std::string& name : asked) {
    const auto* const found = std::ranges::find(suites, std::string_view(name), &suite::name);
    if (found == std::end(suites)) return refused("unrecognized cipher " + name);
    if (found->openssl_name.empty()) continue;  // TLS 1.3 has all of its own, always
    only_newest = false;
    add(found->openssl_name);
  }
  if (only_newest) {
    SSL_CTX_set_min_proto_version(to, TLS1_3_VERSION);
    return {};
  }
  if (SSL_CTX_set_cipher_list(to, list.c_str()) != 1)
    return refused("none of the cipher suites is available in this build of OpenSSL");
  return {};
}

result<void> set_curves(SSL_CTX* to, const std::vector<std::string>& asked) {
  if (asked.empty()) {
    SSL_CTX_set1_groups_list(to, "X25519:P-256:P-384:P-521");
    return {};
  }
  std::string list;
  for (const std::string& name : asked) {
    const auto* const found = std::ranges::find(curves, std::string_view(name), &curve::name);
    if (found == std::end(curves)) return refused("unrecognized curve preference " + name);
    const std::string longer = list + (list.empty() ? "" : ":") + std::string(found->group);
    if (SSL_CTX_set1_groups_list(to, std::string(found->group).c_str()) == 1) list = longer;
  }
  ERR_clear_error();
  if (list.empty() || SSL_CTX_set1_groups_list(to, list.c_str()) != 1)
    return refused("none of the curve preferences is available in this build of OpenSSL");
  return {};
}

time_point end_of_validity(SSL_CTX* of) {
  const X509* const own = SSL_CTX_get0_certificate(of);
  std::tm parts{};
  if (own == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(own), &parts) != 1) return {};
  return from_unix_nanoseconds(static_cast<std::int64_t>(timegm(&parts)) * 1'000'000'000);
}

int give_staple(SSL* to, void* argument) {
  const auto& staple = *static_cast<const std::string*>(argument);
  if (staple.empty()) return SSL_TLSEXT_ERR_NOACK;
  auto* const copy = static_cast<unsigned char*>(OPENSSL_memdup(staple.data(), staple.size()));
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_tlsext_status_ocsp_resp(to, copy, static_cast<long>(staple.size()));
  return SSL_TLSEXT_ERR_OK;
}

// No buffer outlives its bytes, a stream may offer what it could not write from another place, and sessions live with
// their clients.
void set_manners(SSL_CTX* of) {
  SSL_CTX_set_mode(of, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Ends without a close_notify are common; the protocol above has lengths, so that nothing can be cut unseen.
  SSL_CTX_set_options(of, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                              SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(of, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(of, 1);
  SSL_CTX_set_read_ahead(of, 1);
  // The shorter key first: as safe, and a third cheaper.
  SSL_CTX_set_ciphersuites(of, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  static constexpr unsigned char name[] = "tern";
  SSL_CTX_set_session_id_context(of, name, sizeof name - 1);
}

}  // namespace

bool is_known_cipher_suite(std::string_view name) {
  return std::ranges::find(suites, name, &suite::name) != std::end(suites);
}

bool is_insecure_cipher_suite(std::string_view name) {
  const auto* const found = std::ranges::find(suites, name, &suite::name);
  return found != std::end(suites) && found->insecure;
}

bool is_known_curve(std::string_view name) { return std::ranges::find(curves, name, &curve::name) != std::end(curves); }

result<std::shared_ptr<const tls_context>> tls_context::make(const tls_settings& settings) {
  std::shared_ptr<tls_context> out(new tls_context);
  const bool serves = settings.role == tls_role::server;
  out->role_ = settings.role;
  out->pinned_keys_ = settings.pinned_keys;
  out->staple_ = settings.staple;
  SSL_CTX* const made = out->native_ = SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method());
  if (made == nullptr) return refused("OpenSSL has no memory for a TLS configuration");
  set_manners(made);
  SSL_CTX_set_min_proto_version(made, settings.oldest == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (auto done = set_suites(made, settings.cipher_suites); !done) return std::unexpected(std::move(done).error());
  if (auto done = set_curves(made, settings.curves); !done) return std::unexpected(std::move(done).error());
  for (const tls_key_pair& pair : settings.identities) {
    if (auto done = add_identity(made, pair); !done) return std::unexpected(std::move(done).error());
  }
  if (settings.demand_peer_certificate) {
    if (auto done = set_trust(made, settings); !done) return std::unexpected(std::move(done).error());
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER | (serves ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  } else if (!settings.trusted_pem.empty() && read_certificates(settings.trusted_pem).empty()) {
    return refused("failed to parse root ca certificate");
  }
  if (serves) {
    SSL_CTX_set_tlsext_status_cb(made, give_staple);
    SSL_CTX_set_tlsext_status_arg(made, &out->staple_);
  }
  out->not_after_ = end_of_validity(made);
  return out;
}

tls_context::~tls_context() { SSL_CTX_free(native_); }

}  // namespace tern::runtime
