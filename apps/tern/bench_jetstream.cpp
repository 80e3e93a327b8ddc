// tern bench js pub
#include "api.hpp"
#include "bench.hpp"
#include "bench_clients.hpp"
#include "parse.hpp"

#include <tern/client/jetstream.hpp>

#include <memory>
#include <optional>

namespace tern::command {
namespace {

// What the acknowledgements of one client said; written on its connection's loop, read when none is open any more.
struct acknowledged {
  histogram took;
  std::uint64_t failed = 0;
  std::optional<error> first_failure;

  void take(const result<client::pub_ack>& ack, nanoseconds after) {
    if (ack) return took.record(static_cast<std::uint64_t>(after.count()));
    if (failed++ == 0) first_failure = ack.error();
  }
};

// The stream that takes the subject, made first when that is asked for.
result<client::stream_info> find_stream(session& in, jetstream_api& api, const bench_jetstream_arguments& what) {
  const auto storage = parse_storage(what.storage);
  if (!storage) return std::unexpected(storage.error());
  if (what.create) {
    client::stream_config config;
    config.name = what.stream;
    config.subjects = {what.base.subject};
    config.storage = *storage;
    if (what.persist_async) config.persist_mode = "async";
    if (auto made = api.call("STREAM.CREATE." + what.stream, codec::to_json(config)); !made)
      return std::unexpected(std::move(made).error().within("stream " + what.stream));
  }
  const auto names = api.list("STREAM.NAMES", what.base.subject);
  if (!names) return std::unexpected(names.error());
  if (names->empty()) {
    return fail(errc::no_stream_for_subject, "no stream takes '" + what.base.subject + "'",
                "--create makes one, or `tern stream add`");
  }
  const auto name = codec::read_json<std::string>(names->front());
  if (!name) return std::unexpected(name.error());
  if (what.purge) {
    if (auto purged = api.call("STREAM.PURGE." + *name); !purged) return std::unexpected(std::move(purged).error());
  }
  if (!in.json()) in.note("Using stream: " + *name);
  return api.read<client::stream_info>("STREAM.INFO." + *name);
}

result<void> publish_share(session& in, client::jetstream& js, const bench_jetstream_arguments& what,
                           std::string_view payload, std::uint64_t share, acknowledged& seen) {
  for (std::uint64_t number = 0; number < share; ++number) {
    const time_point begun = in.now();
    if (what.batch == 1) {
      const auto ack = js.publish(what.base.subject, payload).get();
      seen.take(ack, in.now() - begun);
    } else if (auto sent = js.publish_async(
                   what.base.subject, payload,
                   [&in, &seen, begun](const result<client::pub_ack>& ack) { seen.take(ack, in.now() - begun); });
               !sent) {
      return sent;
    }
    if (what.batch == 1 && seen.first_failure) break;
  }
  return js.publish_async_complete().get();
}

}  // namespace

result<void> bench_jetstream_publish(session& in, const bench_jetstream_arguments& what) {
  if (auto good = check_name("stream", what.stream); !good) return good;
  const auto payload = bench_payload(in, what.base.size);
  if (!payload) return std::unexpected(payload.error());
  bench_result found;
  {
    auto connected = in.connect();
    if (!connected) return std::unexpected(std::move(connected).error());
    jetstream_api api(in, *connected);
    const auto stream = find_stream(in, api, what);
    if (!stream) return std::unexpected(stream.error());
    found.stream = stream->config.name;
    found.durability = durability_of(stream->config);
  }
  found.benchmark = what.batch == 1 ? "JetStream synchronous publisher" : "JetStream asynchronous publisher";
  found.messages = what.base.messages;
  found.message_size = payload->size();
  std::vector<acknowledged> seen(what.base.clients);
  const auto job = [&](client::connection& connection, std::uint32_t index) -> result<bench_span> {
    client::jetstream js(connection, client::jetstream_options().publish_window(what.batch));
    bench_span span{in.now(), {}};
    auto done =
        publish_share(in, js, what, *payload, share_of(what.base.messages, index, what.base.clients), seen[index]);
    if (!done) return std::unexpected(std::move(done).error());
    span.ended = in.now();
    return span;
  };
  if (auto ran = run_clients(in, what.base.clients, job, found); !ran) return ran;
  std::uint64_t failed = 0;
  std::optional<error> first_failure;
  for (const acknowledged& own : seen) {
    found.acknowledgement.merge(own.took);
    failed += own.failed;
    if (!first_failure) first_failure = own.first_failure;
  }
  if (first_failure) {
    return std::unexpected(std::move(*first_failure)
                               .within(std::to_string(failed) + " of " + std::to_string(what.base.messages) +
                                       " messages were not acknowledged; the first one"));
  }
  if (in.json())
    in.output().print_line(bench_as_json(found));
  else
    in.output().print(describe_bench(found));
  return {};
}

}  // namespace tern::command
