#include "command_groups.hpp"
#include "messages.hpp"

namespace tern::command {
namespace {

constexpr const char* templates_help =
    "Take placeholders literally: {{Count}} {{Time}} {{TimeStamp}} {{Unix}} {{UnixNano}} {{ID}} {{Random MIN MAX}}";

void add_body(CLI::App* command, std::optional<std::string>& into, const char* what) {
  command->add_option("body", into, what);
}

void add_headers(CLI::App* command, std::vector<std::string>& into) {
  add_repeated(command, "-H,--header", into, "A header of the message, NAME:VALUE; may be repeated");
}

void add_publish(CLI::App& app, invocation& chosen) {
  auto [command, into] = add_command<publish_arguments>(app, chosen, "pub", "Publish messages", &publish);
  command->alias("publish");
  command->add_option("subject", into->subject, "Subject to publish to")->required();
  add_body(command, into->body, "Message body; the standard input when it is absent");
  command->add_option("--count", into->count, "How many messages")->check(CLI::PositiveNumber);
  add_headers(command, into->headers);
  command->add_option("--reply", into->reply, "Reply subject of the messages");
  command->add_flag("-J,--jetstream", into->jetstream, "Wait until the stream has acknowledged each message");
  command->add_flag("-q,--quiet", into->quiet, "Say nothing about what was sent");
  command->add_flag("!--no-templates,--templates", into->templates, templates_help);
}

void add_subscribe(CLI::App& app, invocation& chosen) {
  auto [command, into] = add_command<subscribe_arguments>(app, chosen, "sub", "Show messages as they come", &subscribe);
  command->alias("subscribe");
  command->add_option("subject", into->subject, "Subject, may have wildcards")->required();
  command->add_option("--queue", into->queue_group, "Share the messages with the members of this queue group");
  command->add_option("--count", into->count, "End after so many messages");
  command->add_flag("-r,--raw", into->raw, "The payloads alone, a line each");
  command->add_flag("--headers-only", into->headers_only, "No payloads");
}

void add_request(CLI::App& app, invocation& chosen) {
  auto [command, into] =
      add_command<request_arguments>(app, chosen, "req", "Send a request, show the answer", &request);
  command->alias("request");
  command->add_option("subject", into->subject, "Subject to ask on")->required();
  add_body(command, into->body, "Request body; the standard input when it is absent");
  command->add_option("--count", into->count, "How many requests")->check(CLI::PositiveNumber);
  command->add_option("--replies", into->replies, "Answers to wait for; 0 takes all until the timeout");
  add_duration(command, "--reply-timeout", into->reply_timeout, "Longest time between several answers");
  add_headers(command, into->headers);
  command->add_flag("-r,--raw", into->raw, "The answers' payloads alone");
  command->add_flag("!--no-templates,--templates", into->templates, templates_help);
}

void add_reply(CLI::App& app, invocation& chosen) {
  auto [command, into] = add_command<reply_arguments>(app, chosen, "reply", "Answer requests", &reply);
  command->add_option("subject", into->subject, "Subject to answer on")->required();
  add_body(command, into->body, "The answer; {{Request}} stands for the request's body");
  command->add_flag("--echo", into->echo, "Answer with what was received");
  command->add_option("-q,--queue", into->queue_group, "Queue group")->capture_default_str();
  command->add_option("--count", into->count, "End after so many requests");
  add_headers(command, into->headers);
  command->add_flag("!--no-templates,--templates", into->templates, templates_help);
}

}  // namespace

void add_message_commands(CLI::App& app, invocation& chosen) {
  add_publish(app, chosen);
  add_subscribe(app, chosen);
  add_request(app, chosen);
  add_reply(app, chosen);
}

}  // namespace tern::command
