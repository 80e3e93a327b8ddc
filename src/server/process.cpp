#include "server/process.hpp"

#include "base/numbers.hpp"
#include "protocol/info.hpp"
#include "runtime/disk.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"
#include "runtime/host/service_manager.hpp"
#include "runtime/host/signal_command.hpp"
#include "runtime/host/signals.hpp"
#include "runtime/shard.hpp"
#include "server/config/command_line.hpp"
#include "server/config/config_parser.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/option_table.hpp"
#include "server/config/reload_plan.hpp"
#include "server/server.hpp"

#include <cstdio>
#include <optional>
#include <string_view>

namespace tern::server {
namespace {

using runtime::host::process_signal;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void print(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

int refuse(std::string_view text) {
  print(stderr, "nats-server: " + std::string(text) + "\n");
  return 1;
}

// Every complaint on a line, the first after the program's name.
std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out.append(out.empty() ? "" : "\n").append(line);
  return out;
}

struct loaded_options {
  options settings;
  config_findings findings;
};

// The file and what the flags say over it, without looking at the findings.
result<loaded_options> read_options(const command_line& flags) {
  loaded_options out;
  if (!flags.config_file.empty()) {
    auto tree = parse_config_file(flags.config_file, config_source_of_host());
    if (!tree) return std::unexpected(std::move(tree).error());
    out.findings = apply_config(*tree, out.settings);
    out.settings.config_file = flags.config_file;
    out.settings.config_digest = digest_of(*tree);
  }
  flags.apply_to(out.settings);
  if (auto tls = apply_tls_flags(out.settings.tls_from_flags, out.settings.tls); !tls)
    return std::unexpected(std::move(tls).error());
  return out;
}

// The same, refused when something is wrong: all complaints in one text.
result<loaded_options> load_checked(const command_line& flags, bool warnings_count) {
  auto loaded = read_options(flags);
  if (!loaded) return loaded;
  std::vector<std::string> complaints = loaded->findings.errors;
  if (warnings_count || !complaints.empty())
    complaints.insert(complaints.begin(), loaded->findings.warnings.begin(), loaded->findings.warnings.end());
  if (!complaints.empty()) return fail(errc::config_error, joined(complaints));
  if (auto checked = check_options(loaded->settings); !checked) return std::unexpected(std::move(checked).error());
  return loaded;
}

runtime::host::log_options log_options_of(const options& settings) {
  return {
      .file = settings.log_file,
      .remote_syslog = settings.remote_syslog,
      .syslog = settings.syslog,
      .time = settings.log_time,
      .utc = settings.log_time_utc,
      .debug = settings.debug,
      .trace = settings.trace,
      .size_limit = static_cast<std::uint64_t>(std::max<std::int64_t>(0, settings.log_size_limit)),
      .backups = static_cast<std::size_t>(std::max<std::int64_t>(0, settings.log_max_files)),
  };
}

std::string_view go_signal_name(process_signal what) {
  switch (what) {
    case process_signal::interrupt:
      return "interrupt";
    case process_signal::terminate:
      return "terminated";
    case process_signal::hangup:
      return "hangup";
    case process_signal::user1:
      return "user defined signal 1";
    case process_signal::user2:
      return "user defined signal 2";
  }
  return "";
}

// The running process: what the signals act on.
class process final : private option_source {
 public:
  process(command_line flags, loaded_options loaded, std::string program)
      : flags_(std::move(flags)),
        settings_(std::move(loaded.settings)),
        notes_(std::move(loaded.findings.without_effect)),
        program_(std::move(program)),
        loop_(clock_, random_) {}

