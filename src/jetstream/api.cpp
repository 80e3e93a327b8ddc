#include "jetstream/api.hpp"

#include "base/numbers.hpp"
#include "jetstream/go_json_words.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::string_view type_prefix = "{\"type\":\"io.nats.jetstream.api.v1.";
constexpr std::string_view json_blanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(json_blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(json_blanks) - first + 1);
}

}  // namespace

void append_error_object(std::string& json, const protocol::api_error& why) {
  json += "{\"code\":";
  append_signed_decimal(json, why.code);
  json += ",\"err_code\":";
  append_signed_decimal(json, why.err_code);
  json += ",\"description\":";
  codec::write_json_string(json, why.description);
  json += '}';
}

page page::of(std::size_t total, std::int64_t offset, std::size_t limit) {
  page made{.total = total, .offset = 0, .limit = limit};
  if (offset > 0) made.offset = std::min<std::uint64_t>(total, static_cast<std::uint64_t>(offset));
  made.end = std::min(total, made.offset + limit);
  return made;
}

void page::append_to(std::string& json) const {
  json += ",\"total\":";
  append_decimal(json, total);
  json += ",\"offset\":";
  append_decimal(json, offset);
  json += ",\"limit\":";
  append_decimal(json, limit);
}

api_request::api_request(api_endpoint& endpoint, environment& environment, routing::account& owner,
                         const api_operation& what, const routing::message& from)
    : subject(from.subject),
      reply(from.reply),
      headers(from.headers),
      body(from.payload),
      operation(what),
      surroundings(environment),
      account(owner),
      endpoint_(endpoint) {}

void api_request::respond(std::string_view json) {
  if (std::exchange(answered_, true)) return;
  endpoint_.answer(*this, json, false);
}

void api_request::respond_when_durable(std::string json) {
  respond_when_durable([text = std::move(json)]() mutable { return std::move(text); });
}

void api_request::respond_when_durable(std::move_only_function<std::string()> make) {
  surroundings.store.when_durable([self = shared_from_this(),
                                   make = std::move(make)](const result<void>& done) mutable {
    if (done) return self->respond(make());
    self->surroundings.warn("JetStream API call on '" + self->subject + "' is not durable: " + done.error().message());
    self->respond_error(protocol::jetstream_errc::insufficient_resources);
  });
}

void api_request::respond_error(const protocol::api_error& why) { respond_error(why, operation.on_error); }

void api_request::respond_error(const protocol::api_error& why, std::string_view extra) {
  if (std::exchange(answered_, true)) return;
  std::string json = envelope();
  json += ",\"error\":";
  append_error_object(json, why);
  json += extra;
  json += '}';
  endpoint_.answer(*this, json, true);
}

std::string api_request::envelope() const {
  std::string json;
  json.reserve(256);
  json.append(type_prefix).append(operation.type).append("\"");
  return json;
}

bool api_request::expect_no_body() {
  if (is_empty_body()) return true;
  respond_error(protocol::jetstream_errc::not_empty_request);
  return false;
}

bool api_request::is_empty_body() const {
  if (body.empty()) return true;
  const std::string_view text = without_blanks(body);
  return text.size() >= 2 && text.front() == '{' && text.back() == '}' &&
         without_blanks(text.substr(1, text.size() - 2)).empty();
}

bool api_request::has_json_body() const {
  const std::string_view text = without_blanks(body);
  return !text.empty() && (text.front() == '{' || text.front() == '[');
}

bool api_request::decode_as(const codec::value_type& type, void* into) {
  if (body.empty()) return true;
  const auto& options = surroundings.settings.strict ? codec::peer_strict : codec::peer_lenient;
  const auto read = codec::read_json_into(body, type, into, options);
  if (read) {
    // The codec takes null for absent everywhere; the peer does not for words.
    const bool has_null = body.find("null") != std::string_view::npos;
    const auto told = has_null ? describe_misfit(body, type, operation.type) : std::nullopt;
    if (told) respond_error(protocol::jetstream_errc::invalid_json, {{"err", *told}});
    return !told;
  }
  std::string why(read.error().context());
  if (!codec::is_unknown_field(read.error())) {
    if (auto told = describe_misfit(body, type, operation.type)) {
      why = std::move(*told);
    } else if (is_cut_json(body)) {
      why = "unexpected EOF";
    }
  }
  respond_error(protocol::jetstream_errc::invalid_json, {{"err", why}});
  return false;
}

}  // namespace tern::jetstream
