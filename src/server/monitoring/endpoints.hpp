// What monitoring tells, and how it is asked: the same over HTTP and through the system account (core 5, 6). Each
// endpoint takes a record of options and answers compact JSON, or a status with a text.
#pragma once

#include <tern/codec/reflect.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tern/base/time.hpp>

namespace tern::server {

class json_builder;
class server;
struct account_view;

struct endpoint_answer {
  int status = 200;
  std::string body;  // a JSON document, or what is wrong
  bool good() const { return status == 200; }
  static endpoint_answer refusal(std::string text) { return {.status = 400, .body = std::move(text)}; }
};

enum class connection_state : std::int64_t { open = 0, closed = 1, all = 2 };

struct connz_options {
  std::string sort;
  bool auth = false, subscriptions = false, subscriptions_detail = false;
  std::int64_t offset = 0, limit = 0;
  std::uint64_t cid = 0;
  std::string mqtt_client;
  std::int64_t state = 0;  // connection_state
  std::string user, acc, filter_subject;
};

struct subsz_options {
  std::int64_t offset = 0, limit = 0;
  bool subscriptions = false;
  std::string account, test;
};

struct accountz_options {
  std::string account;
};

struct accstatz_options {
  std::vector<std::string> accounts;  // empty: all
  bool include_unused = false;
};

struct leafz_options {
  bool subscriptions = false;
  std::string account;
};

struct jsz_options {
  std::string account;
  bool accounts = false, streams = false, consumer = false, direct_consumer = false, config = false,
       leader_only = false, raft = false, stream_leader_only = false;
  std::int64_t offset = 0, limit = 0;
};

struct healthz_options {
  bool js_enabled = false, js_enabled_only = false, js_server_only = false, js_meta_only = false, details = false;
  std::string account, stream, consumer;
  static constexpr tern::codec::member_option json_members[] = {
      {"js_enabled", {.name = "js-enabled"}},
      {"js_enabled_only", {.name = "js-enabled-only"}},
      {"js_server_only", {.name = "js-server-only"}},
      {"js_meta_only", {.name = "js-meta-only"}},
  };
};

struct ipqueuesz_options {
  bool all = false;
  std::string filter;
};

endpoint_answer varz(server& from, const std::map<std::string, std::uint64_t>& http_request_counts);
endpoint_answer connz(server& from, const connz_options& asked);
endpoint_answer subsz(server& from, const subsz_options& asked);
endpoint_answer accountz(server& from, const accountz_options& asked);
endpoint_answer accstatz(server& from, const accstatz_options& asked);
endpoint_answer jsz(server& from, const jsz_options& asked);
endpoint_answer leafz(server& from, const leafz_options& asked);
endpoint_answer routez(server& from);
endpoint_answer gatewayz(server& from);
endpoint_answer ipqueuesz(server& from, const ipqueuesz_options& asked);
endpoint_answer expvarz(server& from);
// Of one account: the object "account_detail" of /accountz, and the detail of /jsz.
endpoint_answer account_detail(server& from, std::string_view account);
endpoint_answer jetstream_account(server& from, const jsz_options& asked);
void append_account_statistics(json_builder& out, const account_view& of);  // the members of an element of /accstatz
// The status is that of HTTP; the body is JSON in any case. `with_status` adds it to the document (core 6).
endpoint_answer healthz(server& from, const healthz_options& asked, bool with_status);

// For Prometheus; not JSON.
struct metrics_options {
  bool streams = true, consumers = true;
};
std::string metrics(server& from, const metrics_options& asked);

std::string jetstream_summary(server& from);     // members of the object "jetstream" of /varz
std::string friendly_uptime(nanoseconds value);  // "1d2h3m4s"

}  // namespace tern::server
