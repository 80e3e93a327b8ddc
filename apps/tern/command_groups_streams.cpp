#include "command_groups.hpp"
#include "consumers.hpp"
#include "streams.hpp"

namespace tern::command {
namespace {

// Accepted because scripts for `nats` give it; here nothing is ever asked for.
void add_defaults(CLI::App* command) {
  command->add_flag("--defaults")->description("Accepted for scripts of `nats`: what is absent has its default anyway");
}

void add_stream_add(CLI::App& group, invocation& chosen) {
  auto [command, into] = add_command<stream_add_arguments>(group, chosen, "add", "Create a stream", &add_stream);
  command->alias("create");
  command->add_option("stream", into->name, "Name of the stream")->required();
  add_repeated(command, "--subjects", into->subjects, "Subjects it takes; commas separate, may be repeated")
      ->delimiter(',');
  command->add_option("--description", into->description, "What it is for");
  command->add_option("--storage", into->storage, "file or memory")->capture_default_str();
  command->add_option("--retention", into->retention, "limits, interest or work")->capture_default_str();
  command->add_option("--discard", into->discard, "What goes at a limit: old messages, or new ones")
      ->capture_default_str();
  command->add_flag("--discard-per-subject,!--no-discard-per-subject", into->discard_per_subject,
                    "Discard new messages per subject");
  command->add_option("--max-msgs", into->max_messages, "Most messages to keep");
  command->add_option("--max-msgs-per-subject", into->max_messages_per_subject, "Most messages to keep of a subject");
  command->add_option("--max-bytes", into->max_bytes, "Most bytes to keep, like 10MB")->type_name("BYTES");
  command->add_option("--max-age", into->max_age, "Longest time to keep a message, like 7d")->type_name("DURATION");
  command->add_option("--max-msg-size", into->max_message_size, "Largest message to take, like 64k")
      ->type_name("BYTES");
  command->add_option("--max-consumers", into->max_consumers, "Most consumers");
  command->add_option("--dupe-window", into->duplicate_window, "How long message ids are remembered")
      ->type_name("DURATION");
  command->add_option("--replicas", into->replicas, "Replicas in a cluster")->capture_default_str();
  add_defaults(command);
}

void add_stream_reading(CLI::App& group, invocation& chosen) {
  auto [list, what] = add_command<stream_list_arguments>(group, chosen, "ls", "List streams", &list_streams);
  list->alias("list");
  list->add_flag("-n,--names", what->names, "The names alone, a line each");
  list->add_option("--subject", what->subject, "Only streams that take this subject");
  auto [info, which] = add_command<stream_info_arguments>(group, chosen, "info", "Show a stream", &show_stream);
  info->add_option("stream", which->name, "Name of the stream")->required();
  info->add_flag("--state", which->state_only, "Its state alone");
  auto [get, one] = add_command<stream_get_arguments>(group, chosen, "get", "Show a stored message", &get_message);
  get->add_option("stream", one->name, "Name of the stream")->required();
  get->add_option("sequence", one->sequence, "Sequence of the message");
  get->add_option("-S,--last-for", one->last_for, "The last message of this subject instead");
}

void add_stream_removing(CLI::App& group, invocation& chosen) {
  auto [remove, which] = add_command<stream_remove_arguments>(group, chosen, "rm", "Remove a stream", &remove_stream);
  remove->alias("delete");
  remove->add_option("stream", which->name, "Name of the stream")->required();
  remove->add_flag("-f,--force", which->force, "Do it; nothing asks");
  auto [purge, what] = add_command<stream_purge_arguments>(group, chosen, "purge", "Remove messages", &purge_stream);
  purge->add_option("stream", what->name, "Name of the stream")->required();
  purge->add_flag("-f,--force", what->force, "Do it; nothing asks");
  purge->add_option("--subject", what->subject, "Only messages of this subject");
  purge->add_option("--seq", what->sequence, "Only messages below this sequence");
  purge->add_option("--keep", what->keep, "All but the newest so many");
}

void add_consumer_add(CLI::App& group, invocation& chosen) {
  auto [command, into] = add_command<consumer_add_arguments>(group, chosen, "add", "Create a consumer", &add_consumer);
  command->alias("create");
  command->add_option("stream", into->stream, "Name of the stream")->required();
  command->add_option("consumer", into->name, "Name of the consumer");
  command->add_flag("--pull", into->pull, "Clients ask for messages");
  command->add_option("--target", into->target, "Push: deliver to this subject");
  command->add_option("--deliver-group", into->deliver_group, "Push: to one member of this queue group");
  command->add_option("--description", into->description, "What it is for");
  command->add_option("--ack", into->ack, "explicit, all or none");
  command->add_option("--deliver", into->deliver, "Where it starts: all, new, last, subject, a sequence, or 1h ago")
      ->capture_default_str();
  add_repeated(command, "--filter", into->filters, "Only messages of this subject; may be repeated");
  command->add_option("--wait", into->wait, "Time to acknowledge a message in")->type_name("DURATION");
  command->add_option("--max-deliver", into->max_deliver, "Deliveries of a message, at most");
  command->add_option("--max-pending", into->max_pending, "Messages without acknowledgement, at most");
  command->add_option("--max-waiting", into->max_waiting, "Pull requests that may wait");
  command->add_option("--inactive-threshold", into->inactive_threshold, "Remove it after so long without use")
      ->type_name("DURATION");
  command->add_option("--backoff", into->backoff, "Waits between deliveries: none, linear, or 1s,5s,30s")
      ->capture_default_str();
  command->add_option("--backoff-steps", into->backoff_steps, "Steps of a linear backoff")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--backoff-min", into->backoff_shortest, "Shortest wait of a linear backoff")
      ->capture_default_str();
  command->add_option("--backoff-max", into->backoff_longest, "Longest wait of a linear backoff")
      ->capture_default_str();
  command->add_flag("--ephemeral", into->ephemeral, "It goes when it is not used");
  command->add_flag("--headers-only,!--no-headers-only", into->headers_only, "Deliver no payloads");
  command->add_flag("--memory", into->memory, "Keep its state in memory only");
  add_defaults(command);
}

template <class Reference>
void add_reference(CLI::App* command, Reference& into) {
  command->add_option("stream", into.stream, "Name of the stream")->required();
  command->add_option("consumer", into.name, "Name of the consumer")->required();
}

void add_consumer_rest(CLI::App& group, invocation& chosen) {
  auto [list, what] = add_command<consumer_list_arguments>(group, chosen, "ls", "List consumers", &list_consumers);
  list->alias("list");
  list->add_option("stream", what->stream, "Name of the stream")->required();
  list->add_flag("-n,--names", what->names, "The names alone, a line each");
  auto [info, which] = add_command<consumer_reference>(group, chosen, "info", "Show a consumer", &show_consumer);
  add_reference(info, *which);
  auto [remove, gone] =
      add_command<consumer_remove_arguments>(group, chosen, "rm", "Remove a consumer", &remove_consumer);
  remove->alias("delete");
  add_reference(remove, gone->which);
  remove->add_flag("-f,--force", gone->force, "Do it; nothing asks");
  auto [next, pull] =
      add_command<consumer_next_arguments>(group, chosen, "next", "Take messages from a pull consumer", &next_messages);
  add_reference(next, pull->which);
  next->add_option("--count", pull->count, "How many messages, one after the other")->check(CLI::PositiveNumber);
  next->add_flag("-r,--raw", pull->raw, "The payloads alone, a line each");
  next->add_flag("--ack,!--no-ack", pull->ack, "Acknowledge them (default), or not");
  next->add_flag("--nak", pull->nak, "Give them back: delivered again at once");
  next->add_flag("--term", pull->term, "Give them up: never delivered again");
}

}  // namespace

void add_stream_commands(CLI::App& app, invocation& chosen) {
  CLI::App* group = app.add_subcommand("stream", "Streams: add, ls, info, get, purge, rm");
  group->alias("str");
  add_stream_add(*group, chosen);
  add_stream_reading(*group, chosen);
  add_stream_removing(*group, chosen);
}

void add_consumer_commands(CLI::App& app, invocation& chosen) {
  CLI::App* group = app.add_subcommand("consumer", "Consumers of a stream: add, ls, info, next, rm");
  group->alias("con");
  add_consumer_add(*group, chosen);
  add_consumer_rest(*group, chosen);
}

}  // namespace tern::command
