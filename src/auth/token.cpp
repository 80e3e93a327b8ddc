#include "auth/token.hpp"

#include "base/ascii.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>

namespace tern::auth {
namespace {

struct token_header {
  std::string typ, alg;
};

struct token_issuer {
  std::string iss;
};

constexpr std::string_view blanks = " \t\r\n";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

constexpr std::string_view algorithm = "ed25519-nkey";

result<void> check_header(std::string_view coded) {
  const auto text = codec::from_base64(coded);
  if (!text) return fail(errc::decode_error, "the header of a token is not base64");
  const auto header = codec::read_json<token_header>(*text, codec::peer_lenient);
  if (!header) return fail(errc::decode_error, "the header of a token is not JSON");
  if (!equal_in_any_case(header->typ, "jwt")) return fail(errc::decode_error, "a token of another type");
  if (!equal_in_any_case(header->alg, algorithm))
    return fail(errc::unsupported, "a token is signed by another algorithm",
                "tokens are of version 2: " + std::string(algorithm));
  return {};
}

}  // namespace

std::string_view word_after_mark(std::string_view text, std::string_view mark) {
  const std::size_t begin = text.find(mark);
  if (begin == std::string_view::npos) return {};
  const std::size_t line_end = text.find('\n', begin);
  if (line_end == std::string_view::npos) return {};
  const std::string_view rest = trim(text.substr(line_end));
  return rest.substr(0, rest.find_first_of(blanks));
}

std::string_view undecorate_token(std::string_view text) {
  constexpr std::string_view mark = "-----BEGIN NATS ";
  return text.find(mark) == std::string_view::npos ? trim(text) : word_after_mark(text, mark);
}

result<named_key> decode_any_public_key(std::string_view text) {
  if (text.empty()) return fail(errc::invalid_argument, "no key");
  key_kind kind = key_kind::user;
  switch (text[0]) {
    case 'A':
      kind = key_kind::account;
      break;
    case 'N':
      kind = key_kind::server;
      break;
    case 'O':
      kind = key_kind::operator_;
      break;
    case 'U':
      kind = key_kind::user;
      break;
    default:
      return fail(errc::invalid_argument, "a key of another kind");
  }
  const auto key = decode_public_key(kind, text);
  if (!key) return std::unexpected(key.error());
  return named_key{kind, *key};
}

result<std::string> open_token(std::string_view text) {
  if (text.size() > token_size_max) return fail(errc::limit_exceeded, "a token is too long");
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return fail(errc::decode_error, "a token has three parts");
  if (auto header = check_header(text.substr(0, first)); !header) return std::unexpected(std::move(header).error());

  auto claims = codec::from_base64(text.substr(first + 1, second - first - 1));
  const auto signature = codec::from_base64(text.substr(second + 1));
  if (!claims || !signature) return fail(errc::decode_error, "a part of a token is not base64");
  const auto issuer = codec::read_json<token_issuer>(*claims, codec::peer_lenient);
  if (!issuer) return fail(errc::decode_error, "the claims of a token are not JSON");
  const auto key = decode_any_public_key(issuer->iss);
  if (!key) return fail(errc::decode_error, "the issuer of a token is no key");
  if (!signature_is_valid(key->key, text.substr(0, second), *signature))
    return fail(errc::decode_error, "the signature of a token does not match");
  return claims;
}

std::string seal_token(std::string_view claims, const key_seed& seed) {
  std::string out = encode_base64url(R"({"typ":"JWT","alg":"ed25519-nkey"})");
  out += '.';
  out += encode_base64url(claims);
  const std::string signature = sign(seed.secret, out);
  out += '.';
  out += encode_base64url(signature);
  return out;
}

}  // namespace tern::auth
