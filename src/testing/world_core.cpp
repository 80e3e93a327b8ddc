#include "testing/world_core.hpp"

#include "base/go_duration.hpp"
#include "client/connect_on.hpp"
#include "runtime/run_until.hpp"
#include "service/subscription_loop.hpp"

#include <boost/asio/co_spawn.hpp>

namespace tern::testing::detail {
namespace {

// 2026-01-01T00:00:00Z: a fixed beginning, so that a failure repeats to the nanosecond.
constexpr time_point beginning = from_unix_nanoseconds(1'767'225'600'000'000'000);
constexpr std::size_t turns_per_look = 1024;
constexpr std::chrono::seconds live_patience(10);  // for each step against a real server

std::string outcome_text(const service::detail::handled& made, const service::outcome& final) {
  switch (made.how) {
    case service::detail::handled_how::decode_failed:
      return "decode_failed";
    case service::detail::handled_how::threw:
      return "threw";
    case service::detail::handled_how::cancelled:  // by a timeout, which has its outcome, or by the end
    case service::detail::handled_how::extract_failed:
    case service::detail::handled_how::completed:
      break;
  }
  if (final.kind() == service::outcome_kind::none) return "unsettled";
  if (final.kind() == service::outcome_kind::retry_after) return "retry_after(" + to_go_duration(final.delay()) + ")";
  return std::string(service::to_word(final.kind()));
}

}  // namespace

// --- records ---

void app_record::on_delivery(std::string_view subscription, const service::context& delivery) {
  ++*steps;
  recorded_delivery& made = deliveries[std::string(subscription)].emplace_back();
  made.subject = delivery.subject();
  made.payload = delivery.payload();
  made.attempt = delivery.attempt();
  if (const auto& from = delivery.jetstream()) made.stream_sequence = from->stream_sequence;
}

void app_record::on_outcome(std::string_view subscription, const service::context& delivery,
                            const service::detail::handled& made, const service::outcome& final,
                            std::string_view settled) {
  const auto& from = delivery.jetstream();
  const std::uint64_t sequence = from ? from->stream_sequence : 0;
  for (recorded_delivery& each : deliveries[std::string(subscription)]) {
    if (each.ended || each.stream_sequence != sequence || each.attempt != delivery.attempt() ||
        each.payload != delivery.payload())
      continue;
    each.ended = true;
    each.outcome = outcome_text(made, final);
    each.settlement = settled;
    return;
  }
}

void app_record::on_batch(std::string_view subscription, std::size_t size) {
  batches[std::string(subscription)].push_back(size);
}

std::string app_record::history() const {
  std::string text = "history of " + application + ":\n";
  for (const auto& [name, all] : deliveries) {
    for (const auto& each : all) {
      text += "  " + name + " attempt " + std::to_string(each.attempt) + " of " + each.payload + " -> " +
              (each.ended ? each.outcome + ", " + each.settlement : std::string("running")) + "\n";
    }
  }
  for (const auto& each : published) text += "  published " + each.subject + " " + each.payload + "\n";
  for (const auto& each : log->records)
    text += "  [" + std::string(service::to_word(each.level)) + "] " + each.line() + "\n";
  return text;
}

// --- the world ---

world_core::world_core(const world_options& with)
    : settings(with),
      clock(with.live().empty() ? std::unique_ptr<runtime::clock>(std::make_unique<runtime::paused_clock>(beginning))
                                : std::make_unique<runtime::real_clock>()),
      paused(dynamic_cast<runtime::paused_clock*>(clock.get())),
      randomness(with.seed()),
      shard(*clock, randomness),
      client_transport(paused != nullptr ? network.make_transport(shard) : runtime::make_tcp_transport(shard)) {}

world_core::~world_core() {
  for (auto& record : applications) {
    if (record->core && !record->ended) record->core->abandon();
    record->core.reset();
  }
  for (auto& [name, each] : twins) {
    if (each.connection) each.connection.close().then([](result<void>) {});
  }
  shard.run_ready();
  for (auto& [name, each] : twins) {
    if (each.server) each.server->stop();
    each.connection = {};
  }
  shard.run_ready();
  twins.clear();
  if (service::detail::current_app() != nullptr) service::detail::set_current_app(nullptr);
}

world_core::twin& world_core::broker(const std::string& name) {
  if (const auto found = twins.find(name); found != twins.end()) return found->second;
  twin& made = twins[name];
  if (paused == nullptr) {
    client::options connect(settings.live());
    connect.name("test");
    made.connection = need(client::connect_on(shard, *client_transport, connect), "connecting to " + settings.live());
    return made;
  }
  made.transport = network.make_transport(shard);
  server::options options;
  options.server_name = name;
  options.in_process_name = name;
  options.listen_on_network = false;
  options.jetstream.enabled = true;
  server::server_environment surroundings{shard, nullptr, made.transport.get(), nullptr, server_log};
  auto created = server::server::create(surroundings, options);
  if (!created) fail_assertion("test broker " + name + ": " + created.error().message());
  made.server = *std::move(created);
  if (auto started = made.server->start(); !started)
    fail_assertion("test broker " + name + ": " + started.error().message());
  client::options connect("inproc://" + name);
  connect.name("test");
  made.connection = need(client::connect_on(shard, *client_transport, connect), "connecting to test broker " + name);
  return made;
}

result<std::shared_ptr<app_record>> world_core::start(service::app what) {
  auto record = std::make_shared<app_record>();
  record->application = what.name();
  record->log = std::make_shared<kept_log>();
  record->steps = &steps;
  auto definition = what.release();
  definition->sink = record->log;
  for (auto& each : definition->brokers) {
    broker(each.name);
    each.connect.url(paused != nullptr ? "inproc://" + each.name : settings.live());
  }
  record->core = std::make_shared<service::detail::app_core>(
      std::move(definition), service::detail::app_loop{&shard, client_transport.get(), true});
  record->core->observe(record.get());
  for (const auto& link : record->core->links()) {
    link->watch(
        [raw = record.get()](std::string_view subject, std::string_view payload, const client::headers& headers) {
          published_message made{std::string(subject), std::string(payload), headers, {}};
          if (const auto id = headers.get("Nats-Msg-Id")) made.message_id = *id;
          raw->published.push_back(std::move(made));
        });
  }
  applications.push_back(record);
  auto started = std::make_shared<std::optional<result<void>>>();
  boost::asio::co_spawn(record->core->executor(), record->core->start_up(),
                        [started](std::exception_ptr, result<void> done) { started->emplace(std::move(done)); });
  drive([&] { return started->has_value(); });
  if (!*started) return fail(errc::timeout, "the application did not start in time");
  if (**started) return record;
  applications.pop_back();
  record->core.reset();
  return std::unexpected(std::move((*started)->error()));
}

// --- driving ---

void world_core::settle() {
  steps = 0;
  while (shard.run_ready(turns_per_look) == turns_per_look) {
    if (steps <= settings.step_budget()) continue;
    std::string busy;
    for (const auto& record : applications) {
      for (const auto& each : record->core->subscriptions()) {
        const auto found = record->deliveries.find(each->name());
        if (found != record->deliveries.end() && found->second.size() > settings.step_budget() / 2)
          busy += " " + each->name();
      }
    }
    // What is in flight goes no further; the world is only good for reading now.
    for (const auto& record : applications) record->core->abandon();
    throw not_quiescent("not quiescent after " + std::to_string(steps) + " deliveries, busy:" + busy);
  }
}

void world_core::drive(const std::function<bool()>& condition) {
  if (paused != nullptr) return settle();
  (void)run_live(condition, live_patience);
}

bool world_core::run_live(const std::function<bool()>& condition, std::chrono::nanoseconds patience) {
  shard.post([] {});  // what the test has just asked for leaves at the end of a turn, so there has to be one at once
  return runtime::run_until(shard, condition, patience);
}

// To the next timer, if it is due by then.
bool world_core::advance_one(time_point until) {
  const auto next = shard.next_deadline();
  if (!next || *next > until) return false;
  paused->advance_to(*next);
  settle();
  return true;
}

void world_core::advance(std::chrono::nanoseconds by) {
  if (paused == nullptr) fail_assertion("a real server has its own clock: wait_until() waits for it");
  const time_point until = paused->now() + by;
  settle();
  while (advance_one(until)) {
  }
  paused->advance_to(until);
  settle();
}

bool world_core::wait_until(const std::function<bool()>& condition, std::chrono::nanoseconds patience) {
  if (paused == nullptr) return run_live(condition, patience);
  const time_point until = paused->now() + patience;
  settle();
  while (!condition()) {
    if (!advance_one(until)) return false;
  }
  return true;
}

}  // namespace tern::testing::detail
