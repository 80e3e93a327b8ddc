// tern req
#include "body_template.hpp"
#include "message_view.hpp"
#include "messages.hpp"
#include "parse.hpp"
#include "text.hpp"

#include <algorithm>

namespace tern::command {
namespace {

void show(session& in, const client::message& answer, nanoseconds took, bool raw) {
  if (in.json()) return in.output().print_line(message_as_json(answer));
  if (raw) return in.output().print(describe_message(answer, 1, message_style::raw));
  in.note("Received with rtt " + short_duration(took));
  if (answer.has_headers()) in.output().print(describe_headers(answer) + "\n");
  in.output().print_line(answer.payload());
  in.output().print_line("");
}

std::unexpected<error> nobody(std::string_view subject) {
  return fail(errc::no_responders, "nobody answers on '" + std::string(subject) + "'",
              "start the service, or check the subject");
}

std::unexpected<error> too_late(std::string_view subject) {
  return fail(errc::timeout, "no answer on '" + std::string(subject) + "' in time", "--timeout waits longer");
}

result<void> ask_once(session& in, client::connection& connection, const request_arguments& what, std::string_view body,
                      const client::headers& headers) {
  const time_point begun = in.now();
  auto answer = in.outcome(
      connection.request(what.subject, body, client::request_options().timeout(in.timeout()).headers(headers)));
  if (!answer && answer.error().code() == errc::no_responders) return nobody(what.subject);
  if (!answer && answer.error().code() == errc::timeout) return too_late(what.subject);
  if (!answer) return std::unexpected(std::move(answer).error());
  show(in, *answer, in.now() - begun, what.raw);
  return {};
}

// Answers until there are enough, or the next one takes longer than reply_timeout, or the timeout is over.
result<void> ask_many(session& in, client::connection& connection, const request_arguments& what, std::string_view body,
                      const client::headers& headers) {
  const std::string inbox = connection.new_inbox();
  auto answers = connection.subscribe(inbox);
  if (!answers) return std::unexpected(std::move(answers).error());
  const time_point begun = in.now();
  if (auto sent = connection.publish_with_reply(what.subject, inbox, body, headers); !sent) return sent;
  if (auto settled = in.settle(connection); !settled) return settled;
  std::uint64_t received = 0;
  while (what.replies == 0 || received < what.replies) {
    const nanoseconds left = in.timeout() - (in.now() - begun);
    const nanoseconds patience = received == 0 || what.replies == 0 ? left : std::min(left, what.reply_timeout);
    if (patience.count() <= 0) break;
    auto answer = answers->next(patience).get();
    if (!answer && answer.error().code() == errc::timeout) break;
    if (!answer) return std::unexpected(std::move(answer).error());
    if (answer->status() == 503 && answer->payload().empty()) return nobody(what.subject);
    show(in, *answer, in.now() - begun, what.raw);
    ++received;
  }
  return received == 0 ? result<void>(too_late(what.subject)) : result<void>();
}

}  // namespace

result<void> request(session& in, const request_arguments& what) {
  auto headers = parse_headers(what.headers);
  if (!headers) return std::unexpected(std::move(headers).error());
  const bool plain = what.raw || in.json();
  if (!what.body && !plain) in.note("Reading payload from STDIN");
  const auto text = what.body ? result<std::string>(*what.body) : read_standard_input();
  if (!text) return std::unexpected(text.error());
  const auto body = what.templates ? body_template::parse(*text) : body_template::verbatim(*text);
  if (!body) return std::unexpected(body.error());
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  for (std::uint64_t number = 1; number <= what.count; ++number) {
    if (!plain) in.note("Sending request on \"" + what.subject + "\"");
    const std::string payload = body->expand({number, in.now(), {}}, in.ids());
    auto asked = what.replies == 1 ? ask_once(in, *connected, what, payload, *headers)
                                   : ask_many(in, *connected, what, payload, *headers);
    if (!asked) return asked;
  }
  return {};
}

}  // namespace tern::command
