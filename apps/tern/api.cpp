#include "api.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace tern::command {
namespace {

struct answer_error {
  int code = 0;
  int err_code = 0;
  std::string description;
};

struct answer_head {
  std::optional<answer_error> error;
};

struct list_request {
  std::int64_t offset = 0;
  std::optional<std::string> subject;
};

struct list_page {
  std::int64_t total = 0;
  std::vector<codec::raw_json> streams;
  std::vector<codec::raw_json> consumers;
};

// What to do about the errors that a person at a terminal meets.
std::string hint_of(int number) {
  switch (number) {
    case 10059:
      return "`tern stream ls` shows the streams";
    case 10014:
      return "`tern consumer ls STREAM` shows the consumers";
    case 10058:
      return "`tern stream info` shows how it is configured; remove it first to make it anew";
    case 10148:
      return "`tern consumer info` shows how it is configured; remove it first to make it anew";
    case 10065:
      return "another stream takes one of these subjects; `tern stream ls` shows them";
    case 10039:
    case 10076:
      return "JetStream is off for this server or account; start it with --jetstream";
    case 10023:
    case 10047:
      return "the server has no room; purge streams or raise its limits";
    case 10116:
      return "the backoff needs --max-deliver above its number of steps";
    default:
      return {};
  }
}

}  // namespace

result<void> check_answer(std::string_view answer) {
  auto head = codec::read_json<answer_head>(answer);
  if (!head) return std::unexpected(std::move(head).error().within("the answer cannot be read"));
  if (!head->error) return {};
  const answer_error& found = *head->error;
  std::string text = found.description + " (" + std::to_string(found.err_code != 0 ? found.err_code : found.code) + ")";
  error problem(errc::api_error, std::move(text), hint_of(found.err_code));
  return std::unexpected(std::move(problem).with_api_code(found.err_code));
}

result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty() || name.find_first_of(" \t\r\n.*>/\\") != name.npos) {
    return fail(errc::invalid_argument, "'" + std::string(name) + "' is no name of a " + std::string(what),
                "names have no blanks and none of . * > / \\");
  }
  return {};
}

std::string json_array(const std::vector<std::string>& elements) {
  std::string out = "[";
  for (const std::string& element : elements) {
    if (out.size() > 1) out += ',';
    out += element;
  }
  return out + "]";
}

std::string jetstream_api::prefix() const {
  return session_.options().domain.empty() ? "$JS.API." : "$JS." + session_.options().domain + ".API.";
}

result<std::string> jetstream_api::call(std::string_view operation, std::string_view body) {
  auto answer = session_.outcome(connection_.request(prefix() + std::string(operation), body,
                                                     client::request_options().timeout(session_.timeout())));
  if (!answer) {
    if (answer.error().code() == errc::no_responders) {
      return fail(errc::no_responders, "nobody answers for JetStream",
                  "start the server with --jetstream; --js-domain asks another domain");
    }
    if (answer.error().code() == errc::timeout)
      return fail(errc::timeout, "the server did not answer in time", "--timeout waits longer");
    return std::unexpected(std::move(answer).error());
  }
  if (auto good = check_answer(answer->payload()); !good) {
    if (session_.json()) session_.output().print_line(answer->payload());
    return std::unexpected(std::move(good).error());
  }
  return std::string(answer->payload());
}

result<std::vector<std::string>> jetstream_api::list(std::string_view operation, std::string_view subject) {
  std::vector<std::string> out;
  while (true) {
    list_request body;
    body.offset = static_cast<std::int64_t>(out.size());
    if (!subject.empty()) body.subject = subject;
    auto page = read<list_page>(operation, codec::to_json(body));
    if (!page) return std::unexpected(std::move(page).error());
    auto& elements = page->consumers.empty() ? page->streams : page->consumers;
    for (auto& element : elements) out.push_back(std::move(element.text));
    if (elements.empty() || static_cast<std::int64_t>(out.size()) >= page->total) return out;
  }
}

}  // namespace tern::command
