#include "account.hpp"
#include "bench.hpp"
#include "command_groups.hpp"

namespace tern::command {
namespace {

constexpr std::uint32_t clients_max = 256;  // one thread and one connection each
constexpr std::uint32_t batch_max = 1'000'000;

// Of the `nats` command, whose progress bar has no counterpart here.
void add_progress(CLI::App* command) {
  command->add_flag("--no-progress,--progress")
      ->description("Accepted for scripts of `nats`: there is no progress bar");
}

void add_common(CLI::App* command, bench_arguments& into) {
  command->add_option("subject", into.subject, "Subject to use")->required();
  command->add_option("--msgs", into.messages, "How many messages")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--clients", into.clients, "Connections, each with its own thread")
      ->check(CLI::Range(std::uint32_t{1}, clients_max))
      ->capture_default_str();
  add_progress(command);
}

void add_size(CLI::App* command, std::string& into) {
  command->add_option("--size", into, "Size of each payload")->type_name("BYTES")->capture_default_str();
}

void add_jetstream(CLI::App& bench, invocation& chosen) {
  CLI::App* group = bench.add_subcommand("js", "Streams");
  auto [command, into] = add_command<bench_jetstream_arguments>(
      *group, chosen, "pub", "Publish to a stream, waiting for acknowledgements", &bench_jetstream_publish);
  add_common(command, into->base);
  add_size(command, into->base.size);
  command->add_option("--batch", into->batch, "Acknowledgements that each client lets stand open; 1 waits for each")
      ->check(CLI::Range(std::uint32_t{1}, batch_max))
      ->capture_default_str();
  command->add_flag("--create", into->create, "Make the stream first");
  command->add_flag("--purge", into->purge, "Empty the stream first");
  command->add_option("--stream", into->stream, "Name of the stream that --create makes")->capture_default_str();
  command->add_option("--storage", into->storage, "Storage of the stream that --create makes: file or memory")
      ->capture_default_str();
  command->add_flag("--persistasync", into->persist_async,
                    "The stream that --create makes acknowledges before it is on disk");
}

struct no_arguments {};
struct round_trip_arguments {
  std::uint64_t times = 1;
};

void add_round_trip(CLI::App& group, invocation& chosen, const std::string& name) {
  auto [command, into] = add_command<round_trip_arguments>(
      group, chosen, name, "Measure the round trip to the server",
      [](session& in, const round_trip_arguments& what) { return measure_round_trip(in, what.times); });
  command->add_option("iterations", into->times, "How many")->check(CLI::PositiveNumber)->capture_default_str();
}

}  // namespace

void add_bench_commands(CLI::App& app, invocation& chosen) {
  CLI::App* group = app.add_subcommand("bench", "Measure a server: pub, sub, js pub");
  auto [publisher, out] = add_command<bench_arguments>(*group, chosen, "pub", "Publish messages", &bench_publish);
  add_common(publisher, *out);
  add_size(publisher, out->size);
  auto [subscriber, in] = add_command<bench_arguments>(*group, chosen, "sub", "Receive messages", &bench_subscribe);
  add_common(subscriber, *in);
  add_size(subscriber, in->size);
  add_jetstream(*group, chosen);
}

void add_account_commands(CLI::App& app, invocation& chosen) {
  CLI::App* account = app.add_subcommand("account", "The account of this connection");
  add_command<no_arguments>(*account, chosen, "info", "Show the connection and what the account uses",
                            [](session& in, const no_arguments&) { return show_account(in); });
  add_round_trip(app, chosen, "rtt");
  CLI::App* server = app.add_subcommand("server", "The server");
  add_round_trip(*server, chosen, "ping");
}

}  // namespace tern::command
