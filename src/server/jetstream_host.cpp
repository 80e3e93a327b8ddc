#include "server/jetstream_host.hpp"

#include "base/go_duration.hpp"
#include "protocol/info.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"
#include "runtime/host/time_zones.hpp"
#include "server/server.hpp"
#include "server/system/client_facts.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace tern::server {
namespace {

// Three quarters of the machine, as the peer takes when nothing is configured.
void work_out_limits(jetstream_options& settings) {
  if (settings.max_memory < 0)
    settings.max_memory = static_cast<std::int64_t>(runtime::host::physical_memory_bytes() / 4 * 3);
  if (settings.max_storage < 0) {
    const auto free = runtime::host::free_disk_bytes(settings.store_directory);
    settings.max_storage = free ? static_cast<std::int64_t>(*free / 4 * 3) : std::int64_t{1} << 40;
  }
}

jetstream::limits engine_limits(const jetstream_options& settings) {
  return {.max_memory = settings.max_memory,
          .max_storage = settings.max_storage,
          .max_ack_pending = settings.max_ack_pending,
          .max_request_batch = settings.max_request_batch,
          .duplicate_window = settings.duplicate_window};
}

jetstream::options engine_options(const server& owner, const jetstream_options& settings,
                                  const std::string& directory) {
  jetstream::options out;
  out.server_name = owner.name();
  out.server_id = owner.id();
  out.version = protocol::compatible_version;
  out.domain = settings.domain;
  out.store_directory = directory;
  out.strict = settings.strict;
  out.server_limits = engine_limits(settings);
  if (settings.max_buffered_messages > 0)
    out.max_buffered_messages = static_cast<std::size_t>(settings.max_buffered_messages);
  if (settings.max_buffered_bytes > 0) out.max_buffered_bytes = static_cast<std::size_t>(settings.max_buffered_bytes);
  const auto take = [](std::int64_t configured, std::uint64_t& into) {
    if (configured > 0) into = static_cast<std::uint64_t>(configured);
  };
  take(settings.batch_inflight_per_stream, out.batches.max_inflight_per_stream);
  take(settings.batch_inflight_total, out.batches.max_inflight_total);
  take(settings.batch_messages, out.batches.max_messages);
  if (settings.batch_timeout.count() > 0) out.batches.timeout = settings.batch_timeout;
  out.durability = settings.sync_interval ? storage::durability::written : storage::durability::synced;
  out.max_payload =
      owner.settings().max_payload < 0 ? std::numeric_limits<std::int32_t>::max() : owner.settings().max_payload;
  return out;
}

void log_banner(runtime::host::logger& log, const jetstream_options& settings, const std::string& directory) {
  log.info("---------------- JETSTREAM ----------------");
  log.info(std::string("  Strict:          ") + (settings.strict ? "true" : "false"));
  log.info("  Max Memory:      " + friendly_bytes(settings.max_memory));
  log.info("  Max Storage:     " + friendly_bytes(settings.max_storage));
  log.info("  Store Directory: \"" + directory + "\"");
  if (!settings.domain.empty()) log.info("  Domain:          " + settings.domain);
  log.info("  API Level:       5");
  log.info("  Durability:      " + (settings.sync_interval
                                        ? "written, synced every " + to_go_duration(*settings.sync_interval)
                                        : std::string("synced before each acknowledgement")));
  log.info("-------------------------------------------");
}

}  // namespace

std::string node_name(std::string_view server_name) {
  constexpr char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(server_name.data()), server_name.size(), hash);
  std::string out;
  for (int at = 0; at < 8; ++at) out += digits[hash[at] % 62];
  return out;
}

std::string friendly_bytes(std::int64_t bytes) {
  if (bytes < 0) return "unlimited";
  constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
  return text;
}

result<std::unique_ptr<jetstream_host>> jetstream_host::create(server& owner, const options& wanted,
                                                               runtime::disk* disk) {
  const time_point begin = owner.loop().refresh_now();
  runtime::host::logger& log = owner.log();
  jetstream_options settings = wanted.jetstream;
  if (settings.store_directory.empty()) settings.store_directory = wanted.store_directory;
  if (settings.store_directory.empty()) settings.store_directory = runtime::host::temporary_directory() + "/nats";
  work_out_limits(settings);
  const std::string directory = settings.store_directory + "/jetstream";
  log.info("Starting JetStream");
  log_banner(log, settings, directory);

  auto store = storage::store::open(disk, {.directory = directory});
  if (!store) return std::unexpected(std::move(store).error().within("Can't start JetStream"));
  auto host =
      std::unique_ptr<jetstream_host>(new jetstream_host(owner, std::move(settings), directory, std::move(*store)));
  host->log_findings();
  if (disk != nullptr) host->on_sync_timer();
  host->attach_accounts(wanted.security);
  host->engine_->recover();
  for (const auto& one : host->engine_->unavailable())
    log.error("JetStream: stream '" + one.account + " > " + one.name + "' is not available: " + one.reason);
  const nanoseconds took = owner.loop().refresh_now() - begin;
  log.info("Took " + to_go_duration(took) + " to start JetStream");
  return host;
}