  int run() {
    auto log = runtime::host::open_log(log_options_of(settings_), clock_);
    if (!log) return refuse(log.error().context());
    log_ = std::move(*log);
    loop_.context_sleeps_when_idle();
    network_ = runtime::make_tcp_transport(loop_);
    disk_ = std::make_unique<runtime::measured_disk>(runtime::make_real_disk(loop_), clock_);
    server_environment surroundings{.loop = loop_,
                                    .network = network_.get(),
                                    .disk = disk_.get(),
                                    .log = *log_,
                                    .worker_threads = 1,
                                    .disk_waits = &disk_->waits(),
                                    .configuration = this};
    auto made = server::create(surroundings, settings_);
    if (!made) return refuse(made.error().context());
    server_ = std::move(*made);
    const auto signals =
        runtime::host::watch_signals(loop_,
                                     {process_signal::interrupt, process_signal::terminate, process_signal::hangup,
                                      process_signal::user1, process_signal::user2},
                                     [this](process_signal what) { on_signal(what); });
    if (!settings_.pid_file.empty()) {
      if (auto written = runtime::host::write_pid_file(settings_.pid_file); !written)
        return fatal("Could not write pidfile: " + written.error().context());
    }
    for (const std::string& note : notes_) log_->warn(note);
    if (auto started = server_->start(); !started) return fatal(started.error().message());
    write_ports_file();
    runtime::host::notify_service_manager("READY=1\nSTATUS=Serving");
    loop_.run();
    runtime::host::notify_service_manager("STOPPING=1\nSTATUS=Shutting down");
    server_->stop();
    remove_ports_file();
    return 0;
  }

 private:
  int fatal(std::string_view text) {
    log_->fatal(text);
    return 1;
  }

  void on_signal(process_signal what) {
    log_->info("Trapped \"" + std::string(go_signal_name(what)) + "\" signal");
    switch (what) {
      case process_signal::interrupt:
        return loop_.stop();
      case process_signal::terminate:
        if (!server_->context().lame_duck) loop_.stop();
        return;
      case process_signal::hangup:
        runtime::host::notify_service_manager("RELOADING=1");
        (void)server_->reload();
        runtime::host::notify_service_manager("READY=1");
        return;
      case process_signal::user1:
        return reopen_log();
      case process_signal::user2:
        runtime::host::notify_service_manager("STOPPING=1\nSTATUS=Lame duck: clients are asked to leave");
        return server_->enter_lame_duck([this] { loop_.stop(); });
    }
  }

  // --- reload ---
  result<options> load() override {
    auto loaded = load_checked(flags_, false);
    if (!loaded) return std::unexpected(std::move(loaded).error());
    notes_ = std::move(loaded->findings.without_effect);
    return std::move(loaded->settings);
  }

  result<void> prepare(const options& before, const options& after) override {
    if (before.log_file == after.log_file || after.log_file.empty()) return {};
    return runtime::host::check_appendable(after.log_file);
  }

  void adopt(const options& before, const options& after) override {
    settings_ = after;
    for (const std::string& note : notes_) log_->warn(note);
    if (before.pid_file != after.pid_file && !after.pid_file.empty())
      if (auto written = runtime::host::write_pid_file(after.pid_file); !written)
        log_->error("Could not write pidfile: " + written.error().context());
    if (before.ports_file_directory != after.ports_file_directory) {
      remove_ports_file();
      write_ports_file();
    }
    if (auto configured = log_->configure(log_options_of(after)); !configured)
      log_->error("Could not change the log: " + configured.error().context());
  }

  void remove_ports_file() {
    if (!ports_file_.empty()) (void)runtime::host::remove_file(ports_file_);
    ports_file_.clear();
  }

  void reopen_log() {
    if (settings_.log_file.empty()) return log_->info("File log re-open ignored, not a file logger");
    if (auto opened = log_->reopen(); !opened)
      return log_->error("File log re-open failed: " + opened.error().context());
    log_->info("File log re-opened");
  }

