#include <tern/service/app.hpp>

#include "runtime/host/signals.hpp"
#include "service/app_core.hpp"
#include "service/coroutines.hpp"

#include <boost/asio/co_spawn.hpp>

#include <cstdio>

namespace tern::service {
namespace detail {

std::unique_ptr<app_definition> new_definition(std::string name, std::string version) {
  auto made = std::make_unique<app_definition>();
  made->name = std::move(name);
  made->version = std::move(version);
  return made;
}

namespace {

// What a running_app's handles share: the last one to go ends the loop without a drain.
struct running_guard {
  std::unique_ptr<owned_loop> loop;
  std::shared_ptr<app_core> core;
  ~running_guard() {
    if (!loop) return;
    loop->loop().shard->post([core = core] { core->abandon(); });
    loop->stop();
  }
};

std::string describe_source(const registration& what) {
  if (const auto* from = std::get_if<jetstream_consumer>(&what.from)) {
    return "jetstream " + from->stream() + (from->durable().empty() ? " ephemeral" : " durable " + from->durable());
  }
  return std::holds_alternative<core>(what.from) ? "core" : "core pattern";
}

}  // namespace
}  // namespace detail

std::string_view to_word(health_status status) {
  switch (status) {
    case health_status::running:
      return "running";
    case health_status::shutting_down:
      return "shutting_down";
    case health_status::stopped:
      return "stopped";
    case health_status::failed:
      return "failed";
    case health_status::degraded:
      return "degraded";
  }
  return "unknown";
}

app::app(std::unique_ptr<detail::app_definition> definition) : definition_(std::move(definition)) {}
app::app(app&&) noexcept = default;
app& app::operator=(app&&) noexcept = default;
app::~app() = default;

const std::string& app::name() const { return definition_->name; }

std::string app::describe() const {
  std::string text = definition_->name + " " + definition_->version + "\n";
  for (const auto& broker : definition_->brokers) {
    text += "broker " + broker.name + "\n";
    for (const auto& each : broker.registrations) {
      text += "  " + each.options.name + "  subject " + each.subject() + "  " + detail::describe_source(each) +
              "  workers " + std::to_string(each.options.workers);
      if (each.options.batch) text += "  batch " + std::to_string(*each.options.batch);
      if (each.options.max_attempts) text += "  max_attempts " + std::to_string(*each.options.max_attempts);
      if (!each.options.dead_letter.empty()) text += "  dead_letter " + each.options.dead_letter;
      for (const auto& reply : each.replies)
        text += "  reply " + (reply.subject.empty() ? "to the inbox" : reply.subject);
      text += "\n";
    }
  }
  return text;
}

client::operation<running_app> app::start() {
  auto guard = std::make_shared<detail::running_guard>();
  guard->loop = std::make_unique<detail::owned_loop>();
  guard->core = std::make_shared<detail::app_core>(std::move(definition_), guard->loop->loop());
  auto waiter = std::make_shared<client::detail::operation_state<running_app>>(guard->loop->loop().shard);
  guard->loop->loop().shard->post([guard, waiter] {
    boost::asio::co_spawn(
        guard->core->executor(), guard->core->start_up(),
        [guard, waiter](std::exception_ptr problem, result<void> done) {
          if (problem) done = fail(errc::handler_failed, "a start-up hook threw");
          if (done) {
            waiter->complete(running_app(std::shared_ptr<detail::app_core>(guard, guard->core.get())));
          } else {
            waiter->complete(std::unexpected(std::move(done).error()));
          }
        });
  });
  guard->loop->start();
  return client::operation<running_app>(std::move(waiter));
}

namespace {

// The state of a run() on the caller's thread.
struct foreground {
  detail::owned_loop loop;
  std::shared_ptr<detail::app_core> core;
  std::unique_ptr<runtime::host::signal_watch> signals;
  result<void> done;
  int signals_seen = 0;
  int exit_code = 0;

