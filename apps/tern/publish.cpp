// tern pub
#include "api.hpp"
#include "body_template.hpp"
#include "messages.hpp"
#include "parse.hpp"

#include <tern/client/jetstream_records.hpp>
#include <tern/codec/json.hpp>

namespace tern::command {
namespace {

constexpr std::uint64_t told_one_by_one = 20;  // more messages are told in one line at the end

struct published_record {
  std::string subject;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

result<body_template> read_template(std::string_view text, bool templates) {
  return templates ? body_template::parse(text) : result<body_template>(body_template::verbatim(text));
}

result<void> publish_to_stream(session& in, client::connection& connection, std::string_view subject,
                               std::string_view body, const client::headers& headers, bool tell) {
  auto answer =
      in.outcome(connection.request(subject, body, client::request_options().timeout(in.timeout()).headers(headers)));
  if (!answer) {
    if (answer.error().code() == errc::no_responders) {
      return fail(errc::no_stream_for_subject, "no stream takes '" + std::string(subject) + "'",
                  "`tern stream ls` shows the streams");
    }
    if (answer.error().code() == errc::timeout) {
      return fail(errc::timeout, "no acknowledgement in time: whether the message is stored is not known",
                  "--timeout waits longer");
    }
    return std::unexpected(std::move(answer).error());
  }
  if (in.json()) in.output().print_line(answer->payload());
  if (auto good = check_answer(answer->payload()); !good) return good;
  const auto ack = codec::read_json<client::pub_ack>(answer->payload());
  if (!ack || ack->stream.empty()) {
    return fail(errc::protocol_error, "something that is no stream answered for '" + std::string(subject) + "'",
                "without --jetstream nothing waits for an acknowledgement");
  }
  if (tell) {
    in.note("Stored in Stream: " + ack->stream + " Sequence: " + std::to_string(ack->seq) +
            (ack->duplicate ? " Duplicate: true" : ""));
  }
  return {};
}

}  // namespace

result<void> publish(session& in, const publish_arguments& what) {
  auto headers = parse_headers(what.headers);
  if (!headers) return std::unexpected(std::move(headers).error());
  const auto subject = read_template(what.subject, what.templates);
  if (!subject) return std::unexpected(subject.error());
  if (!what.body && !what.quiet) in.note("Reading payload from STDIN");
  const auto text = what.body ? result<std::string>(*what.body) : read_standard_input();
  if (!text) return std::unexpected(text.error());
  const auto body = read_template(*text, what.templates);
  if (!body) return std::unexpected(body.error());
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());

  published_record done{what.subject, 0, 0};
  const bool tell = !what.quiet && !in.json() && what.count <= told_one_by_one;
  for (std::uint64_t number = 1; number <= what.count; ++number) {
    const body_template::values values{number, in.now(), {}};
    const std::string to = subject->expand(values, in.ids()), payload = body->expand(values, in.ids());
    auto sent = what.jetstream       ? publish_to_stream(in, *connected, to, payload, *headers, tell)
                : what.reply.empty() ? connected->publish(to, payload, *headers)
                                     : connected->publish_with_reply(to, what.reply, payload, *headers);
    if (!sent) return sent;
    if (tell) in.note("Published " + std::to_string(payload.size()) + " bytes to \"" + to + "\"");
    ++done.messages;
    done.bytes += payload.size();
  }
  if (auto settled = in.settle(*connected); !settled) return settled;
  if (in.json() && !what.jetstream) in.output().print_line(codec::to_json(done));
  if (!tell && !in.json() && !what.quiet)
    in.note("Published " + std::to_string(done.messages) + " messages, " + std::to_string(done.bytes) + " bytes");
  return {};
}

}  // namespace tern::command
