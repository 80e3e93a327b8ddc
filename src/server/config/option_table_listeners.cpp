// TLS, WebSocket and the PROXY protocol.
#include "server/config/option_table.hpp"

namespace tern::server {
namespace {

using enum option_status;
using enum option_reload;

// clang-format off
constexpr option_info rows[] = {
    {"tls", "cert_file", "path", "", honoured, applied, "the certificate, PEM; read again by every reload"},
    {"tls", "key_file", "path", "", honoured, applied, "its key"},
    {"tls", "certs", "array", "none", honoured, applied, "several `{ cert_file, key_file }` in the place of the two"},
    {"tls", "ca_file", "path", "the system's", honoured, applied, "who may sign certificates of clients"},
    {"tls", "verify", "boolean", "false", honoured, applied, "clients must show a certificate"},
    {"tls", "verify_and_map", "boolean", "false", honoured, fixed, "the same, and it names their user"},
    {"tls", "verify_cert_and_check_known_urls", "boolean", "false", refused, none, "it is about links of a cluster"},
    {"tls", "insecure", "boolean", "false", honoured, applied, "of links that go out: takes any certificate; warned about"},
    {"tls", "timeout", "duration or number", "2", honoured, applied, "seconds for the handshake"},
    {"tls", "cipher_suites", "array", "safe ones", honoured, applied, ""},
    {"tls", "curve_preferences", "array", "safe ones", honoured, applied, ""},
    {"tls", "allow_insecure_cipher_suites", "boolean", "false", honoured, applied, ""},
    {"tls", "min_version", "text", "1.2", honoured, applied, "`1.2` or `1.3`"},
    {"tls", "pinned_certs", "array", "none", honoured, applied, "SHA-256 of the public keys of the only clients that may connect"},
    {"tls", "connection_rate_limit", "number", "none", honoured, applied, "handshakes in a second"},
    {"tls", "handshake_first first immediate", "boolean, text or duration", "false", honoured, applied, "the handshake comes before INFO; `auto` or a duration: INFO after that time"},
    {"tls", "ocsp_staple_file", "path", "none", honoured, applied, "an OCSP response (DER) that clients who ask get; ternd's own, keep it fresh with a job and reload"},
    {"tls", "ocsp_peer", "boolean or map", "false", refused, none, "OCSP is not built"},
    {"tls", "cert_store", "text", "", refused, none, "it is about Windows; use `cert_file` and `key_file`"},
    {"tls", "cert_match", "text", "", refused, none, "it is about Windows; use `cert_file` and `key_file`"},
    {"tls", "cert_match_by", "text", "", refused, none, "it is about Windows; use `cert_file` and `key_file`"},
    {"tls", "cert_match_skip_invalid", "boolean", "", refused, none, "it is about Windows; use `cert_file` and `key_file`"},
    {"tls", "ca_certs_match", "array", "", refused, none, "it is about Windows; use `ca_file`"},
    {"tls.certs[]", "cert_file", "path", "", honoured, applied, ""},
    {"tls.certs[]", "key_file", "path", "", honoured, applied, ""},
    {"websocket", "listen", "address or number", "", honoured, fixed, "`host:port`, or a port"},
    {"websocket", "host net", "text", "0.0.0.0", honoured, fixed, ""},
    {"websocket", "port", "number", "", honoured, fixed, "-1 takes a free one"},
    {"websocket", "advertise", "address", "", honoured, fixed, "what INFO tells clients"},
    {"websocket", "tls", "map", "none", honoured, applied, "block `tls`; wanted unless `no_tls`"},
    {"websocket", "no_tls", "boolean", "false", honoured, fixed, "serves without TLS"},
    {"websocket", "same_origin", "boolean", "false", honoured, fixed, "a browser's page must come from the same host"},
    {"websocket", "allowed_origins allowed_origin allow_origins allow_origin origins", "text or array", "all", honoured, fixed, "pages of these only"},
    {"websocket", "handshake_timeout", "duration", "2s", honoured, fixed, ""},
    {"websocket", "compression compress", "boolean", "false", honoured, fixed, "per-message deflate for clients that ask for it"},
    {"websocket", "authorization authentication", "map", "that of the server", honoured, fixed, "block `websocket.authorization`"},
    {"websocket", "no_auth_user", "text", "that of the server", honoured, fixed, ""},
    {"websocket", "jwt_cookie", "text", "none", honoured, fixed, "the cookie that holds the user's JWT"},
    {"websocket", "user_cookie", "text", "none", honoured, fixed, ""},
    {"websocket", "pass_cookie", "text", "none", honoured, fixed, ""},
    {"websocket", "token_cookie", "text", "none", honoured, fixed, ""},
    {"websocket", "headers", "map of texts", "none", honoured, fixed, "HTTP headers of the answer to the upgrade"},
    {"websocket", "ping_interval", "duration", "that of the server", honoured, fixed, ""},
    {"websocket.authorization", "user username", "text", "none", honoured, fixed, ""},
    {"websocket.authorization", "password pass", "text", "none", honoured, fixed, ""},
    {"websocket.authorization", "token", "text", "none", honoured, fixed, ""},
    {"websocket.authorization", "timeout", "duration or number", "2", honoured, fixed, "seconds"},
    {"proxies", "trusted", "array", "", honoured, applied, "of `{ key }`"},
    {"proxies.trusted[]", "key", "text", "", honoured, applied, "public key of a proxy"},
};
// clang-format on

}  // namespace

std::span<const option_info> listener_option_rows() { return rows; }

}  // namespace tern::server