jetstream_host::jetstream_host(server& owner, jetstream_options settings, std::string directory,
                               std::unique_ptr<storage::store> store)
    : owner_(owner),
      settings_(std::move(settings)),
      directory_(std::move(directory)),
      store_(std::move(store)),
      ids_(owner.loop().randomness().next()),
      environment_{.settings = engine_options(owner, settings_, directory_),
                   .store = *store_,
                   .timers = owner.loop().timers(),
                   .ids = ids_,
                   .now = [&loop = owner.loop()] { return loop.now(); },
                   .warn = [&log = owner.log()](std::string text) { log.warn(text); },
                   .describe_client = [this] { return describe_client(); },
                   .observer = &owner.context().observer,
                   .find_time_zone = &runtime::host::find_time_zone},
      engine_(std::make_unique<jetstream::engine>(environment_)),
      sync_timer_(owner.loop().timers(), [this] { on_sync_timer(); }) {}

// Without configured accounts the global one has JetStream; with them, those that say so (jetstream 20.3). The system
// account has no streams; its API says so.
void jetstream_host::attach_accounts(const security_options& what) {
  account_registry& accounts = owner_.context().accounts;
  engine_->attach_disabled(accounts.system().interest);
  if (!what.accounts_configured) return engine_->attach(accounts.global().interest);
  for (const account_options& one : what.accounts) {
    routing::account& account = accounts.obtain(one.name).interest;
    if (&account == &accounts.system().interest) continue;
    if (one.jetstream) {
      engine_->attach(account, *one.jetstream);
    } else {
      engine_->attach_disabled(account);
    }
  }
}

// Whoever publishes at this moment.
std::string jetstream_host::describe_client() const {
  const auto* const publishing = owner_.context().publishing;
  if (publishing == nullptr || publishing->from == nullptr) return {};
  return audit_client_object(*publishing->from, owner_.id());
}

void jetstream_host::log_findings() {
  for (; findings_logged_ < store_->findings().size(); ++findings_logged_) {
    const storage::finding& found = store_->findings()[findings_logged_];
    if (found.level == storage::finding::severity::note)
      owner_.log().info("JetStream: " + found.text);
    else if (found.level == storage::finding::severity::warning)
      owner_.log().warn("JetStream: " + found.text);
    else
      owner_.log().error("JetStream: " + found.text);
  }
}

// The store syncs with the commit at the end of this turn. Damage that reads have met since the last time is logged
// here.
void jetstream_host::on_sync_timer() {
  if (!running_) return;
  store_->sync();
  log_findings();
  sync_timer_.arm(owner_.loop().now() + settings_.sync_interval.value_or(std::chrono::seconds(1)));
}

void jetstream_host::adopt_limits(const jetstream_options& settings) {
  if (settings.max_memory >= 0) settings_.max_memory = settings.max_memory;
  if (settings.max_storage >= 0) settings_.max_storage = settings.max_storage;
  settings_.max_ack_pending = settings.max_ack_pending;
  settings_.max_request_batch = settings.max_request_batch;
  settings_.duplicate_window = settings.duplicate_window;
  environment_.settings.server_limits = engine_limits(settings_);
  environment_.settings.max_payload =
      owner_.settings().max_payload < 0 ? std::numeric_limits<std::int32_t>::max() : owner_.settings().max_payload;
}

jetstream_host::~jetstream_host() { shutdown(); }

void jetstream_host::shutdown() {
  if (!std::exchange(running_, false)) return;
  owner_.log().info("Initiating JetStream Shutdown...");
  engine_->shutdown();
  sync_timer_.disarm();
  log_findings();
  if (auto closed = store_->close(); !closed) owner_.log().error("JetStream: " + closed.error().message());
  owner_.log().info("JetStream Shutdown");
}

}  // namespace tern::server
