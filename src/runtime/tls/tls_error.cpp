#include "runtime/tls/tls_error.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <string_view>

namespace tern::runtime {
namespace {

struct wording {
  int code;
  std::string_view text;
};

constexpr wording alerts[] = {
    {10, "unexpected message"},
    {20, "bad record MAC"},
    {22, "record overflow"},
    {40, "handshake failure"},
    {42, "bad certificate"},
    {43, "unsupported certificate"},
    {44, "revoked certificate"},
    {45, "expired certificate"},
    {46, "unknown certificate"},
    {47, "illegal parameter"},
    {48, "unknown certificate authority"},
    {49, "access denied"},
    {50, "error decoding message"},
    {51, "error decrypting message"},
    {70, "protocol version not supported"},
    {71, "insufficient security level"},
    {80, "internal error"},
    {90, "user canceled"},
    {109, "missing extension"},
    {110, "unsupported extension"},
    {112, "unrecognized name"},
    {116, "certificate required"},
};

constexpr wording reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "tls: first record does not look like a TLS handshake"},
    {SSL_R_HTTP_REQUEST, "tls: first record does not look like a TLS handshake"},
    {SSL_R_HTTPS_PROXY_REQUEST, "tls: first record does not look like a TLS handshake"},
    {SSL_R_BAD_PACKET_LENGTH, "tls: first record does not look like a TLS handshake"},
    {SSL_R_UNEXPECTED_MESSAGE, "tls: first record does not look like a TLS handshake"},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "tls: client didn't provide a certificate"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "tls: client offered only unsupported versions"},
    {SSL_R_NO_SHARED_CIPHER, "tls: no cipher suite supported by both client and server"},
    {SSL_R_NO_SHARED_GROUPS, "tls: no ECDHE curve supported by both client and server"},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, "local error: tls: bad record MAC"},
};

std::string verification_text(long outcome) {
  const std::string prefix = "tls: failed to verify certificate: x509: ";
  switch (outcome) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return prefix + "certificate signed by unknown authority";
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return prefix + "certificate has expired or is not yet valid";
    case X509_V_ERR_INVALID_PURPOSE:
      return prefix + "certificate specifies an incompatible key usage";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return prefix + "certificate is not valid for the name that was asked for";
    default:
      return prefix + X509_verify_cert_error_string(outcome);
  }
}

template <std::size_t Count>
std::string_view find(const wording (&in)[Count], int code) {
  const auto* const found = std::ranges::find(in, code, &wording::code);
  return found != std::end(in) ? found->text : std::string_view();
}

}  // namespace

std::string tls_failure_text(const ssl_st* of) {
  const unsigned long first = ERR_peek_error();
  const int reason = ERR_GET_REASON(first);
  ERR_clear_error();
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return verification_text(SSL_get_verify_result(of));
  if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
    const std::string_view text = find(alerts, reason - SSL_AD_REASON_OFFSET);
    return "remote error: tls: " +
           (text.empty() ? "alert(" + std::to_string(reason - SSL_AD_REASON_OFFSET) + ")" : std::string(text));
  }
  if (const std::string_view text = find(reasons, reason); !text.empty()) return std::string(text);
  const char* const text = ERR_reason_error_string(first);
  return std::string("tls: ") + (text != nullptr ? text : "the connection failed");
}

}  // namespace tern::runtime
