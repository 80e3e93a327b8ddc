#include <tern/server/embedded.hpp>

#include "runtime/disk.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"
#include "server/config/config_parser.hpp"
#include "server/config/config_reader.hpp"
#include "server/server.hpp"

#include <future>
#include <thread>
#include <utility>

namespace tern::server {
namespace {

class callback_log final : public runtime::host::logger {
 public:
  explicit callback_log(std::function<void(std::string_view, std::string_view)> sink) : sink_(std::move(sink)) {}
  bool enabled(runtime::host::log_level level) const override {
    return sink_ != nullptr && level >= runtime::host::log_level::info;
  }
  void write(runtime::host::log_level level, std::string_view message) override {
    sink_(runtime::host::log_label(level), message);
  }

 private:
  std::function<void(std::string_view, std::string_view)> sink_;
};

}  // namespace

struct embedded::implementation {
  implementation(options settings, std::function<void(std::string_view, std::string_view)> sink)
      : settings(std::move(settings)), log(std::move(sink)), loop(clock, randomness) {}

  options settings;
  callback_log log;
  runtime::real_clock clock;
  runtime::real_random randomness;
  runtime::pipe_network pipes;
  runtime::shard loop;
  std::thread thread;

  // Written before start() returns, then constant.
  std::string id, host, in_process_name;
  std::uint16_t port = 0, http_port = 0;

  // The thread's life: everything of the server is made and destroyed on it.
  void run(std::promise<result<void>> ready) {
    loop.context_sleeps_when_idle();
    const auto network = runtime::make_tcp_transport(loop);
    const auto in_process = pipes.make_transport(loop);
    const auto disk = runtime::make_real_disk(loop);
    auto made = server::create({loop, network.get(), in_process.get(), disk.get(), log}, settings);
    if (!made) return ready.set_value(std::unexpected(std::move(made).error()));
    if (auto started = (*made)->start(); !started) return ready.set_value(std::move(started));
    id = (*made)->id();
    if (const runtime::endpoint* at = (*made)->client_endpoint()) host = at->text(), port = at->port;
    if (const runtime::endpoint* at = (*made)->monitor_endpoint()) http_port = at->port;
    ready.set_value({});
    loop.run();
    (*made)->stop();
  }

  void stop() {
    if (!thread.joinable()) return;
    loop.stop();
    thread.join();
  }
};

result<embedded> embedded::start(embedded_options asked) {
  options settings;
  if (!asked.config_file_.empty()) {
    auto tree = parse_config_file(asked.config_file_, config_source_of_host());
    if (!tree) return std::unexpected(std::move(tree).error());
    const config_findings findings = apply_config(*tree, settings);
    if (!findings.errors.empty()) return fail(errc::config_error, findings.errors.front());
    settings.config_file = asked.config_file_;
    settings.config_digest = digest_of(*tree);
  }
  if (!asked.name_.empty()) settings.server_name = asked.name_;
  const bool from_file = !asked.config_file_.empty();
  if (asked.host_ || !from_file) settings.host = asked.host_.value_or("127.0.0.1");
  if (asked.port_ || !from_file) settings.port = asked.port_.value_or(0);
  settings.listen_on_network = settings.port != 0;
  if (asked.http_port_) settings.http_port = *asked.http_port_;
  settings.jetstream.enabled = settings.jetstream.enabled || asked.jetstream_;
  if (!asked.store_directory_.empty()) settings.jetstream.store_directory = asked.store_directory_;
  settings.in_process_name = settings.server_name.empty() ? "server" : settings.server_name;

  auto own = std::make_unique<implementation>(std::move(settings), std::move(asked.log_));
  own->in_process_name = own->settings.in_process_name;
  std::promise<result<void>> ready;
  auto outcome = ready.get_future();
  own->thread = std::thread([&self = *own, promise = std::move(ready)]() mutable { self.run(std::move(promise)); });
  if (auto started = outcome.get(); !started) {
    own->thread.join();
    return std::unexpected(std::move(started).error());
  }
  return embedded(std::move(own));
}

embedded::embedded(std::unique_ptr<implementation> made) : implementation_(std::move(made)) {}
embedded::embedded(embedded&& other) noexcept = default;

embedded& embedded::operator=(embedded&& other) noexcept {
  if (this == &other) return *this;
  stop();
  implementation_ = std::move(other.implementation_);
  return *this;
}

embedded::~embedded() { stop(); }

void embedded::stop() {
  if (implementation_) implementation_->stop();
}

std::string embedded::client_url() const { return implementation_->port == 0 ? "" : "nats://" + implementation_->host; }
std::uint16_t embedded::port() const { return implementation_->port; }
std::uint16_t embedded::http_port() const { return implementation_->http_port; }
std::string embedded::in_process_url() const { return "inproc://" + implementation_->in_process_name; }
runtime::pipe_network& embedded::in_process_network() const { return implementation_->pipes; }
const std::string& embedded::server_id() const { return implementation_->id; }

}  // namespace tern::server
