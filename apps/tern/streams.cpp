#include "streams.hpp"

#include "api.hpp"
#include "message_view.hpp"
#include "parse.hpp"
#include "stream_report.hpp"
#include "text.hpp"

#include <algorithm>

namespace tern::command {
namespace {

// STREAM.MSG.GET's own record: header block and payload are base64.
struct stored_record {
  struct stored {
    std::string subject;
    std::uint64_t seq = 0;
    codec::json_bytes hdrs;
    codec::json_bytes data;
    std::string time;
  };
  stored message;
};

struct purge_answer {
  std::uint64_t purged = 0;
};

result<void> set_limits(client::stream_config& config, const stream_add_arguments& what) {
  config.max_msgs = what.max_messages;
  config.max_msgs_per_subject = what.max_messages_per_subject;
  config.max_consumers = what.max_consumers;
  if (what.max_bytes) {
    auto size = parse_size(*what.max_bytes);
    if (!size) return std::unexpected(std::move(size).error().within("--max-bytes"));
    config.max_bytes = *size;
  }
  if (what.max_message_size) {
    auto size = parse_size(*what.max_message_size);
    if (!size) return std::unexpected(std::move(size).error().within("--max-msg-size"));
    if (*size > std::numeric_limits<std::int32_t>::max())
      return fail(errc::invalid_argument, "--max-msg-size: at most 2147483647 bytes");
    config.max_msg_size = static_cast<std::int32_t>(*size);
  }
  const auto set_duration = [](std::optional<nanoseconds>& into, const std::optional<std::string>& text,
                               std::string_view option) -> result<void> {
    if (!text) return {};
    auto value = parse_duration(*text);
    if (!value) return std::unexpected(std::move(value).error().within(option));
    into = *value;
    return {};
  };
  if (auto set = set_duration(config.max_age, what.max_age, "--max-age"); !set) return set;
  return set_duration(config.duplicate_window, what.duplicate_window, "--dupe-window");
}

std::unexpected<error> needs_force(std::string_view what) {
  return fail(errc::invalid_argument, std::string(what) + " cannot be undone", "add -f to do it");
}

}  // namespace

result<client::stream_config> stream_config_of(const stream_add_arguments& what) {
  if (auto good = check_name("stream", what.name); !good) return std::unexpected(good.error());
  if (what.subjects.empty())
    return fail(errc::invalid_argument, "a stream needs subjects", "for example --subjects 'orders.>'");
  const auto storage = parse_storage(what.storage);
  if (!storage) return std::unexpected(storage.error());
  const auto retention = parse_retention(what.retention);
  if (!retention) return std::unexpected(retention.error());
  const auto discard = parse_discard(what.discard);
  if (!discard) return std::unexpected(discard.error());
  client::stream_config config;
  config.name = what.name;
  config.subjects = what.subjects;
  config.description = what.description;
  config.storage = *storage;
  config.retention = *retention;
  config.discard = *discard;
  if (what.discard_per_subject) config.discard_new_per_subject = true;
  config.num_replicas = what.replicas;
  config.allow_direct = true;  // as the `nats` command makes them
  if (auto set = set_limits(config, what); !set) return std::unexpected(set.error());
  return config;
}

result<void> add_stream(session& in, const stream_add_arguments& what) {
  const auto config = stream_config_of(what);
  if (!config) return std::unexpected(config.error());
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("STREAM.CREATE." + what.name, codec::to_json(*config));
  if (!answer) return std::unexpected(std::move(answer).error().within("stream " + what.name));
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto made = codec::read_json<client::stream_info>(*answer);
  if (!made) return std::unexpected(made.error());
  in.output().print("Stream " + what.name + " was created\n\n" + describe_stream(*made));
  return {};
}

result<void> list_streams(session& in, const stream_list_arguments& what) {
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto elements = jetstream_api(in, *connected).list(what.names ? "STREAM.NAMES" : "STREAM.LIST", what.subject);
  if (!elements) return std::unexpected(std::move(elements).error());
  if (what.names) std::ranges::sort(*elements);
  if (in.json()) return in.output().print_line(json_array(*elements)), result<void>();
  std::vector<client::stream_info> streams;
  for (const std::string& element : *elements) {
    if (what.names) {
      in.output().print_line(std::string_view(element).substr(1, element.size() - 2));  // names need no escapes
      continue;
    }
    auto one = codec::read_json<client::stream_info>(element);
    if (!one) return std::unexpected(std::move(one).error());
    streams.push_back(*std::move(one));
  }
  if (what.names) return {};
  if (streams.empty())
    in.output().print_line(what.subject.empty() ? "No Streams defined" : "No Streams match");
  else
    in.output().print(describe_streams(std::move(streams), in.now()));
  return {};
}

result<void> show_stream(session& in, const stream_info_arguments& what) {
  if (auto good = check_name("stream", what.name); !good) return good;
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("STREAM.INFO." + what.name);
  if (!answer) return std::unexpected(std::move(answer).error().within("stream " + what.name));
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto found = codec::read_json<client::stream_info>(*answer);
  if (!found) return std::unexpected(found.error());
  in.output().print(what.state_only ? describe_stream_state(*found) : describe_stream(*found));
  return {};
}

result<void> remove_stream(session& in, const stream_remove_arguments& what) {
  if (auto good = check_name("stream", what.name); !good) return good;
  if (!what.force) return needs_force("removing stream " + what.name + " with all its messages");
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("STREAM.DELETE." + what.name);
  if (!answer) return std::unexpected(std::move(answer).error().within("stream " + what.name));
  if (in.json()) in.output().print_line(*answer);
  return {};
}

result<void> purge_stream(session& in, const stream_purge_arguments& what) {
  if (auto good = check_name("stream", what.name); !good) return good;
  if (what.sequence && what.keep)
    return fail(errc::invalid_argument, "--seq and --keep exclude each other", "give one of them");
  if (!what.force) return needs_force("removing messages from stream " + what.name);
  client::purge_options body;
  if (!what.subject.empty()) body.filter = what.subject;
  body.seq = what.sequence;
  body.keep = what.keep;
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  jetstream_api api(in, *connected);
  auto answer = api.call("STREAM.PURGE." + what.name, codec::to_json(body));
  if (!answer) return std::unexpected(std::move(answer).error().within("stream " + what.name));
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto purged = codec::read_json<purge_answer>(*answer);
  if (!purged) return std::unexpected(purged.error());
  in.output().print("Purged " + with_thousands(purged->purged) + " messages from " + what.name + "\n\n");
  const auto now = api.read<client::stream_info>("STREAM.INFO." + what.name);
  if (!now) return std::unexpected(now.error());
  in.output().print(describe_stream_state(*now));
  return {};
}

result<void> get_message(session& in, const stream_get_arguments& what) {
  if (auto good = check_name("stream", what.name); !good) return good;
  if ((what.sequence == 0) == what.last_for.empty())
    return fail(errc::invalid_argument, "which message?", "give its sequence, or --last-for SUBJECT");
  client::message_query body;
  if (what.last_for.empty())
    body.seq = what.sequence;
  else
    body.last_by_subj = what.last_for;
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("STREAM.MSG.GET." + what.name, codec::to_json(body));
  if (!answer) {
    const std::string which = what.last_for.empty() ? "#" + std::to_string(what.sequence) : " " + what.last_for;
    return std::unexpected(std::move(answer).error().within("message " + what.name + which));
  }
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto got = codec::read_json<stored_record>(*answer);
  if (!got) return std::unexpected(got.error());
  const auto& stored = got->message;
  const auto at = parse_rfc3339(stored.time);
  in.output().print("Item: " + what.name + "#" + std::to_string(stored.seq) + " received " + stored.time +
                    (at ? " (" + short_duration(in.now() - *at) + " ago)" : "") + " on Subject " + stored.subject +
                    "\n\n");
  if (!stored.hdrs.value.empty()) {
    client::message with_headers;
    with_headers.assign(stored.subject, {}, stored.hdrs.value, {});
    in.output().print("Headers:\n\n" + describe_headers(with_headers) + "\n");
  }
  in.output().print_line(stored.data.value);
  return {};
}

}  // namespace tern::command
