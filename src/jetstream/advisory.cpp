#include "jetstream/advisory.hpp"

#include "base/numbers.hpp"

#include <tern/codec/json.hpp>

namespace tern::jetstream {
namespace {

void append_key(std::string& json, std::string_view key) { json.append(",\"").append(key).append("\":"); }

std::string full_subject(std::string_view subject) {
  std::string full(advisory_prefix);
  full += subject;
  return full;
}

}  // namespace

advisory::advisory(environment& surroundings, std::string_view type) : surroundings_(surroundings) {
  json_.append("{\"type\":\"").append(type).append("\",\"id\":\"").append(surroundings.ids.next());
  json_ += "\",\"timestamp\":\"";
  append_rfc3339(json_, surroundings.now());
  json_ += '"';
}

advisory& advisory::add(std::string_view key, std::string_view text) {
  append_key(json_, key);
  codec::write_json_string(json_, text);
  return *this;
}

advisory& advisory::add(std::string_view key, std::uint64_t number) {
  append_key(json_, key);
  append_decimal(json_, number);
  return *this;
}

advisory& advisory::add(std::string_view key, bool flag) {
  append_key(json_, key);
  json_ += flag ? "true" : "false";
  return *this;
}

advisory& advisory::add_json(std::string_view key, std::string_view json) {
  append_key(json_, key);
  json_ += json;
  return *this;
}

std::string advisory::finish() && {
  if (!surroundings_.settings.domain.empty()) add("domain", surroundings_.settings.domain);
  json_ += '}';
  return std::move(json_);
}

bool wants_advisory(routing::account& account, std::string_view subject) {
  return account.has_interest(full_subject(subject));
}

void publish_advisory(routing::account& account, std::string_view subject, std::string_view json) {
  const std::string full = full_subject(subject);
  account.publish({.subject = full, .payload = json});
}

}  // namespace tern::jetstream
