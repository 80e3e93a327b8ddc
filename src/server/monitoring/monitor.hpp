// The monitoring port: HTTP over byte streams, answered from the server's own state (core 5). Owned by the server; one
// shard. Bounded: so many sessions, each with a short request, closed when idle.
#pragma once

#include "runtime/tls/tls_stream.hpp"
#include "runtime/transport.hpp"
#include "server/monitoring/endpoints.hpp"

#include <tern/base/error.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

class server;

struct http_answer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  bool any_origin = true;  // Access-Control-Allow-Origin: *

  static http_answer json(std::string compact);  // indented on the way
  static http_answer text(int status, std::string body);
};

// The part of a request target behind `?`. A parameter that does not read as what it should be notes the peer's text.
class http_query {
 public:
  explicit http_query(std::string_view encoded);
  std::string text(std::string_view name) const;
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name);
  std::uint64_t unsigned_integer(std::string_view name);
  void refuse(std::string text) {
    if (!problem_) problem_ = std::move(text);
  }
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::optional<std::string> problem_;
};

// The options of an endpoint as its parameters tell them; what does not read is noted in the query.
connz_options connz_from(http_query& query);
subsz_options subsz_from(http_query& query);
accstatz_options accstatz_from(http_query& query);
leafz_options leafz_from(http_query& query);
jsz_options jsz_from(http_query& query);
healthz_options healthz_from(http_query& query);

std::string page_of_links(std::string_view base_path);

class monitor {
 public:
  explicit monitor(server& owner);
  ~monitor();
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;

  result<void> open(runtime::transport& network);
  const runtime::endpoint& local() const { return listener_->local(); }
  // `target` as it stands in the request.
  http_answer answer(std::string_view target);
  const std::map<std::string, std::uint64_t>& request_counts() const { return request_counts_; }

 private:
  class session;
  void sweep();
  std::shared_ptr<const runtime::tls_context> https_context();
  http_answer route(std::string_view path, http_query& query);

  server& owner_;
  std::unique_ptr<runtime::listener> listener_;
  std::vector<std::unique_ptr<session>> sessions_;
  std::shared_ptr<const runtime::tls_context> https_context_, https_made_from_;
  std::map<std::string, std::uint64_t> request_counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tern::server
