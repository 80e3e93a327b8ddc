// One scenario of the client, measured: `tern-anchor URL SCENARIO [n=N] [size=BYTES] [progress=FILE] [window=W]
// [batch=B]`. Scenarios: pub, sub, req, jspub, jspull; any other is exit code 3. Prints `SCENARIO n seconds cpu_seconds
// msgs_per_s msgs_per_cpu_s`. A scenario that is fed from outside prints `ready` once the server has its subscription,
// and writes how many messages it has handled into the progress file.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <semaphore>
#include <string>
#include <string_view>

#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>

namespace {

using namespace std::chrono_literals;
namespace client = tern::client;

struct arguments {
  std::string url;
  std::string scenario;
  std::uint64_t n = 100'000;
  std::uint64_t size = 128;
  std::uint64_t window = 500;
  std::uint64_t batch = 200;
  std::string progress;
};

[[noreturn]] void die(std::string_view what, const tern::error& why) {
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(what.size()), what.data(), why.message().c_str());
  std::exit(1);
}

template <class T>
T must(std::string_view what, tern::result<T> outcome) {
  if (!outcome) die(what, outcome.error());
  if constexpr (!std::is_void_v<T>) return *std::move(outcome);
}

class stopwatch {
 public:
  void begin() { at(begin_wall_, begin_cpu_); }
  void end() { at(end_wall_, end_cpu_); }
  void print(const arguments& with) const {
    const double seconds = end_wall_ - begin_wall_;
    const double cpu = end_cpu_ - begin_cpu_;
    const auto n = static_cast<double>(with.n);
    std::printf("%s %llu %.6f %.6f %.0f %.0f\n", with.scenario.c_str(), static_cast<unsigned long long>(with.n),
                seconds, cpu, n / seconds, n / cpu);
  }

 private:
  static void at(double& wall, double& cpu) {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    wall = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    rusage used;
    ::getrusage(RUSAGE_SELF, &used);
    cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
          static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  }
  double begin_wall_ = 0, begin_cpu_ = 0, end_wall_ = 0, end_cpu_ = 0;
};

class progress_file {
 public:
  explicit progress_file(const std::string& path)
      : file_(path.empty() ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT, 0600)) {}
  void mark(std::uint64_t handled) const {
    if (file_ >= 0 && (handled & 1023) == 0 && ::pwrite(file_, &handled, 8, 0) != 8) std::exit(1);
  }

 private:
  int file_;
};

void publish(client::connection& nats, const arguments& with, stopwatch& watch) {
  const std::string body(with.size, 'x');
  watch.begin();
  for (std::uint64_t i = 0; i < with.n; ++i) must("publish", nats.publish("anchor.pub", body));
  must("flush", nats.flush(60s).get());
  watch.end();
}

void subscribe(client::connection& nats, const arguments& with, stopwatch& watch) {
  const progress_file progress(with.progress);
  std::binary_semaphore done(0);
  std::uint64_t got = 0;
  unsigned touched = 0;
  auto subscription = must("subscribe", nats.subscribe("anchor.sub", [&](const client::message& message) {
    if (got == 0) watch.begin();
    touched += static_cast<unsigned char>(message.payload().front());
    progress.mark(++got);
    if (got == with.n) {
      watch.end();
      done.release();
    }
  }));
  must("flush", nats.flush().get());
  std::puts("ready");
  std::fflush(stdout);
  done.acquire();
  if (touched == 0) std::exit(1);
}

void request(client::connection& nats, const arguments& with, stopwatch& watch) {
  const std::string body(with.size, 'x');
  must("request", nats.request("anchor.echo", body).get());
  watch.begin();
  for (std::uint64_t i = 0; i < with.n; ++i) must("request", nats.request("anchor.echo", body).get());
  watch.end();
}

void publish_to_stream(client::connection& nats, const arguments& with, stopwatch& watch) {
  client::jetstream js(nats, client::jetstream_options().publish_window(with.window));
  const std::string body(with.size, 'x');
  watch.begin();
  for (std::uint64_t i = 0; i < with.n; ++i) {
    must("publish", js.publish_async("anchor.js", body, [](tern::result<client::pub_ack> ack) {
      if (!ack) die("publish ack", ack.error());
    }));
  }
  must("acks", js.publish_async_complete().get());
  watch.end();
}

void pull(client::connection& nats, const arguments& with, stopwatch& watch) {
  client::jetstream js(nats);
  client::consumer_config capture;
  capture.durable_name = "capture";
  capture.ack_wait = 30s;
  capture.max_ack_pending = 1024;
  must("consumer", js.create_or_update_consumer("ANCHOR", capture).get());
  std::binary_semaphore done(0);
  std::uint64_t got = 0;
  unsigned touched = 0;
  watch.begin();
  auto consumer = js.pull_consumer("ANCHOR", "capture");
  auto stream = must("messages", consumer.messages(
                                     [&](client::pull_stream::item&& item) {
                                       if (!item) die("pull", item.error());
                                       touched += static_cast<unsigned char>(item->payload().front());
                                       must("ack", item->ack());
                                       if (++got == with.n) done.release();
                                     },
                                     client::pull_options().batch(static_cast<std::uint32_t>(with.batch))));
  done.acquire();
  must("flush", nats.flush().get());
  watch.end();
  if (touched == 0) std::exit(1);
}

arguments read_arguments(int count, char** words) {
  arguments read;
  read.url = words[1];
  read.scenario = words[2];
  for (int i = 3; i < count; ++i) {
    const std::string_view word = words[i];
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    std::uint64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (key == "n") read.n = number;
    if (key == "size") read.size = number;
    if (key == "window") read.window = number;
    if (key == "batch") read.batch = number;
    if (key == "progress") read.progress = value;
  }
  return read;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fputs("usage: tern-anchor URL SCENARIO [n=N] [size=BYTES] [progress=FILE] [window=W] [batch=B]\n", stderr);
    return 2;
  }
  const auto with = read_arguments(count, words);
  using scenario = void (*)(client::connection&, const arguments&, stopwatch&);
  scenario run = nullptr;
  if (with.scenario == "pub" || with.scenario == "pub-16") run = publish;
  if (with.scenario == "sub") run = subscribe;
  if (with.scenario == "req") run = request;
  if (with.scenario == "jspub") run = publish_to_stream;
  if (with.scenario == "jspull") run = pull;
  if (run == nullptr) return 3;
  auto nats = must("connect", client::connection::connect(client::options(with.url)).get());
  stopwatch watch;
  run(nats, with, watch);
  watch.print(with);
  std::fflush(stdout);
  must("close", nats.close().get());
  return 0;
}
