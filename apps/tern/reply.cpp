// tern reply
#include "body_template.hpp"
#include "message_view.hpp"
#include "messages.hpp"
#include "parse.hpp"

namespace tern::command {
namespace {

void show(session& in, const client::message& request, std::uint64_t number) {
  if (in.json()) {
    in.output().print_line(message_as_json(request));
  } else {
    in.note("[#" + std::to_string(number) + "] Received on subject \"" + std::string(request.subject()) + "\":");
    if (request.has_headers()) in.output().print(describe_headers(request) + "\n");
    in.output().print_line(request.payload());
    in.output().print_line("");
  }
}

}  // namespace

result<void> reply(session& in, const reply_arguments& what) {
  if (what.echo == what.body.has_value()) {
    return fail(errc::invalid_argument, "an answer is needed", "give either a body or --echo");
  }
  const auto headers = parse_headers(what.headers);
  if (!headers) return std::unexpected(headers.error());
  const std::string text = what.body.value_or("");
  const auto body = what.templates ? body_template::parse(text) : body_template::verbatim(text);
  if (!body) return std::unexpected(body.error());
  auto connected = in.connect(session::lifetime::lasting);
  if (!connected) return std::unexpected(std::move(connected).error());
  auto taken = connected->subscribe(what.subject,
                                    client::subscribe_options().queue_group(what.queue_group).max_messages(what.count));
  if (!taken) return std::unexpected(std::move(taken).error());
  if (auto settled = in.settle(*connected); !settled) return settled;
  if (!in.json()) in.note("Listening on \"" + what.subject + "\" in group \"" + what.queue_group + "\"");
  for (std::uint64_t number = 0; what.count == 0 || number < what.count; ++number) {
    auto request = taken->next().get();
    if (!request) return std::unexpected(std::move(request).error());
    show(in, *request, number);
    if (auto shown = in.output().flush(); !shown) return shown;
    if (request->reply().empty()) {
      in.note("It has no reply subject; nothing is answered");
      continue;
    }
    client::headers with = *headers;
    if (what.echo)
      for (const auto& [name, value] : request->headers()) with.add(name, value);
    const std::string payload =
        what.echo ? std::string(request->payload()) : body->expand({number, in.now(), request->payload()}, in.ids());
    if (auto sent = connected->publish(request->reply(), payload, with); !sent) return sent;
  }
  return in.settle(*connected);
}

}  // namespace tern::command