  // Read by test harnesses, which wait for it (core 4.6).
  void write_ports_file() {
    if (settings_.ports_file_directory.empty()) return;
    const std::string path = settings_.ports_file_directory + "/" + base_name(program_) + "_" +
                             std::to_string(runtime::host::process_id()) + ".ports";
    std::string json = "{";
    add_urls(json, "nats", settings_.tls ? "tls://" : "nats://", server_->client_endpoint());
    add_urls(json, "monitoring", settings_.https_port != 0 ? "https://" : "http://", server_->monitor_endpoint());
    add_urls(json, "websocket", settings_.websocket.tls ? "wss://" : "ws://", server_->websocket_endpoint());
    json += "}";
    if (auto written = runtime::host::write_text_file(path, json); !written) {
      // The name that was asked for, not that of the file beside it.
      std::string why = written.error().context();
      if (const std::size_t colon = why.rfind(": "); colon != std::string::npos)
        why = "open " + path + why.substr(colon);
      log_->error("Error writing ports file (" + path + "): " + why);
      return;
    }
    ports_file_ = path;
  }

  static void add_urls(std::string& json, std::string_view key, std::string_view scheme, const runtime::endpoint* at) {
    if (at == nullptr) return;
    std::vector<std::string> hosts{at->host};
    if (at->host == "0.0.0.0" || at->host == "::") {
      hosts = runtime::host::interface_addresses();
      if (hosts.empty()) hosts.emplace_back("127.0.0.1");
    }
    if (json.size() > 1) json += ',';
    json.append("\"").append(key).append("\":[");
    for (std::size_t number = 0; number < hosts.size(); ++number) {
      if (number != 0) json += ',';
      json.append("\"")
          .append(scheme)
          .append(runtime::endpoint{.host = hosts[number], .port = at->port}.text())
          .append("\"");
    }
    json += ']';
  }

  command_line flags_;
  options settings_;
  std::vector<std::string> notes_;  // what has no effect; logged as warnings
  std::string program_;
  runtime::real_clock clock_;
  runtime::real_random random_;
  std::unique_ptr<runtime::host::process_log> log_;
  runtime::shard loop_;
  std::unique_ptr<runtime::transport> network_;
  std::unique_ptr<runtime::measured_disk> disk_;
  std::unique_ptr<server> server_;
  std::string ports_file_;
};

}  // namespace

int run_process(const std::string& program, std::span<const std::string> arguments) {
  const std::string name = base_name(program);
  auto flags = parse_command_line(arguments);
  if (!flags) {
    const bool usage = flags.error().code() == errc::invalid_argument;
    if (!usage || flags.error().context().starts_with("unrecognized")) return refuse(flags.error().context());
    print(stderr, flags.error().context() + "\n" + usage_text(name));
    return 1;
  }
  switch (flags->what) {
    case command_line::action::show_version: {
      const bool as_peer = name == "nats-server";
      print(stdout,
            std::string(as_peer ? "nats-server" : "ternd") + ": v" + std::string(protocol::compatible_version) + "\n");
      return 0;
    }
    case command_line::action::show_help:
      print(stdout, usage_text(name));
      return 0;
    case command_line::action::send_signal: {
      auto sent = runtime::host::send_signal_command(flags->signal_command, name);
      return sent ? 0 : refuse(sent.error().context());
    }
    case command_line::action::explain_option: {
      const std::string found = explain_option(flags->option);
      if (found.empty()) return refuse("there is no option \"" + flags->option + "\"");
      print(stdout, found);
      return 0;
    }
    case command_line::action::run:
    case command_line::action::test_config:
      break;
  }
  const bool testing = flags->what == command_line::action::test_config;
  if (testing && flags->config_file.empty())
    return refuse("must specify [-c, --config] option to check configuration file syntax");
  auto loaded = load_checked(*flags, testing);
  if (!loaded) return refuse(loaded.error().context());
  if (testing) {
    print(stderr, "nats-server: configuration file " + flags->config_file + " is valid (" +
                      loaded->settings.config_digest + ")\n");
    return 0;
  }
  return process(std::move(*flags), std::move(*loaded), program).run();
}

}  // namespace tern::server
