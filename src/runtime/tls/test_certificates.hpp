// Certificates for tests, made when they are needed: an authority and what it signs. For tests.
#pragma once

#include "runtime/tls/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tern::runtime {

class test_authority {
 public:
  explicit test_authority(const std::string& name = "Tern Test CA") : key_(EVP_EC_gen("P-256")) {
    own_ = make({{"CN", name}}, "critical,CA:TRUE", "", key_, nullptr, days(3650));
  }
  ~test_authority() {
    X509_free(own_);
    EVP_PKEY_free(key_);
  }
  test_authority(const test_authority&) = delete;
  test_authority& operator=(const test_authority&) = delete;

  std::string pem() const { return pem_of(own_); }

  // `names` as OpenSSL's configuration has them: "DNS:localhost,IP:127.0.0.1".
  tls_key_pair sign(const std::string& names,
                    const std::vector<std::pair<std::string, std::string>>& subject = {{"CN", "test"}},
                    long valid_seconds = days(365)) const {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const made = make(subject, "", names, key, own_, valid_seconds);
    tls_key_pair out{pem_of(made), {}};
    BIO* const text = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(text, key, nullptr, nullptr, 0, nullptr, nullptr);
    out.key_pem = content(text);
    X509_free(made);
    EVP_PKEY_free(key);
    return out;
  }
  static constexpr long days(long count) { return count * 86'400; }

 private:
  static std::string content(BIO* text) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(text, &bytes);
    std::string out(bytes, static_cast<std::size_t>(size));
    BIO_free_all(text);
    return out;
  }
  static std::string pem_of(X509* what) {
    BIO* const text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(text, what);
    return content(text);
  }
  static void extend(X509* what, X509* issuer, int kind, const std::string& value) {
    if (value.empty()) return;
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, what, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    X509_add_ext(what, made, -1);
    X509_EXTENSION_free(made);
  }
  X509* make(const std::vector<std::pair<std::string, std::string>>& subject, const std::string& constraints,
             const std::string& names, EVP_PKEY* key, X509* issuer, long valid_seconds) const {
    static long serial = 1;
    X509* const out = X509_new();
    X509_set_version(out, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(out), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(out), valid_seconds < 0 ? 2 * valid_seconds : -60);
    X509_gmtime_adj(X509_getm_notAfter(out), valid_seconds);
    X509_set_pubkey(out, key);
    for (const auto& [kind, value] : subject)
      X509_NAME_add_entry_by_txt(X509_get_subject_name(out), kind.c_str(), MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()),
                                 -1, 0);
    X509_set_issuer_name(out, X509_get_subject_name(issuer != nullptr ? issuer : out));
    extend(out, issuer != nullptr ? issuer : out, NID_basic_constraints, constraints);
    extend(out, issuer != nullptr ? issuer : out, NID_subject_alt_name, names);
    X509_sign(out, key_, EVP_sha256());
    return out;
  }

  EVP_PKEY* key_;
  X509* own_ = nullptr;
};

}  // namespace tern::runtime
