// The payments service from end to end: a real server on a fresh directory, the service, a producer, and a look at what
// became of each payment.
//
//   payments_demo --ternd PATH --payments FILE [--once] [--busy-delay SECONDS]
#include "payments.hpp"

#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>
#include <tern/testing/server_process.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace {

namespace client = tern::client;
namespace service = tern::service;

struct arguments {
  std::string ternd, payments;
  bool once = false;
  double busy_delay = 1;
};

bool read_arguments(int argc, char** argv, arguments& into) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const bool has_value = at + 1 < argc;
    if (word == "--once") {
      into.once = true;
    } else if (word == "--ternd" && has_value) {
      into.ternd = argv[++at];
    } else if (word == "--payments" && has_value) {
      into.payments = argv[++at];
    } else if (word == "--busy-delay" && has_value) {
      into.busy_delay = std::atof(argv[++at]);
    } else {
      return false;
    }
  }
  return !into.ternd.empty() && !into.payments.empty() && into.busy_delay > 0;
}

// What came of the payments, gathered from the service's own records and from the subjects that it publishes on.
class ledger {
 public:
  // An outcome as it happens: one aligned line each.
  void show(const char* what, const std::string& detail) {
    const std::lock_guard lock(mutex_);
    std::printf("  %-15s %s\n", what, detail.c_str());
    std::fflush(stdout);
  }
  void count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++seen_[what];
    changed_.notify_all();
  }
  int seen(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto found = seen_.find(what);
    return found == seen_.end() ? 0 : found->second;
  }
  // False when `patience` passed before everything was as expected.
  bool wait_for(const std::map<std::string, int>& expected, std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] {
      for (const auto& [what, times] : expected) {
        const auto found = seen_.find(what);
        if ((found == seen_.end() ? 0 : found->second) < times) return false;
      }
      return true;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> seen_;
};

// The service's log: its records are the outcomes that the demonstration shows.
class shown_log final : public service::log_sink {
 public:
  explicit shown_log(ledger& into) : into_(into) {}
  void write(const service::log_record& record) override {
    const std::string line = record.line();
    const auto begins = [&](const char* text) { return record.text.rfind(text, 0) == 0; };
    if (begins("dashboard updated")) {
      into_.show("dashboard", line);
      into_.count("dashboard updates");
    } else if (begins("seen before")) {
      into_.show("again", line);
      into_.count("retried");
    } else if (begins("card declined")) {
      into_.show("dropped", line);
      into_.count("dropped");
    } else if (begins("payload could not be decoded")) {
      into_.show("malformed", line);
      into_.count("malformed");
    } else if (!begins("given up")) {  // a dead letter is shown when it arrives
      into_.show(std::string(service::to_word(record.level)).c_str(), line);
    }
  }

 private:
  ledger& into_;
};

// What the file must lead to, by its cards; a line that is no payment is malformed.
std::map<std::string, int> expectation(const std::vector<std::string>& lines) {
  std::map<std::string, int> expected{
      {"captured", 0}, {"dropped", 0}, {"malformed", 0}, {"dead-lettered", 0}, {"retried", 0}};
  for (const auto& line : lines) {
    const auto payment = tern::codec::read_json<payments::payment>(line);
    if (!payment) {
      ++expected["malformed"];
    } else if (payment->card == "declined") {
      ++expected["dropped"];
    } else if (payment->card.rfind("always-", 0) == 0) {
      ++expected["dead-lettered"];
      expected["retried"] += 4;  // five attempts
    } else {
      ++expected["captured"];
      if (payment->card == "busy-once" || payment->card == "unavailable-once") ++expected["retried"];
      if (payment->card == "unavailable-twice") expected["retried"] += 2;
    }
  }
  expected["dashboard updates"] = expected["captured"];
  return expected;
}

bool summary(const ledger& of, const std::map<std::string, int>& expected) {
  std::printf("\n  %-20s %9s %9s\n", "", "expected", "seen");
  bool as_it_must = true;
  for (const auto& [what, times] : expected) {
    const int seen = of.seen(what);
    as_it_must = as_it_must && seen == times;
    std::printf("  %-20s %9d %9d%s\n", what.c_str(), times, seen, seen == times ? "" : "   <- differs");
  }
  std::printf("\n  %s\n\n", as_it_must ? "Everything came out as it must." : "This is not what had to happen.");
  return as_it_must;
}

