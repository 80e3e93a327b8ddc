#include "runtime/tls/tls_peer.hpp"

#include "runtime/address.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>

namespace tern::runtime {
namespace {

std::string hex_of(const unsigned char* bytes, std::size_t size) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * size);
  for (std::size_t at = 0; at < size; ++at) out.append({digits[bytes[at] >> 4], digits[bytes[at] & 15]});
  return out;
}

std::string sha256_hex(const unsigned char* bytes, std::size_t size) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(bytes, size, digest.data(), &length, EVP_sha256(), nullptr);
  return hex_of(digest.data(), length);
}

std::string text_of(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, value);
  if (length < 0) return {};
  std::string out(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  return out;
}

// Short names as RFC 2253 has them; others stand as dotted numbers.
std::string attribute_name(const ASN1_OBJECT* object) {
  switch (const int number = OBJ_obj2nid(object)) {
    case NID_commonName:
    case NID_countryName:
    case NID_organizationName:
    case NID_organizationalUnitName:
    case NID_localityName:
    case NID_stateOrProvinceName:
    case NID_domainComponent:
    case NID_userId:
      return OBJ_nid2sn(number);
    case NID_streetAddress:
      return "STREET";
    case NID_serialNumber:
      return "SERIALNUMBER";
    case NID_postalCode:
      return "POSTALCODE";
    default:
      break;
  }
  char text[80];
  OBJ_obj2txt(text, sizeof text, object, 1);
  return text;
}

std::string escaped(const std::string& value) {
  std::string out;
  for (std::size_t at = 0; at < value.size(); ++at) {
    const char letter = value[at];
    const bool edge_blank = letter == ' ' && (at == 0 || at + 1 == value.size());
    if (edge_blank || (letter == '#' && at == 0) || std::string_view(",+\"\\<>;").find(letter) != std::string::npos)
      out += '\\';
    out += letter;
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> parts_of(const X509_NAME* name) {
  std::vector<std::pair<std::string, std::string>> out;
  for (int at = 0; at < X509_NAME_entry_count(name); ++at) {
    const X509_NAME_ENTRY* const entry = X509_NAME_get_entry(name, at);
    out.emplace_back(attribute_name(X509_NAME_ENTRY_get_object(entry)), text_of(X509_NAME_ENTRY_get_data(entry)));
  }
  return out;
}

// The last part comes first; those of one set are joined by a plus.
std::string rfc2253(const X509_NAME* name) {
  std::string out;
  int set = -1;
  const auto parts = parts_of(name);
  for (std::size_t at = parts.size(); at-- > 0;) {
    const int own_set = X509_NAME_ENTRY_set(X509_NAME_get_entry(name, static_cast<int>(at)));
    if (!out.empty()) out += own_set == set ? '+' : ',';
    set = own_set;
    out.append(parts[at].first).append("=").append(escaped(parts[at].second));
  }
  return out;
}

void add_alternative_names(X509* from, tls_peer_certificate& to) {
  auto* const names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(from, NID_subject_alt_name, nullptr, nullptr));
  if (names == nullptr) return;
  for (int at = 0; at < sk_GENERAL_NAME_num(names); ++at) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(names, at);
    switch (one->type) {
      case GEN_EMAIL:
        to.emails.push_back(text_of(one->d.rfc822Name));
        break;
      case GEN_DNS:
        to.dns_names.push_back(text_of(one->d.dNSName));
        break;
      case GEN_URI:
        to.uris.push_back(text_of(one->d.uniformResourceIdentifier));
        break;
      case GEN_IPADD:
        to.addresses.push_back(address_text({reinterpret_cast<const char*>(one->d.iPAddress->data),
                                             static_cast<std::size_t>(one->d.iPAddress->length)}));
        break;
      default:
        break;
    }
  }
  GENERAL_NAMES_free(names);
}

}  // namespace

tls_peer_certificate describe_certificate(X509* certificate) {
  tls_peer_certificate out;
  out.subject = rfc2253(X509_get_subject_name(certificate));
  out.subject_parts = parts_of(X509_get_subject_name(certificate));
  out.issuer = rfc2253(X509_get_issuer_name(certificate));
  add_alternative_names(certificate, out);
  unsigned char* der = nullptr;
  if (const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der); size > 0) {
    out.key_sha256 = sha256_hex(der, static_cast<std::size_t>(size));
    OPENSSL_free(der);
  }
  der = nullptr;
  if (const int size = i2d_X509(certificate, &der); size > 0) {
    out.certificate_sha256 = sha256_hex(der, static_cast<std::size_t>(size));
    OPENSSL_free(der);
  }
  BIO* const text = BIO_new(BIO_s_mem());
  if (text != nullptr && PEM_write_bio_X509(text, certificate) == 1) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(text, &bytes);
    out.pem.assign(bytes, static_cast<std::size_t>(size));
  }
  BIO_free_all(text);
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1)
    out.not_after = from_unix_nanoseconds(static_cast<std::int64_t>(timegm(&end)) * 1'000'000'000);
  return out;
}

}  // namespace tern::runtime
