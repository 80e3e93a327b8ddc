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
    {"/varz", "General"},       {"/jsz", "JetStream"},          {"/connz", "Connections"},
    {"/accountz", "Accounts"},  {"/accstatz", "Account Stats"}, {"/subsz", "Subscriptions"},
    {"/routez", "Routes"},      {"/leafz", "LeafNodes"},        {"/gatewayz", "Gateways"},
    {"/raftz", "Raft Groups"},  {"/healthz", "Health Probe"},   {"/debug/vars", "Expvar"},
    {"/metrics", "Prometheus"},
};

http_answer of(const endpoint_answer& answer) {
  return answer.good() ? http_answer::json(answer.body) : http_answer::text(answer.status, answer.body);
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
  // Counted before /varz shows the counts; a refused /connz is not counted.
  constexpr std::string_view not_counted[] = {"/raftz", "/ipqueuesz", "/debug/vars"};
  const bool known = path == "/" || path == "/stacksz" || path == "/metrics" ||
                     std::ranges::find(links, std::string_view(path), &link::path) != std::end(links);
  const bool counts = known && std::ranges::find(not_counted, path) == std::end(not_counted);
  if (counts) ++request_counts_[path];
  http_answer out = path == "/" ? http_answer{.status = 200,
                                              .content_type = "text/html; charset=utf-8",
                                              .body = page_of_links(base),
                                              .any_origin = false}
                                : route(path, query);
  if (counts && out.status == 400 && path == "/connz" && --request_counts_[path] == 0) request_counts_.erase(path);
  return out;
}

http_answer monitor::route(std::string_view path, http_query& query) {
  // Options that do not read are refused before anything is answered.
  const auto with = [&query](auto options, auto answer) {
    return query.problem() ? http_answer::text(400, *query.problem()) : of(answer(options));
  };
  if (path == "/varz") return of(varz(owner_, request_counts_));
  if (path == "/connz") return with(connz_from(query), [this](const auto& asked) { return connz(owner_, asked); });
  if (path == "/subsz") return with(subsz_from(query), [this](const auto& asked) { return subsz(owner_, asked); });
  if (path == "/jsz") return with(jsz_from(query), [this](const auto& asked) { return jsz(owner_, asked); });
  if (path == "/accountz") return of(accountz(owner_, {.account = query.text("acc")}));
  if (path == "/accstatz")
    return with(accstatz_from(query), [this](const auto& asked) { return accstatz(owner_, asked); });
  if (path == "/leafz") return with(leafz_from(query), [this](const auto& asked) { return leafz(owner_, asked); });
  if (path == "/routez") return of(routez(owner_));
  if (path == "/gatewayz") return of(gatewayz(owner_));
  if (path == "/healthz") {
    const healthz_options asked = healthz_from(query);
    if (query.problem()) return http_answer::text(400, *query.problem());
    const endpoint_answer seen = healthz(owner_, asked, false);
    return {.status = seen.status, .body = seen.body};
  }
  if (path == "/ipqueuesz") {
    const bool all = query.boolean("all");
    return with(ipqueuesz_options{.all = all, .filter = query.text("queues")},
                [this](const auto& asked) { return ipqueuesz(owner_, asked); });
  }
  if (path == "/metrics") {
    // How much of JetStream: `?jsz=server`, `streams` or, without it, everything.
    const std::string level = query.text("jsz");
    const metrics_options asked = {.streams = level != "server", .consumers = level != "server" && level != "streams"};
    return {.status = 200,
            .content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics(owner_, asked),
            .any_origin = false};
  }
  if (path == "/raftz") return http_answer::text(404, "No Raft nodes registered");
  if (path == "/stacksz") return http_answer::text(200, "one thread: the event loop\n");
  if (path == "/debug/vars") {
    http_answer out = of(expvarz(owner_));
    out.content_type = "application/json; charset=utf-8";
    out.any_origin = false;
    return out;
  }
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

}  // namespace tern::server