void print_ways_in(const std::string& url) {
  std::printf(
      "The server goes on at %s. Other tools to try, each in a terminal of its own:\n\n"
      "  nats -s %s stream ls\n"
      "  nats -s %s consumer info PAYMENTS capture\n"
      "  nats -s %s sub payments.captured\n"
      "  nats -s %s pub payments.authorized '{\"id\":100,\"card\":\"4111\",\"amount_cents\":5}'\n"
      "  nats -s %s stream view PAYMENTS_DEAD\n\n"
      "  python3 -c \"import asyncio, nats\n"
      "  async def main():\n"
      "      nc = await nats.connect('%s')\n"
      "      print(await nc.jetstream().publish('payments.authorized', "
      "b'{\\\"id\\\":101,\\\"card\\\":\\\"4111\\\",\\\"amount_cents\\\":5}'))\n"
      "      await nc.close()\n"
      "  asyncio.run(main())\"\n\n"
      "Ctrl-C ends it.\n",
      url.c_str(), url.c_str(), url.c_str(), url.c_str(), url.c_str(), url.c_str(), url.c_str());
  std::fflush(stdout);
}

[[noreturn]] void give_up(const char* what, const tern::error& why) {
  std::fprintf(stderr, "payments_demo: %s: %s\n", what, why.message().c_str());
  std::exit(1);
}

void create_stream(client::jetstream& streams, const char* name, const char* subject) {
  client::stream_config config;
  config.name = name;
  config.subjects = {subject};
  config.storage = client::storage_type::file;
  if (auto created = streams.create_stream(config).get(); !created) give_up("creating a stream", created.error());
}

void wait_for_interrupt() {
  boost::asio::io_context loop;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([](const boost::system::error_code&, int) {});
  loop.run();
}

int demonstrate(const arguments& told, const std::vector<std::string>& lines) {
  auto server = tern::testing::server_process::start(told.ternd);
  if (!server) give_up("starting the server", server.error());
  std::printf("ternd listens at %s, its streams are in %s\n\n", server->url().c_str(), server->directory().c_str());

  auto connected = client::connection::connect(client::options(server->url())).get();
  if (!connected) give_up("connecting", connected.error());
  client::connection connection = *std::move(connected);
  client::jetstream streams(connection);
  create_stream(streams, "PAYMENTS", "payments.authorized");
  create_stream(streams, "PAYMENTS_DEAD", "payments.dead");

  ledger seen;
  auto captures = connection.subscribe("payments.captured", [&](client::message&& message) {
    seen.show("captured", std::string(message.payload()));
    seen.count("captured");
  });
  auto dead_letters = connection.subscribe("payments.dead", [&](client::message&& message) {
    const auto attempts = message.header("Tern-Dead-Attempts").value_or("?");
    seen.show("dead letter", std::string(message.payload()) + " after " + std::string(attempts) + " attempts");
    seen.count("dead-lettered");
  });
  if (!captures || !dead_letters) give_up("subscribing", captures ? dead_letters.error() : captures.error());
  if (auto flushed = connection.flush().get(); !flushed) give_up("subscribing", flushed.error());

  payments::settings with;
  with.url = server->url();
  with.busy_delay = std::chrono::nanoseconds(static_cast<std::int64_t>(told.busy_delay * 1e9));
  with.log = std::make_shared<shown_log>(seen);
  auto running = payments::make_app(with).start().get();
  if (!running) give_up("starting the service", running.error());

  for (const auto& line : lines) {
    seen.show("published", line);
    if (auto stored = streams.publish("payments.authorized", line).get(); !stored)
      give_up("publishing", stored.error());
  }
  const auto expected = expectation(lines);
  const auto patience = std::chrono::seconds(20) + std::chrono::seconds(static_cast<int>(5 * told.busy_delay));
  seen.wait_for(expected, patience);
  const bool as_it_must = summary(seen, expected);
  if (!told.once) {
    print_ways_in(server->url());
    wait_for_interrupt();
  }
  if (auto ended = running->shutdown().get(); !ended) give_up("ending the service", ended.error());
  if (auto closed = connection.close().get(); !closed) give_up("closing", closed.error());
  if (auto ended = server->stop(); !ended) give_up("ending the server", ended.error());
  return as_it_must ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  arguments told;
  if (!read_arguments(argc, argv, told)) {
    std::fprintf(stderr, "usage: %s --ternd PATH --payments FILE [--once] [--busy-delay SECONDS]\n", argv[0]);
    return 2;
  }
  std::ifstream file(told.payments);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) {
    std::fprintf(stderr, "payments_demo: no payments in %s\n", told.payments.c_str());
    return 1;
  }
  return demonstrate(told, lines);
}
