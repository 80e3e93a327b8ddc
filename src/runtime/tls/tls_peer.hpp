// What a TLS peer has shown of itself: its certificate, read into plain values for monitoring and for those who map
// certificates to users (core 3.7). Plain values.
#pragma once

#include <tern/base/time.hpp>

#include <string>
#include <utility>
#include <vector>

typedef struct x509_st X509;

namespace tern::runtime {

struct tls_peer_certificate {
  std::string subject;  // RFC 2253, the most specific part first: "CN=alice,OU=dev,O=Tern"
  // The parts of the subject in the certificate's own order: ("O", "Tern"), ("OU", "dev"), ("CN", "alice").
  std::vector<std::pair<std::string, std::string>> subject_parts;
  std::string issuer;
  std::vector<std::string> emails, dns_names, uris, addresses;  // subject alternative names
  std::string key_sha256;                                       // lower-case hex, of the public key (SPKI)
  std::string certificate_sha256;
  std::string pem;
  time_point not_after{};
};

tls_peer_certificate describe_certificate(X509* certificate);

}  // namespace tern::runtime
