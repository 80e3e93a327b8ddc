#include "server/system/message_trace.hpp"

#include "base/ascii.hpp"
#include "protocol/headers.hpp"
#include "protocol/subject.hpp"
#include "server/connection/connection.hpp"
#include "server/monitoring/json_builder.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace tern::server {
namespace {

constexpr std::string_view destination_header = "Nats-Trace-Dest";
constexpr std::string_view only_header = "Nats-Trace-Only";
constexpr int kind_client = 0;  // of the peer's numbers: the only kind of connection here

bool is_true(std::string_view text) {
  constexpr std::array<std::string_view, 3> yes = {"true", "1", "on"};
  const std::string lower = lower_case(text);
  return std::ranges::find(yes, std::string_view(lower)) != yes.end();
}

}  // namespace

std::optional<message_trace> message_trace::asked_by(const routing::message& what) {
  if (what.headers.find(destination_header) == std::string_view::npos) return std::nullopt;
  const protocol::header_view headers(what.headers);
  const auto destination = headers.get(destination_header);
  if (!destination || !protocol::is_valid_literal(*destination)) return std::nullopt;
  message_trace out;
  out.headers_ = what.headers;
  out.size_ = what.headers.size() + what.payload.size();
  out.destination_ = *destination;
  out.only_ = is_true(headers.get(only_header).value_or(""));
  return out;
}

void message_trace::entered(const connection& by, std::string_view account, std::string_view subject, time_point at) {
  events_.push_back({.what = kind::entry,
                     .at = at,
                     .connection = by.id(),
                     .name = by.name(),
                     .account = std::string(account),
                     .subject = std::string(subject),
                     .queue = {}});
}

void message_trace::left_to(const connection& by, const routing::subscription& to, time_point at) {
  events_.push_back({.what = kind::egress,
                     .at = at,
                     .connection = by.id(),
                     .name = by.name(),
                     .account = {},
                     .subject = to.subject,
                     .queue = to.queue});
}

bool message_trace::reached_stream(std::string_view stream, std::string_view subject, time_point at) {
  events_.push_back({.what = kind::stream,
                     .at = at,
                     .name = std::string(stream),
                     .account = {},
                     .subject = std::string(subject),
                     .queue = {}});
  return !only_;
}

void message_trace::refused_by_stream(std::string_view stream, std::string_view why) {
  for (event& one : events_) {
    if (one.what != kind::stream || one.name != stream) continue;
    one.error = why;
    one.subject.clear();
  }
}

void message_trace::append_to(json_builder& out) const {
  std::map<std::string_view, std::vector<std::string_view>> by_key;
  for (const auto& [key, value] : protocol::header_view(headers_)) by_key[key].push_back(value);
  out.begin_object("request").begin_object("header");
  for (const auto& [key, values] : by_key) {
    out.begin_array(key);
    for (const std::string_view value : values) out.element(value);
    out.end_array();
  }
  out.end_object().field("msgsize", size_).end_object();
  out.begin_array("events");
  for (const event& one : events_) {
    constexpr std::string_view words[] = {"in", "js", "eg"};
    out.begin_object().field("type", words[static_cast<std::size_t>(one.what)]).field("ts", one.at);
    if (one.what == kind::stream) {
      out.field("stream", one.name).field_unless_empty("subject", one.subject);
    } else {
      out.field("kind", kind_client).field("cid", one.connection).field_unless_empty("name", one.name);
      out.field_unless_empty("acc", one.account);
      out.field(one.what == kind::entry ? "subj" : "sub", one.subject).field_unless_empty("queue", one.queue);
    }
    out.field_unless_empty("error", one.error).end_object();
  }
  out.end_array();
}

}  // namespace tern::server
