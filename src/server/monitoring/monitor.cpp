#include "server/monitoring/monitor.hpp"

#include "base/numbers.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/server.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

namespace tern::server {
namespace {

int hex_value(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+') {
      out += ' ';
    } else if (text[at] == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 &&
               hex_value(text[at + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

struct link {
  std::string_view path, title;
};
constexpr link links[] = {
    {"/varz", "General"},      {"/jsz", "JetStream"},          {"/connz", "Connections"},
    {"/accountz", "Accounts"}, {"/accstatz", "Account Stats"}, {"/subsz", "Subscriptions"},
    {"/routez", "Routes"},     {"/leafz", "LeafNodes"},        {"/gatewayz", "Gateways"},
    {"/raftz", "Raft Groups"}, {"/healthz", "Health Probe"},   {"/debug/vars", "Expvar"},
};

http_answer empty_links(server& from, std::string_view count, std::string_view list, bool with_name) {
  json_builder out;
  out.begin_object().field("server_id", from.id());
  if (with_name) out.field("server_name", from.name());
  out.field("now", from.loop().now()).field(count, 0).begin_array(list).end_array().end_object();
  return http_answer::json(out.text());
}

http_answer gatewayz(server& from) {
  json_builder out;
  out.begin_object().field("server_id", from.id()).field("now", from.loop().now());
  out.begin_object("outbound_gateways").end_object().begin_object("inbound_gateways").end_object().end_object();
  return http_answer::json(out.text());
}

http_answer debug_vars() {
  http_answer out = http_answer::text(200, "{\n\"cmdline\": [],\n\"memstats\": {}\n}\n");
  out.content_type = "application/json; charset=utf-8";
  return out;
}

}  // namespace

http_answer http_answer::json(std::string compact) {
  return {.status = 200, .content_type = "application/json", .body = indented(compact)};
}

http_answer http_answer::text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body), .any_origin = false};
}

http_query::http_query(std::string_view encoded) {
  while (!encoded.empty()) {
    const std::string_view one = encoded.substr(0, encoded.find('&'));
    encoded.remove_prefix(std::min(encoded.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    std::string value = equals == std::string_view::npos ? std::string() : percent_decoded(one.substr(equals + 1));
    values_.try_emplace(percent_decoded(one.substr(0, equals)), std::move(value));  // the first one counts
  }
}

std::string http_query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

bool http_query::boolean(std::string_view name) {
  const std::string value = text(name);
  constexpr std::array<std::string_view, 6> yes = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 7> no = {"", "0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::find(yes, value) != yes.end()) return true;
  if (std::ranges::find(no, value) == no.end())
    refuse("Error decoding boolean for '" + std::string(name) + "': strconv.ParseBool: parsing \"" + value +
           "\": invalid syntax");
  return false;
}

std::int64_t http_query::integer(std::string_view name) {
  const std::string value = text(name);
  if (value.empty()) return 0;
  std::string_view digits = value;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = read.ptr == digits.data() + digits.size();
  if (read.ec != std::errc() || !whole)
    refuse("Error decoding int for '" + std::string(name) + "': strconv.Atoi: parsing \"" + value +
           "\": " + (read.ec == std::errc::result_out_of_range && whole ? "value out of range" : "invalid syntax"));
  return number;
}

std::uint64_t http_query::unsigned_integer(std::string_view name) {
  const std::string value = text(name);
  if (value.empty()) return 0;
  std::uint64_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = read.ptr == value.data() + value.size();
  if (read.ec != std::errc() || !whole)
    refuse("Error decoding uint64 for '" + std::string(name) + "': strconv.ParseUint: parsing \"" + value +
           "\": " + (read.ec == std::errc::result_out_of_range && whole ? "value out of range" : "invalid syntax"));
  return number;
}

http_answer monitor::answer(std::string_view target) {
  const std::size_t mark = target.find('?');
  std::string path = percent_decoded(target.substr(0, mark));
  http_query query(mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1));
  std::string base = owner_.settings().http_base_path;
  if (!base.empty() && !base.starts_with('/')) base.insert(0, "/");
  while (base.ends_with('/')) base.pop_back();
  if (!base.empty()) {
    if (!path.starts_with(base) || (path.size() > base.size() && path[base.size()] != '/'))
      return http_answer::text(404, "404 page not found\n");
    path.erase(0, base.size());
  }
  if (path.empty()) path = "/";
  if (path == "/subscriptionsz") path = "/subsz";
  const auto counted = [this, &path](http_answer out) {
    if (out.status != 400 || path != "/connz") ++request_counts_[path];
    return out;
  };
  if (path == "/") {
    http_answer page{
        .status = 200, .content_type = "text/html; charset=utf-8", .body = page_of_links(base), .any_origin = false};
    return counted(std::move(page));
  }
  if (path == "/varz") {
    ++request_counts_[path];
    return varz(owner_, request_counts_);
  }
  if (path == "/connz") return counted(connz(owner_, query));
  if (path == "/subsz") return counted(subsz(owner_, query));
  if (path == "/healthz") return counted(healthz(owner_, query));
  if (path == "/jsz") return counted(jsz(owner_, query));
  if (path == "/accountz") return counted(accountz(owner_, query));
  if (path == "/accstatz") return counted(accstatz(owner_, query));
  if (path == "/routez") return counted(empty_links(owner_, "num_routes", "routes", true));
  if (path == "/leafz") return counted(empty_links(owner_, "leafnodes", "leafs", false));
  if (path == "/gatewayz") return counted(gatewayz(owner_));
  if (path == "/raftz") return http_answer::text(404, "No Raft nodes registered");
  if (path == "/ipqueuesz") return http_answer::json("{}");
  if (path == "/stacksz") return counted(http_answer::text(200, "one thread: the event loop\n"));
  if (path == "/debug/vars") return debug_vars();
  return http_answer::text(404, "404 page not found\n");
}

std::string page_of_links(std::string_view base_path) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>ternd</title></head>\n<body>\n<h1>ternd</h1>\n";
  for (const link& one : links) {
    out.append("<a href=").append(base_path.empty() ? "." : base_path).append(one.path).append(">");
    out.append(one.title).append("</a><br/>\n");
  }
  return out + "</body>\n</html>\n";
}

std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool in_text = false;
  const auto new_line = [&out, &depth] { out.append("\n").append(depth * 2, ' '); };
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (in_text) {
      out += letter;
      if (letter == '\\')
        out += json[++at];
      else if (letter == '"')
        in_text = false;
      continue;
    }
    const char next = at + 1 < json.size() ? json[at + 1] : '\0';
    switch (letter) {
      case '"':
        in_text = true, out += letter;
        break;
      case '{':
      case '[':
        out += letter;
        if (next == '}' || next == ']')
          out += next, ++at;
        else
          ++depth, new_line();
        break;
      case '}':
      case ']':
        --depth, new_line(), out += letter;
        break;
      case ',':
        out += letter, new_line();
        break;
      case ':':
        out.append(": ");
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string friendly_uptime(nanoseconds value) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(value).count();
  std::string out;
  constexpr std::pair<std::int64_t, char> units[] = {{365 * 86400, 'y'}, {86400, 'd'}, {3600, 'h'}, {60, 'm'}};
  for (const auto& [length, letter] : units) {
    if (seconds < length && out.empty()) continue;
    out.append(std::to_string(seconds / length)) += letter;
    seconds %= length;
  }
  return out.append(std::to_string(seconds)) += 's';
}

}  // namespace tern::server
