// tern consumer next
#include "consumers.hpp"
#include "message_view.hpp"
#include "text.hpp"

#include <tern/client/jetstream.hpp>

namespace tern::command {
namespace {

std::string headline(const client::message& message, time_point now) {
  const auto place = message.jetstream();
  std::string out = "[" + time_of_day(now) + "] subj: " + std::string(message.subject());
  if (!place) return out;
  return out + " / tries: " + std::to_string(place->delivered) +
         " / cons seq: " + std::to_string(place->consumer_sequence) +
         " / str seq: " + std::to_string(place->stream_sequence) + " / pending: " + with_thousands(place->pending);
}

void show(session& in, const client::message& message, bool raw) {
  if (in.json()) return in.output().print_line(message_as_json(message));
  if (raw) return in.output().print_line(message.payload());
  in.output().print_line(headline(message, in.now()) + "\n");
  if (message.has_headers()) in.output().print("Headers:\n\n" + describe_headers(message) + "\nData:\n\n");
  in.output().print(std::string(message.payload()) + "\n\n");
}

// An acknowledgement is waited for, so that success means that the server has it.
result<void> answer(session& in, client::jetstream_message& message, const consumer_next_arguments& what) {
  std::string_view told = "Acknowledged message";
  result<void> done;
  if (what.term) {
    done = message.term();
    told = "Terminated message";
  } else if (what.nak) {
    done = message.nak();
    told = "Negative Acknowledged message";
  } else if (what.ack) {
    done = in.outcome(message.ack_sync(in.timeout()));
  } else {
    return {};
  }
  if (done && !what.raw && !in.json()) in.output().print_line(std::string(told) + "\n");
  return done;
}

std::unexpected<error> nothing_came(const consumer_next_arguments& what, std::uint64_t received, std::string_view why) {
  const std::string name = what.which.stream + " > " + what.which.name;
  if (received == 0) return fail(errc::timeout, "no message from consumer " + name + std::string(why));
  return fail(errc::timeout, std::to_string(received) + " of " + std::to_string(what.count) +
                                 " messages came from consumer " + name + std::string(why));
}

}  // namespace

result<void> next_messages(session& in, const consumer_next_arguments& what) {
  if (auto good = check_reference(what.which); !good) return good;
  if (what.nak && what.term) return fail(errc::invalid_argument, "--nak and --term exclude each other", "give one");
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  client::jetstream_options settings;
  if (!in.options().domain.empty()) settings.domain(in.options().domain);
  client::jetstream js(*connected, settings);
  auto consumer = js.pull_consumer(what.which.stream, what.which.name);
  for (std::uint64_t received = 0; received < what.count; ++received) {
    auto batch = in.outcome(consumer.fetch(client::fetch_options().batch(1).expires(in.timeout())));
    if (!batch) {
      if (batch.error().code() != errc::no_responders) return std::unexpected(std::move(batch).error());
      return fail(errc::no_responders, "there is no pull consumer " + what.which.stream + " > " + what.which.name,
                  "`tern consumer ls " + what.which.stream + "` shows the consumers");
    }
    if (batch->messages.empty()) {
      if (batch->problem) return std::unexpected(*std::move(batch->problem));
      return nothing_came(what, received, " within " + short_duration(in.timeout()));
    }
    auto& message = batch->messages.front();
    show(in, message.base(), what.raw);
    if (auto shown = in.output().flush(); !shown) return shown;  // not acknowledged when nobody reads it
    if (auto answered = answer(in, message, what); !answered) return answered;
  }
  return in.settle(*connected);
}

}  // namespace tern::command
