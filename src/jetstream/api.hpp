// One request to the JetStream API, from its arrival to its answer (jetstream 1).
#pragma once

#include "jetstream/environment.hpp"
#include "protocol/jetstream_error.hpp"

#include <tern/codec/json.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class api_request;

// Where answers go: the engine counts them, audits them and publishes them in the caller's account.
class api_endpoint {
 public:
  virtual ~api_endpoint() = default;
  virtual void answer(const api_request& to, std::string_view json, bool failed) = 0;
};

// How an operation's answers look: `{"type":"io.nats.jetstream.api.v1.<type>", ...}`; an answer that is an error
// carries `on_error` behind the error object (`,"total":0,...`).
struct api_operation {
  std::string_view type;
  std::string_view on_error = {};
  bool audited = true;
  bool describes_client = false;  // its own advisories say who asked
};

// Made by the engine, kept alive by whoever will answer it. Answered at most once. One shard.
class api_request : public std::enable_shared_from_this<api_request> {
 public:
  api_request(api_endpoint& endpoint, environment& surroundings, routing::account& account,
              const api_operation& operation, const routing::message& from);

  const std::string subject;
  const std::string reply;
  const std::string headers;
  const std::string body;
  const api_operation& operation;
  environment& surroundings;
  routing::account& account;
  std::string client;          // JSON object that describes the caller, for audits; may be empty
  std::string answer_headers;  // of a success; empty: none

  // --- answers ---
  // The complete answer, now.
  void respond(std::string_view json);
  // When everything that was written so far is durable (Appendix B 1-5 of jetstream); `make` then says what. A failing
  // disk answers 10023.
  void respond_when_durable(std::string json);
  void respond_when_durable(std::move_only_function<std::string()> make);
  // `{"type":...,"error":{...}<on_error>}`. A few operations put members of their own behind the error: `extra`
  // (",\"purged\":0") then replaces operation.on_error.
  void respond_error(const protocol::api_error& why);
  void respond_error(protocol::jetstream_errc number, std::initializer_list<protocol::placeholder> values = {}) {
    respond_error(protocol::make_api_error(number, values));
  }
  void respond_error(const protocol::api_error& why, std::string_view extra);
  // `{"type":"...v1.<type>"`: the beginning of a success.
  std::string envelope() const;
  bool answered() const { return answered_; }

  // --- bodies (1.5) ---
  // Reads the body by the server's strictness; an empty body gives zero values. On failure answers 10025 and returns
  // false.
  template <class T>
  bool decode(T& into) {
    return decode_as(codec::type_of<T>(), &into);
  }
  // For endpoints with optional bodies: looks at it only when its first non-blank byte opens an object or array.
  template <class T>
  bool decode_optional(T& into) {
    return !has_json_body() || decode(into);
  }
  // Nothing, or an object without keys: what endpoints that take no body demand (else answers 10038, returns false).
  bool expect_no_body();
  bool is_empty_body() const;  // no bytes, or `{}` with blanks inside
  bool has_json_body() const;

 private:
  bool decode_as(const codec::value_type& type, void* into);
  api_endpoint& endpoint_;
  bool answered_ = false;
};

// The body of paged requests that ask for nothing else.
struct page_request {
  std::int64_t offset = 0;
};

// One page of a sorted list of `total` (1.9): the offset is clamped into it, negative ones are 0.
struct page {
  std::size_t total = 0, offset = 0, limit = 0;
  std::size_t end = 0;  // elements [offset, end) are on it

  static page of(std::size_t total, std::int64_t offset, std::size_t limit);
  // `,"total":T,"offset":O,"limit":L`
  void append_to(std::string& json) const;
};

inline constexpr std::size_t names_page_limit = 1024;
inline constexpr std::size_t list_page_limit = 256;
inline constexpr std::size_t subjects_page_limit = 100'000;

// `{"code":C,"err_code":N,"description":"..."}`
void append_error_object(std::string& json, const protocol::api_error& why);

}  // namespace tern::jetstream
