#include "command_line.hpp"

#include "command_groups.hpp"
#include "parse.hpp"

#include <sstream>

namespace tern::command {
namespace {

constexpr const char* about =
    "tern: messages, streams and consumers of a NATS server.\n"
    "Results go to the standard output, what happens on the way to the standard error.\n"
    "Exit codes: 0 done, 1 the operation failed, 2 the command line is wrong.";

void add_global_options(CLI::App& app, global_options& into) {
  app.add_option("-s,--server", into.server, "NATS server URLs, separated by commas (NATS_URL)");
  app.add_option("--user", into.user, "User name, or a token when there is no password (NATS_USER)");
  app.add_option("--password", into.password, "Password (NATS_PASSWORD)");
  app.add_option("--token", into.token, "Token (NATS_TOKEN)");
  app.add_option("--creds", into.credentials, "Credentials file; refused by this version (NATS_CREDS)");
  app.add_option("--connection-name", into.connection_name, "Name that the server's monitoring shows");
  app.add_option("--js-domain", into.domain, "JetStream domain to ask");
  add_duration(&app, "--timeout", into.timeout, "How long to wait for an answer (NATS_TIMEOUT)");
  app.add_flag("-j,--json", into.json, "Records as JSON, one a line, as the server sent them");
}

constexpr const char* advice = "Run `tern --help`, or `--help` behind a command.\n";

// Parsed well, but no command was named, or a group without one of its own.
std::string missing_command(const CLI::App& app) {
  std::string group;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    group += " " + at->get_name();
  }
  return "tern: error: a command is missing behind `tern" + group + "`\n" + advice;
}

std::string text_of(const CLI::App& app, const CLI::ParseError& problem, int& exit_code) {
  std::ostringstream out, mistake;
  exit_code = app.exit(problem, out, mistake) == 0 ? 0 : exit_usage;
  std::string text = exit_code == 0 ? out.str() : mistake.str();
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace

CLI::Option* add_duration(CLI::App* to, const std::string& name, nanoseconds& into, const std::string& what) {
  const auto read = [&into, name](const std::string& text) {
    const auto value = parse_duration(text);
    if (!value) throw CLI::ValidationError(name, value.error().message());
    if (value->count() <= 0) throw CLI::ValidationError(name, "'" + text + "' is not above zero");
    into = *value;
  };
  return to->add_option_function<std::string>(name, read, what)->type_name("DURATION");
}

invocation parse_command_line(const std::vector<std::string>& arguments, const global_options& defaults) {
  invocation out;
  out.globals = defaults;
  CLI::App app(about, "tern");
  app.set_version_flag("--version", "tern " TERN_VERSION);
  app.fallthrough();  // the options of all commands may stand anywhere
  app.failure_message([](const CLI::App*, const CLI::Error& problem) {
    return "tern: error: " + std::string(problem.what()) + "\n" + advice;
  });
  add_global_options(app, out.globals);
  add_message_commands(app, out);
  add_stream_commands(app, out);
  add_consumer_commands(app, out);
  add_bench_commands(app, out);
  add_account_commands(app, out);
  add_store_commands(app, out);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // the parser takes them from the back
  } catch (const CLI::ParseError& problem) {
    out.action = nullptr;
    out.said = text_of(app, problem, out.exit_code);
    return out;
  }
  if (!out.action) {
    out.said = missing_command(app);
    out.exit_code = exit_usage;
  }
  return out;
}

int exit_code_of(const error& problem) {
  switch (problem.code()) {
    case errc::invalid_argument:
    case errc::invalid_options:
    case errc::invalid_subject:
    case errc::invalid_header:
    case errc::unsupported:
      return exit_usage;
    default:
      return exit_failed;
  }
}

int run(const std::vector<std::string>& arguments) {
  console output;
  const auto defaults = options_of_environment();
  if (!defaults) {
    output.complain(defaults.error());
    return exit_usage;
  }
  invocation chosen = parse_command_line(arguments, *defaults);
  if (!chosen.action) {
    if (chosen.exit_code == 0)
      output.print(chosen.said);
    else
      output.print_error(chosen.said);
    return chosen.exit_code;
  }
  session in(chosen.globals, output);
  auto done = chosen.action(in);
  auto shown = output.flush();
  if (done) done = std::move(shown);
  if (done) return 0;
  output.complain(done.error());
  return exit_code_of(done.error());
}

}  // namespace tern::command
