#include "session.hpp"

#include "parse.hpp"
#include "runtime/host/process.hpp"
#include "runtime/random.hpp"
#include "text.hpp"

#include <utility>

namespace tern::command {
namespace {

std::uint64_t seed() { return runtime::real_random().next(); }

}  // namespace

void session_events::refuse(const error& problem) {
  change([&] {
    if (!refused_) refused_ = problem;
  });
}

void session_events::change(const std::function<void()>& what) {
  std::lock_guard lock(mutex_);
  what();
  changed_.notify_all();
}

bool session_events::wait(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done() || refused_; });
  return done();
}

std::optional<error> session_events::refusal() {
  std::lock_guard lock(mutex_);
  return refused_;
}

void session_events::tell(const client::connection_event& event) {
  using kind = client::connection_event::kind;
  const auto note = [this](const std::string& text) { output_.note(clock_.now(), text); };
  if (event.what == kind::disconnected) note("Disconnected from " + event.server + ": " + event.reason.message());
  if (event.what == kind::reconnected) {
    note("Reconnected to " + event.server + " after " + short_duration(event.gap) +
         "; messages of that time are missing");
  }
  if (event.what == kind::slow_consumer) note("Too slow for '" + event.subject + "': messages were dropped");
}

result<global_options> options_of_environment() {
  using runtime::host::environment_variable;
  global_options out;
  out.server = environment_variable("NATS_URL").value_or(out.server);
  if (out.server.empty()) out.server = global_options().server;
  out.user = environment_variable("NATS_USER").value_or("");
  out.password = environment_variable("NATS_PASSWORD").value_or("");
  out.token = environment_variable("NATS_TOKEN").value_or("");
  out.credentials = environment_variable("NATS_CREDS").value_or("");
  if (const auto text = environment_variable("NATS_TIMEOUT"); text && !text->empty()) {
    const auto timeout = parse_duration(*text);
    if (!timeout || timeout->count() <= 0)
      return fail(errc::invalid_argument, "NATS_TIMEOUT is '" + *text + "'", "a duration like 5s is needed");
    out.timeout = *timeout;
  }
  return out;
}

session::session(global_options with, console& output)
    : options_(std::move(with)), output_(output), ids_(seed()), events_(std::make_shared<session_events>(output)) {}

result<client::connection> session::connect(lifetime how) {
  if (!options_.credentials.empty()) {
    return fail(errc::unsupported, "credentials files are not supported by this version of tern",
                "use --user and --password or --token, and unset NATS_CREDS");
  }
  client::options settings(options_.server);
  settings.name(options_.connection_name).connect_timeout(options_.timeout).request_timeout(options_.timeout);
  settings.jetstream_api_timeout(options_.timeout)
      .publish_ack_timeout(options_.timeout)
      .drain_timeout(options_.timeout);
  if (!options_.user.empty()) {
    // As with the `nats` command, a user without a password is a token.
    if (options_.password.empty())
      settings.token(options_.user);
    else
      settings.user(options_.user, options_.password);
  }
  if (!options_.token.empty()) settings.token(options_.token);
  if (how == lifetime::once) settings.max_reconnects(0);
  settings.on_event([shared = events_, how](const client::connection_event& event) {
    if (event.what == client::connection_event::kind::server_error) shared->refuse(event.reason);
    if (how == lifetime::lasting) shared->tell(event);
  });
  auto connected = client::connection::connect(settings).get();
  if (connected || connected.error().code() != errc::connect_failed) return connected;
  const std::string text = "cannot connect: " + connected.error().message();
  const bool unknown_user = text.find("Authorization") != text.npos || text.find("authorization") != text.npos;
  return fail(errc::connect_failed, text,
              unknown_user ? "give --user and --password, or --token"
                           : "is a server running there? --server names another one");
}

result<void> session::settle(client::connection& connection) {
  auto flushed = connection.flush(options_.timeout).get();
  if (auto why = refusal()) return std::unexpected(*std::move(why));
  return flushed;
}

}  // namespace tern::command
