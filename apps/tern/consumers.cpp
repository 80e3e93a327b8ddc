#include "consumers.hpp"

#include "api.hpp"
#include "consumer_report.hpp"
#include "parse.hpp"

#include <algorithm>

namespace tern::command {
namespace {

struct create_request {
  std::string stream_name;
  client::consumer_config config;
  std::string action = "create";  // one of that name with another configuration is refused, not changed
};

result<void> set_duration(std::optional<nanoseconds>& into, const std::optional<std::string>& text,
                          std::string_view option) {
  if (!text) return {};
  auto value = parse_duration(*text);
  if (!value) return std::unexpected(std::move(value).error().within(option));
  into = *value;
  return {};
}

result<void> set_delivery(client::consumer_config& config, const consumer_add_arguments& what, time_point now) {
  if (what.pull != what.target.empty()) {
    return fail(errc::invalid_argument, "is it a pull or a push consumer?",
                "give --pull, or --target SUBJECT for push");
  }
  if (!what.pull) config.deliver_subject = what.target;
  if (!what.deliver_group.empty()) config.deliver_group = what.deliver_group;
  const auto ack = parse_ack(!what.ack.empty() ? what.ack : what.pull ? "explicit" : "none");
  if (!ack) return std::unexpected(ack.error());
  config.ack_policy = *ack;
  return apply_deliver(config, what.deliver, now);
}

result<void> set_redelivery(client::consumer_config& config, const consumer_add_arguments& what) {
  if (auto set = set_duration(config.ack_wait, what.wait, "--wait"); !set) return set;
  const auto shortest = parse_duration(what.backoff_shortest), longest = parse_duration(what.backoff_longest);
  if (!shortest) return std::unexpected(shortest.error());
  if (!longest) return std::unexpected(longest.error());
  auto backoff = parse_backoff(what.backoff, what.backoff_steps, *shortest, *longest);
  if (!backoff) return std::unexpected(std::move(backoff).error());
  config.backoff = *std::move(backoff);
  config.max_deliver = what.max_deliver;
  return {};
}

// CONSUMER.CREATE.<stream>[.<name>[.<filter>]] (jetstream 12.1).
std::string create_operation(const consumer_add_arguments& what, const client::consumer_config& config) {
  std::string out = "CONSUMER.CREATE." + what.stream;
  if (what.name.empty()) return out;
  out += "." + what.name;
  if (config.filter_subject) out += "." + *config.filter_subject;
  return out;
}

}  // namespace

result<void> check_reference(const consumer_reference& what) {
  if (auto good = check_name("stream", what.stream); !good) return good;
  return check_name("consumer", what.name);
}

result<client::consumer_config> consumer_config_of(const consumer_add_arguments& what, time_point now) {
  if (auto good = check_name("stream", what.stream); !good) return std::unexpected(good.error());
  if (what.name.empty() && !what.ephemeral)
    return fail(errc::invalid_argument, "a durable consumer needs a name", "give one, or --ephemeral");
  if (!what.name.empty()) {
    if (auto good = check_name("consumer", what.name); !good) return std::unexpected(good.error());
  }
  client::consumer_config config;
  if (!what.name.empty()) config.name = what.name;
  if (!what.ephemeral) config.durable_name = what.name;
  config.description = what.description;
  if (auto set = set_delivery(config, what, now); !set) return std::unexpected(set.error());
  if (auto set = set_redelivery(config, what); !set) return std::unexpected(set.error());
  if (auto set = set_duration(config.inactive_threshold, what.inactive_threshold, "--inactive-threshold"); !set)
    return std::unexpected(set.error());
  if (what.filters.size() == 1)
    config.filter_subject = what.filters.front();
  else
    config.filter_subjects = what.filters;
  config.max_ack_pending = what.max_pending;
  config.max_waiting = what.max_waiting;
  if (what.headers_only) config.headers_only = true;
  if (what.memory) config.mem_storage = true;
  return config;
}

result<void> add_consumer(session& in, const consumer_add_arguments& what) {
  auto config = consumer_config_of(what, in.now());
  if (!config) return std::unexpected(std::move(config).error());
  create_request body{what.stream, *config, "create"};
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call(create_operation(what, *config), codec::to_json(body));
  if (!answer) return std::unexpected(std::move(answer).error().within("consumer " + what.stream + " > " + what.name));
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto made = codec::read_json<client::consumer_info>(*answer);
  if (!made) return std::unexpected(made.error());
  in.output().print(describe_consumer(*made));
  return {};
}

result<void> list_consumers(session& in, const consumer_list_arguments& what) {
  if (auto good = check_name("stream", what.stream); !good) return good;
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  const std::string operation = (what.names ? "CONSUMER.NAMES." : "CONSUMER.LIST.") + what.stream;
  auto elements = jetstream_api(in, *connected).list(operation);
  if (!elements) return std::unexpected(std::move(elements).error().within("stream " + what.stream));
  if (what.names) std::ranges::sort(*elements);
  if (in.json()) return in.output().print_line(json_array(*elements)), result<void>();
  std::vector<client::consumer_info> consumers;
  for (const std::string& element : *elements) {
    if (what.names) {
      in.output().print_line(std::string_view(element).substr(1, element.size() - 2));  // names need no escapes
      continue;
    }
    auto one = codec::read_json<client::consumer_info>(element);
    if (!one) return std::unexpected(std::move(one).error());
    consumers.push_back(*std::move(one));
  }
  if (what.names) return {};
  if (consumers.empty())
    in.output().print_line("No Consumers defined");
  else
    in.output().print(describe_consumers(std::move(consumers), in.now()));
  return {};
}

result<void> show_consumer(session& in, const consumer_reference& what) {
  if (auto good = check_reference(what); !good) return good;
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("CONSUMER.INFO." + what.stream + "." + what.name);
  if (!answer) return std::unexpected(std::move(answer).error().within("consumer " + what.stream + " > " + what.name));
  if (in.json()) return in.output().print_line(*answer), result<void>();
  const auto found = codec::read_json<client::consumer_info>(*answer);
  if (!found) return std::unexpected(found.error());
  in.output().print(describe_consumer(*found));
  return {};
}

result<void> remove_consumer(session& in, const consumer_remove_arguments& what) {
  const auto& [stream, name] = what.which;
  if (auto good = check_reference(what.which); !good) return good;
  if (!what.force) {
    return fail(errc::invalid_argument, "removing consumer " + name + " forgets what it has delivered",
                "add -f to do it");
  }
  auto connected = in.connect();
  if (!connected) return std::unexpected(std::move(connected).error());
  auto answer = jetstream_api(in, *connected).call("CONSUMER.DELETE." + stream + "." + name);
  if (!answer) return std::unexpected(std::move(answer).error().within("consumer " + stream + " > " + name));
  if (in.json()) in.output().print_line(*answer);
  return {};
}

}  // namespace tern::command
