// How long a start takes after the process was killed, and what memory it needs then.
#include "cost.hpp"

#include "jetstream/engine.hpp"
#include "jetstream/stream/stream.hpp"
#include "runtime/disk.hpp"
#include "runtime/host/process.hpp"
#include "runtime/random.hpp"
#include "runtime/run_until.hpp"
#include "runtime/shard.hpp"
#include "storage/store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace tern::cost {
namespace {

// One server without a network.
class machine {
 public:
  explicit machine(const std::string& directory)
      : loop_(clock_, randomness_),
        disk_(runtime::make_real_disk(loop_)),
        store_(std::move(storage::store::open(disk_.get(), {.directory = directory}).value())),
        account_("$G", 1),
        environment_{.settings = {.server_name = "cost", .server_id = "NCOST"},
                     .store = *store_,
                     .timers = loop_.timers(),
                     .ids = ids_,
                     .now = [this] { return loop_.refresh_now(); },
                     .warn = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }},
        engine_(environment_) {
    engine_.attach(account_);
    engine_.recover();
  }

  const storage::log_state& state() const { return engine_.find_stream("$G", "S")->state(); }
  void publish(std::string_view subject, std::string_view payload) {
    account_.publish({.subject = subject, .payload = payload});
  }
  void settle() {
    runtime::run_until(loop_, [&] {
      store_->commit();
      return !store_->busy();
    });
  }

 private:
  runtime::real_clock clock_;
  runtime::seeded_random randomness_{1};
  runtime::shard loop_;
  nuid_source ids_{7};
  std::unique_ptr<runtime::disk> disk_;
  std::unique_ptr<storage::store> store_;
  routing::account account_;
  jetstream::environment environment_;
  jetstream::engine engine_;
};

// Runs in a process of its own, which ends in the middle of its work.
[[noreturn]] void write_and_die(const std::string& directory, std::uint64_t messages) {
  machine server(directory);
  server.publish("$JS.API.STREAM.CREATE.S", R"({"name":"S","subjects":["s.>"]})");
  server.settle();
  for (std::uint64_t i = 0; i < messages; ++i) {
    server.publish("s." + std::to_string(i % 1000), "a payload of a usual, small size: some fifty bytes");
    if (i % 10'000 == 9'999) server.settle();
  }
  server.settle();
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

sample time_start(std::uint64_t messages) {
  const char* where = std::getenv("TERN_BENCH_DIRECTORY");
  const std::string directory =
      (where != nullptr ? std::string(where) : std::filesystem::temp_directory_path().string()) + "/tern-cost";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) write_and_die(directory, messages);
  int status = 0;
  ::waitpid(child, &status, 0);
  // Measured in a child too, so that its memory is its own.
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return {};
  struct result {
    double nanoseconds;
    std::uint64_t resident, kept;
  } found{};
  const pid_t starter = ::fork();
  if (starter == 0) {
    runtime::real_clock clock;
    const auto begin = clock.now();
    const machine server(directory);
    found.nanoseconds = static_cast<double>((clock.now() - begin).count());
    found.resident = runtime::host::resident_bytes();
    found.kept = server.state().messages;
    const auto written = ::write(pipe_ends[1], &found, sizeof found);
    ::_exit(written == sizeof found ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  const auto got = ::read(pipe_ends[0], &found, sizeof found);
  ::close(pipe_ends[0]);
  ::waitpid(starter, &status, 0);
  std::filesystem::remove_all(directory);
  if (got != sizeof found) return {.nanoseconds = 0, .note = "did not start"};
  return {.nanoseconds = found.nanoseconds,
          .note = "resident " + std::to_string(found.resident >> 20) + " MiB, kept " + std::to_string(found.kept)};
}

const registration recovery({"recovery after SIGKILL", "start", "messages", up_to_ten_million, &time_start, 0.5});

}  // namespace
}  // namespace tern::cost
