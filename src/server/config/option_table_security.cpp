// The blocks about who may connect and what he may do.
#include "server/config/option_table.hpp"

namespace tern::server {
namespace {

using enum option_status;
using enum option_reload;

// clang-format off
constexpr option_info rows[] = {
    {"authorization", "user username", "text", "none", honoured, applied, "the only user; not beside `users`, `token` or `accounts`"},
    {"authorization", "password pass", "text", "none", honoured, applied, "plain, or a bcrypt hash (`$2a$...`)"},
    {"authorization", "token", "text", "none", honoured, applied, "plain or a bcrypt hash; in the place of users"},
    {"authorization", "timeout", "duration or number", "2", honoured, applied, "seconds in which a client must log in"},
    {"authorization", "users", "array", "none", honoured, applied, "block `authorization.users[]`: users of the global account"},
    {"authorization", "default_permissions permissions", "map", "all", honoured, applied, "block `permissions`, of users without their own"},
    {"authorization", "auth_callout", "map", "none", refused, none, "authentication by a service is not built: name the users"},
    {"authorization", "proxy_required", "boolean", "false", honoured, applied, "connections must come through a proxy that speaks the PROXY protocol"},
    {"authorization.users[]", "user username", "text", "none", honoured, applied, ""},
    {"authorization.users[]", "password pass", "text", "none", honoured, applied, "plain, or a bcrypt hash; without one only an absent or empty one logs in"},
    {"authorization.users[]", "nkey", "text", "none", honoured, applied, "a public key `U...`, in the place of user and password"},
    {"authorization.users[]", "permissions permission authorization", "map", "all", honoured, applied, "block `permissions`"},
    {"authorization.users[]", "allowed_connection_types connection_types clients", "array", "all", honoured, applied, "of STANDARD, WEBSOCKET, LEAFNODE, LEAFNODE_WS, MQTT, MQTT_WS, IN_PROCESS"},
    {"authorization.users[]", "proxy_required", "boolean", "false", honoured, applied, "this user must come through such a proxy"},
    {"authorization.auth_callout", "issuer", "text", "", honoured, applied, "public account key that signs the answers; wanted"},
    {"authorization.auth_callout", "account acc", "text", "$G", honoured, applied, "the account in which the service listens"},
    {"authorization.auth_callout", "auth_users users", "array", "", honoured, applied, "users that log in without the service; wanted"},
    {"authorization.auth_callout", "xkey key", "text", "none", honoured, applied, "public curve key `X...`: requests and answers are sealed"},
    {"authorization.auth_callout", "allowed_accounts", "array", "all", honoured, applied, "accounts into which the service may put users"},
    {"permissions", "publish pub import", "text, array or map", "all", honoured, applied, "subjects, or `{ allow, deny }`"},
    {"permissions", "subscribe sub export", "text, array or map", "all", honoured, applied, "the same; `\"subject queue\"` is about a queue group"},
    {"permissions", "allow_responses publish_allow_responses", "boolean or map", "false", honoured, applied, "may answer to the reply subjects of what it gets; `{ max, expires }`"},
    {"permissions.*", "allow", "text or array", "all", honoured, applied, ""},
    {"permissions.*", "deny", "text or array", "none", honoured, applied, ""},
    {"permissions.allow_responses", "max max_msgs", "number", "1", honoured, applied, "answers to each; negative: no limit"},
    {"permissions.allow_responses", "expires expiration ttl", "duration", "2m", honoured, applied, "how long; negative: no limit"},
    {"accounts.*", "nkey", "text", "none", honoured, applied, "public account key"},
    {"accounts.*", "users", "array", "none", honoured, applied, "as `authorization.users[]`"},
    {"accounts.*", "default_permissions", "map", "all", honoured, applied, "block `permissions`, of users without their own"},
    {"accounts.*", "exports", "array", "none", honoured, applied, "block `accounts.*.exports[]`"},
    {"accounts.*", "imports", "array", "none", honoured, applied, "block `accounts.*.imports[]`"},
    {"accounts.*", "jetstream", "boolean, text, number or map", "disabled", honoured, applied, "block `accounts.*.jetstream`"},
    {"accounts.*", "mappings maps", "map", "none", honoured, applied, "block `mappings`"},
    {"accounts.*", "limits", "map", "none", honoured, applied, "block `accounts.*.limits`"},
    {"accounts.*", "msg_trace", "text or map", "none", honoured, applied, "where traces of messages with a sampled `traceparent` go"},
    {"accounts.*.msg_trace", "dest", "text", "", honoured, applied, "the subject"},
    {"accounts.*.msg_trace", "sampling", "number or text", "100", honoured, applied, "percent of them"},
    {"accounts.*.limits", "max_connections max_conn", "number", "-1: no limit", honoured, applied, ""},
    {"accounts.*.limits", "max_subscriptions max_subs", "number", "-1: no limit", honoured, applied, "of a connection"},
    {"accounts.*.limits", "max_payload max_pay", "bytes", "-1: the server's", honoured, applied, ""},
    {"accounts.*.limits", "max_leafnodes max_leafs", "number", "-1: no limit", honoured, applied, ""},
    {"accounts.*.jetstream", "max_memory max_mem mem memory", "bytes", "-1: no limit", honoured, applied, ""},
    {"accounts.*.jetstream", "max_store max_file max_disk store disk", "bytes", "-1: no limit", honoured, applied, ""},
    {"accounts.*.jetstream", "max_streams streams", "number", "-1: no limit", honoured, applied, ""},
    {"accounts.*.jetstream", "max_consumers consumers", "number", "-1: no limit", honoured, applied, ""},
    {"accounts.*.jetstream", "max_bytes_required max_stream_bytes max_bytes", "boolean", "false", honoured, applied, "streams must have `max_bytes`"},
    {"accounts.*.jetstream", "memory_max_stream_bytes mem_max_stream_bytes", "bytes", "-1: no limit", honoured, applied, "of one memory stream"},
    {"accounts.*.jetstream", "disk_max_stream_bytes store_max_stream_bytes", "bytes", "-1: no limit", honoured, applied, "of one file stream"},
    {"accounts.*.jetstream", "max_ack_pending", "number", "-1: no limit", honoured, applied, "of a consumer"},
    {"accounts.*.jetstream", "cluster_traffic", "text", "", without_effect, none, "it is about replicas in a cluster"},
    {"accounts.*.exports[]", "stream", "text", "", honoured, applied, "a subject of messages; this or the next"},
    {"accounts.*.exports[]", "service", "text", "", honoured, applied, "a subject of requests"},
    {"accounts.*.exports[]", "accounts", "array", "all", honoured, applied, "who may import it"},
    {"accounts.*.exports[]", "response_type", "text", "singleton", honoured, applied, "`singleton`, `stream` or `chunked`"},
    {"accounts.*.exports[]", "response_threshold threshold", "duration", "2m", honoured, applied, "how long an answer is waited for"},
    {"accounts.*.exports[]", "latency", "text or map", "none", without_effect, none, "services are not measured"},
    {"accounts.*.exports[]", "allow_trace", "boolean", "false", honoured, applied, "traces of messages go on across the account's border"},
    {"accounts.*.exports[]", "account_token_position", "number", "none", honoured, applied, "the token that must be the importing account's name"},
    {"accounts.*.exports[].latency", "sampling", "number or text", "100", honoured, applied, "percent of the answers, or `headers`"},
    {"accounts.*.exports[].latency", "subject", "text", "", honoured, applied, ""},
    {"accounts.*.imports[]", "stream", "map", "", honoured, applied, "`{ account, subject }`; this or the next"},
    {"accounts.*.imports[]", "service", "map", "", honoured, applied, "`{ account, subject }`"},
    {"accounts.*.imports[]", "prefix", "text", "none", honoured, applied, "before the subjects of a stream"},
    {"accounts.*.imports[]", "to", "text", "the same subject", honoured, applied, "the subject on this side"},
    {"accounts.*.imports[]", "share", "boolean", "false", honoured, applied, "tells the service who asks"},
    {"accounts.*.imports[]", "allow_trace", "boolean", "false", honoured, applied, "traces of messages go on across the account's border"},
    {"accounts.*.imports[].*", "account", "text", "", honoured, applied, ""},
    {"accounts.*.imports[].*", "subject", "text", "", honoured, applied, ""},
    {"mappings", "*", "text, map or array", "", honoured, applied, "subject to one destination or to several: block `mappings.*[]`"},
    {"mappings.*[]", "destination dest", "text", "", honoured, applied, "the new subject; `$1` or `{{wildcard(1)}}`, `{{partition(...)}}` and so on"},
    {"mappings.*[]", "weight", "number or text", "100%", honoured, applied, "percent"},
    {"mappings.*[]", "cluster", "text", "none", honoured, applied, "only in the cluster of that name"},
    {"resolver", "type", "text", "", refused, none, "operator mode is not built"},
    {"resolver", "dir", "path", "", refused, none, "operator mode is not built"},
    {"resolver", "allow_delete", "boolean", "false", refused, none, "operator mode is not built"},
    {"resolver", "hard_delete", "boolean", "false", refused, none, "operator mode is not built"},
    {"resolver", "interval", "duration", "1m", refused, none, "operator mode is not built"},
    {"resolver", "limit", "number", "none", refused, none, "operator mode is not built"},
    {"resolver", "ttl", "duration", "1h", refused, none, "operator mode is not built"},
    {"resolver", "timeout", "duration", "1.9s", refused, none, "operator mode is not built"},
};
// clang-format on

}  // namespace

std::span<const option_info> security_option_rows() { return rows; }

}  // namespace tern::server
