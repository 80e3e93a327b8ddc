// What every command works with: the options that all of them share, the connection, time, identifiers and the console.
//
// Owned by run(); commands use it from the main thread, the connection's events come on its loop. Connections are made
// when a command asks for one, so that what is wrong with the command line is said without a server.
#pragma once

#include "base/nuid.hpp"
#include "console.hpp"
#include "runtime/clock.hpp"

#include <tern/client/connection.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace tern::command {

struct global_options {
  std::string server = "nats://127.0.0.1:4222";
  std::string credentials;
  std::string user, password, token;
  std::string connection_name = "tern";
  std::string domain;  // of JetStream; empty: the server's own
  nanoseconds timeout = std::chrono::seconds(5);
  bool json = false;
};

// Values of NATS_URL, NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CREDS and NATS_TIMEOUT where they are set.
result<global_options> options_of_environment();

// What the connections of a session tell. Shared with their callbacks, which may come after the session; the console
// outlives both. Any thread.
class session_events {
 public:
  explicit session_events(console& output) : output_(output) {}

  void refuse(const error& problem);                 // the server said -ERR and kept the connection
  void tell(const client::connection_event& event);  // for people
  void change(const std::function<void()>& what);    // under the lock, then wakes who waits
  bool wait(const std::function<bool()>& done);      // until then, or until something was refused: false
  std::optional<error> refusal();                    // the first one

 private:
  console& output_;
  runtime::real_clock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<error> refused_;
};

class session {
 public:
  enum class lifetime {
    once,    // losing the connection ends the command
    lasting  // it reconnects, and says so
  };

  session(global_options with, console& output);

  const global_options& options() const { return options_; }
  bool json() const { return options_.json; }
  nanoseconds timeout() const { return options_.timeout; }
  console& output() { return output_; }
  time_point now() { return clock_.now(); }
  nuid_source& ids() { return ids_; }
  void note(std::string_view text) { output_.note(now(), text); }

  // errc::connect_failed; errc::unsupported for credentials files.
  result<client::connection> connect(lifetime how = lifetime::once);
  // Waits until the server has processed what was sent, and fails with what it refused of it (permissions).
  result<void> settle(client::connection& connection);
  // The outcome of an operation, or what the server refused meanwhile: a request it does not permit gets no answer.
  template <class T>
  result<T> outcome(client::operation<T> running);
  // What the server refused so far.
  std::optional<error> refusal() { return events_->refusal(); }

 private:
  global_options options_;
  console& output_;
  runtime::real_clock clock_;
  nuid_source ids_;
  std::shared_ptr<session_events> events_;
};

template <class T>
result<T> session::outcome(client::operation<T> running) {
  auto slot = std::make_shared<std::optional<result<T>>>();
  running.then([slot, events = events_](result<T> came) { events->change([&] { slot->emplace(std::move(came)); }); });
  if (events_->wait([&] { return slot->has_value(); })) return std::move(**slot);
  return std::unexpected(*refusal());
}

}  // namespace tern::command