  void end(result<void> how) {
    done = std::move(how);
    loop.loop().shard->stop();
  }
  void on_signal(runtime::host::process_signal which) {
    if (++signals_seen == 1) {
      boost::asio::co_spawn(loop.loop().shard->context(), core->shut_down(),
                            [this](std::exception_ptr, result<void> how) { end(std::move(how)); });
      return;
    }
    exit_code = which == runtime::host::process_signal::interrupt ? 130 : 143;
    end(fail(errc::cancelled, "ended by a second signal"));
  }
};

boost::asio::awaitable<void> serve(foreground& running) {
  auto started = co_await running.core->start_up();
  if (!started) {
    running.exit_code = 1;
    running.end(std::move(started));
    co_return;
  }
  (void)co_await running.core->wait_for_failure();
  running.exit_code = 3;
  running.end(co_await running.core->shut_down());
}

result<void> run_in_foreground(std::unique_ptr<detail::app_definition> definition, int& exit_code) {
  foreground running;
  running.core = std::make_shared<detail::app_core>(std::move(definition), running.loop.loop());
  running.signals = runtime::host::watch_signals(
      *running.loop.loop().shard, {runtime::host::process_signal::interrupt, runtime::host::process_signal::terminate},
      [&](runtime::host::process_signal which) { running.on_signal(which); });
  boost::asio::co_spawn(running.loop.loop().shard->context(), serve(running), [&](std::exception_ptr problem) {
    if (problem) running.end(fail(errc::handler_failed, "a hook threw"));
  });
  running.loop.run();
  running.signals.reset();
  exit_code = running.exit_code;
  return running.done;
}

int usage(const char* program, std::FILE* to) {
  std::fprintf(to, "usage: %s [run | describe | --help]\n", program);
  return to == stderr ? 2 : 0;
}

}  // namespace

result<void> app::run() {
  int exit_code = 0;
  return run_in_foreground(std::move(definition_), exit_code);
}

int run_main(int argc, char** argv, app (*make)()) {
  const std::string_view command = argc > 1 ? argv[1] : "run";
  if (argc > 2) return usage(argv[0], stderr);
  if (command == "--help" || command == "-h") return usage(argv[0], stdout);
  if (command == "describe") {
    std::fputs(make().describe().c_str(), stdout);
    return 0;
  }
  if (command != "run") return usage(argv[0], stderr);
  int exit_code = 0;
  if (auto done = run_in_foreground(make().release(), exit_code); !done) {
    std::fprintf(stderr, "%s: %s\n", argv[0], done.error().message().c_str());
    return exit_code != 0 ? exit_code : 1;
  }
  return exit_code;
}

// --- handles ---

client::operation<error> running_app::stopping() { return core_->wait_for_failure(); }
service::health running_app::health() const { return core_->health(); }
service::publisher running_app::publisher(std::string_view broker) const {
  return service::publisher(core_->link(broker));
}
boost::asio::any_io_executor running_app::executor() const { return core_->executor(); }
std::optional<subscription_counters> running_app::counters(std::string_view subscription) const {
  return core_->counters(subscription);
}
client::operation<void> running_app::shutdown() { return core_->request_shutdown(); }

// --- time by the application's clock ---

namespace {

detail::app_core& app_here() {
  if (detail::app_core* app = detail::current_app()) return *app;
  throw std::logic_error("only handlers and hooks have an application's clock");
}

}  // namespace

boost::asio::awaitable<void> sleep_for(std::chrono::nanoseconds duration) {
  client::operation<void> elapsed = app_here().pause(duration);
  auto done = co_await std::move(elapsed);
  if (!done) throw boost::system::system_error(boost::asio::error::operation_aborted);
}

time_point now() { return app_here().shard().now(); }

std::chrono::nanoseconds deadline::left() const { return std::max(at - now(), std::chrono::nanoseconds(0)); }

}  // namespace tern::service
