// A reload: the options are read again, judged as a whole, and adopted between two turns (core 4.4).
#include "server/jetstream_host.hpp"
#include "server/server.hpp"

#include <algorithm>
#include <utility>

namespace tern::server {

result<void> server::reload() {
  constexpr const char* without_file = "can only reload config when a file is provided using -c or --config";
  const auto outcome = [this]() -> result<void> {
    if (surroundings_.configuration == nullptr || configured_.config_file.empty())
      return fail(errc::config_error, without_file);
    auto next = surroundings_.configuration->load();
    if (!next) return std::unexpected(std::move(next).error());
    return apply(std::move(*next));
  }();
  if (!outcome) log().error("Failed to reload server configuration: " + outcome.error().context());
  return outcome;
}

result<void> server::apply(options next) {
  if (auto checked = check_options(next); !checked) return checked;
  auto plan = plan_reload(configured_, next, listener_ ? listener_->local().port : configured_.port);
  if (!plan) return std::unexpected(std::move(plan).error());
  if (surroundings_.configuration != nullptr)
    if (auto ready = surroundings_.configuration->prepare(configured_, next); !ready) return ready;
  std::vector<std::string> lines;
  std::unique_ptr<jetstream_host> made;
  const auto prepared = [&]() -> result<void> {
    for (reload_participant* part : participants_)
      if (auto ready = part->prepare(configured_, next, lines); !ready) return ready;
    auto host = prepare_jetstream(configured_, next);
    if (!host) return std::unexpected(std::move(host).error());
    made = std::move(*host);
    return {};
  }();
  if (!prepared) {
    for (reload_participant* part : participants_) part->forget();
    return prepared;
  }

  // Nothing below can fail.
  const options before = std::exchange(configured_, std::move(next));
  settings_ = configured_;
  if (settings_.server_name.empty()) settings_.server_name = identity_.id;
  config_loaded_ = context_.now();
  for (const std::string& line : plan->first) log().info(line);
  for (const std::string& line : lines) log().info("Reloaded: " + line);
  for (const std::string& line : plan->rest) log().info(line);
  for (reload_participant* part : participants_) part->adopt(before, configured_);
  if (before.security != configured_.security) {
    adopt_security();
    if (jetstream_) jetstream_->attach_accounts(settings_.security);
    std::vector<connection*> reviewed;  // reviewing one may close it
    for (const auto& [id, one] : connections_) reviewed.push_back(one.get());
    for (connection* one : reviewed) one->review_login();
  }
  adopt_jetstream(before, std::move(made));
  for (const auto& [id, one] : connections_) one->adopt_settings();
  close_excess_connections();
  if (surroundings_.configuration != nullptr) surroundings_.configuration->adopt(before, configured_);
  context_.tracing = surroundings_.log.trace_enabled();
  log().info("Reloaded server configuration (" + configured_.config_digest + ")");
  return {};
}

// JetStream that is switched on opens its store here, so that a directory which cannot be opened refuses the reload.
result<std::unique_ptr<jetstream_host>> server::prepare_jetstream(const options& before, const options& after) {
  if (before.jetstream.enabled || !after.jetstream.enabled || jetstream_) return nullptr;
  log().info("Restarting JetStream");
  return jetstream_host::create(*this, after, surroundings_.disk);
}

void server::adopt_jetstream(const options& before, std::unique_ptr<jetstream_host> made) {
  if (made) {
    jetstream_ = std::move(made);
  } else if (before.jetstream.enabled && !settings_.jetstream.enabled) {
    jetstream_->shutdown();
    jetstream_.reset();
  }
  if (jetstream_) jetstream_->adopt_limits(settings_.jetstream);
}

void server::close_excess_connections() {
  const auto admitted = static_cast<std::size_t>(std::max<std::int64_t>(0, settings_.max_connections));
  if (connections_.size() <= admitted) return;
  const std::size_t excess = connections_.size() - admitted;
  std::vector<connection*> closing;
  for (const auto& [id, one] : connections_) closing.push_back(one.get());
  for (std::size_t at = 0; at < excess; ++at) {
    std::swap(closing[at], closing[at + context_.ids.random() % (closing.size() - at)]);
    closing[at]->close_with_error("maximum connections exceeded", close_reason::max_connections);
  }
  log().info("Closed " + std::to_string(excess) + " connections to fall within max_connections");
}

}  // namespace tern::server
