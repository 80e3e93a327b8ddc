#include "server/server.hpp"

#include "protocol/info.hpp"
#include "runtime/host/process.hpp"
#include "server/jetstream_host.hpp"
#include "server/monitoring/monitor.hpp"
#include "server/security/account_setup.hpp"
#include "server/security/authenticator.hpp"
#include "server/system/client_facts.hpp"
#include "server/system/system_services.hpp"
#include "server/transport/leaf_door.hpp"
#include "server/websocket/websocket_door.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tern::server {
namespace {

// "host:port", where the host may be in brackets.
std::pair<std::string, int> split_address(const std::string& text, int default_port) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find(']', colon) != std::string::npos) return {text, default_port};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

}  // namespace

result<std::unique_ptr<server>> server::create(server_environment surroundings, options settings) {
  if (auto checked = check_options(settings); !checked) return std::unexpected(std::move(checked).error());
  return std::unique_ptr<server>(new server(surroundings, std::move(settings)));
}

server::server(server_environment surroundings, options settings)
    : surroundings_(surroundings),
      configured_(std::move(settings)),
      settings_(configured_),
      identity_(surroundings.loop.randomness()),
      started_(surroundings.loop.now()),
      config_loaded_(started_),
      processor_(started_),
      context_(surroundings.loop, settings_, surroundings.log, *this, surroundings.loop.randomness().next()),
      tls_handshakes_(surroundings.loop),
      workers_(surroundings.loop, surroundings.worker_threads),
      closed_(static_cast<std::size_t>(std::max<std::int64_t>(0, settings_.max_closed_clients))),
      lame_duck_timer_(surroundings.loop.timers(), [this] { close_next_lame_duck_client(); }) {
  if (settings_.server_name.empty()) settings_.server_name = identity_.id;
  context_.tracing = surroundings.log.trace_enabled();
  setup_ = std::make_unique<account_setup>(
      context_.accounts, context_.loop.timers(), [this] { return context_.now(); },
      [this](std::string& out, const routing::receiver* who, const routing::account& asking,
             const routing::account* service,
             bool share) { append_requester(out, who, asking.name(), service, share, settings_.server_name); });
  logins_ = std::make_unique<authenticator>(context_.accounts, workers_);
  context_.logins = logins_.get();
  adopt_security();
  if (settings_.disable_interest_cache)
    context_.accounts.for_each([](account_state& one) { one.interest.disable_cache(); });
}

server::~server() { stop(); }

result<void> server::start() {
  log_banner();
  if (settings_.http_port != 0 || settings_.https_port != 0) {
    monitor_ = std::make_unique<monitor>(*this);
    if (auto opened = monitor_->open(*surroundings_.network); !opened) return opened;
    log().info((settings_.https_port != 0 ? "Starting https monitor on " : "Starting http monitor on ") +
               monitor_->local().text());
  }
  if (settings_.jetstream.enabled) {
    auto host = jetstream_host::create(*this, settings_, surroundings_.disk);
    if (!host) return std::unexpected(std::move(host).error());
    jetstream_ = std::move(*host);
  }
  system_ = std::make_unique<system_services>(*this, context_.accounts.system().interest);
  if (context_.accounts.system_if_any() != nullptr)
    context_.accounts.for_each([this](account_state& one) { system_->serve(one.interest); });
  turn_end_ = context_.loop.at_turn_end([this] { end_turn(); });
  if (auto opened = open_listeners(); !opened) return opened;
  accepting_ = true;
  log().info("Server is ready");
  return {};
}

void server::log_banner() {
  const std::string program = runtime::host::program_name();
  log().info("Starting " + (program.empty() ? std::string("nats-server") : program));
  log().info("  Version:  " + std::string(protocol::compatible_version));
  log().info("  Git:      [tern " TERN_VERSION "]");
  log().info("  Name:     " + settings_.server_name);
  if (settings_.jetstream.enabled) log().info("  Node:     " + node_name(settings_.server_name));
  log().info("  ID:       " + identity_.id);
  if (settings_.max_payload > (8 << 20))
    log().warn("Maximum payloads over 8.00 MB are generally discouraged and could lead to poor performance");
  if (has_plain_passwords(settings_.security)) log().warn("Plaintext passwords detected, use nkeys or bcrypt");
  if (!settings_.config_file.empty())
    log().info("Using configuration file: " + settings_.config_file + " (" + settings_.config_digest + ")");
}

void server::adopt_security() {
  setup_->adopt(settings_.security);
  logins_->adopt(settings_.security);
}

result<void> server::open_listeners() {
  auto accepts = [this](std::unique_ptr<runtime::byte_stream> stream) { accept(std::move(stream)); };
  if (surroundings_.in_process != nullptr && !settings_.in_process_name.empty()) {
    auto opened = surroundings_.in_process->listen({.host = settings_.in_process_name, .in_process = true}, accepts);
    if (!opened) return std::unexpected(std::move(opened).error());
    in_process_listener_ = std::move(*opened);
  }
  if (surroundings_.network == nullptr || !settings_.listen_on_network) return {};
  if (settings_.websocket.port != 0) {
    websocket_ = std::make_unique<websocket_door>(
        context_.loop, settings_, tls_handshakes_, log(),
        [this](auto stream, auto front) { admit(std::move(stream), std::move(front), 0); });
    if (auto opened = websocket_->open(*surroundings_.network); !opened) return opened;
  }
  if (settings_.leafnodes.port != 0) {
    leafnodes_ = std::make_unique<leaf_door>(
        context_.loop, settings_, tls_handshakes_, log(), [this] { return base_info(); },
        [this] { return ++next_id_; });
    if (auto opened = leafnodes_->open(*surroundings_.network); !opened) return opened;
  }
  if (auto opened = open_client_listeners(accepts); !opened) return opened;
  if (settings_.tls) {
    log().info(settings_.allow_non_tls ? "TLS available for client connections"
                                       : "TLS required for client connections");
    if (settings_.tls->first == handshake_first::always)
      log().warn("Clients that are not using \"TLS Handshake First\" option will fail to connect");
  }
  return {};
}

// The client port first, whose address INFO tells; then what else `listen` names.
result<void> server::open_client_listeners(const std::function<void(std::unique_ptr<runtime::byte_stream>)>& accepts) {
  std::vector<runtime::endpoint> places = settings_.also_listen;
  if (settings_.port != no_tcp_port) {
    if (settings_.port < ephemeral_port || settings_.port > 65535) {
      const std::string port = std::to_string(settings_.port);
      return fail(errc::io_error, "Error listening on port: " + settings_.host + ":" + port +
                                      ", \"listen tcp: address " + port + ": invalid port\"");
    }
    const auto port = static_cast<std::uint16_t>(settings_.port == ephemeral_port ? 0 : settings_.port);
    places.insert(places.begin(), {.host = settings_.host, .port = port});
  }
  more_listeners_.clear();
  for (const runtime::endpoint& at : places) {
    auto opened = surroundings_.network->listen(at, accepts);
    if (!opened) {
      const bool first = settings_.port != no_tcp_port && &at == &places.front();
      return fail(errc::io_error, "Error listening on port: " +
                                      (first ? settings_.host + ":" + std::to_string(settings_.port) : at.text()) +
                                      ", " + opened.error().context());
    }
    log().info("Listening for client connections on " + (*opened)->local().text());
    if (settings_.port != no_tcp_port && &at == &places.front())
      listener_ = std::move(*opened);
    else
      more_listeners_.push_back(std::move(*opened));
  }
  return {};
}

void server::accept(std::unique_ptr<runtime::byte_stream> stream) {
  auto plan = plan_for_clients(settings_);
  std::unique_ptr<connection_front> front;
  const bool over_network = !stream->peer().in_process;
  if (over_network && plan.needed()) front = std::make_unique<connection_front>(tls_handshakes_, std::move(plan));
  admit(std::move(stream), std::move(front), over_network && settings_.tls ? settings_.tls->connection_rate_limit : 0);
}

void server::admit(std::unique_ptr<runtime::byte_stream> stream, std::unique_ptr<connection_front> front,
                   std::int64_t rate_limit) {
  const std::uint64_t id = ++next_id_;
  ++total_connections_;
  const bool full = std::cmp_greater_equal(connections_.size(), std::max<std::int64_t>(0, settings_.max_connections));
  auto& place = connections_[id];
  place = std::make_unique<connection>(context_, id, std::move(stream), std::move(front));
  if (!tls_rate_.take(rate_limit, context_.now()))
    place->refuse_throttled();
  else if (full)
    place->refuse_too_many();
  else
    place->start();
}

// What every INFO says, whoever gets it.
protocol::server_info server::base_info() const {
  protocol::server_info info;
  info.server_id = identity_.id;
  info.server_name = settings_.server_name;
  info.version = protocol::compatible_version;
  info.proto = 1;
  info.go = "go1.27.2";
  info.headers = !settings_.no_header_support;
  info.max_payload = settings_.max_payload;
  info.jetstream = settings_.jetstream.enabled;
  info.domain = settings_.jetstream.domain;
  info.api_lvl = 5;
  info.xkey = identity_.curve_key;
  return info;
}

void server::append_info(std::string& out, const connection& to, bool after_connect) {
  protocol::server_info info = base_info();
  info.host = settings_.host;
  info.port = listener_ ? listener_->local().port : 0;
  if (!settings_.client_advertise.empty())
    std::tie(info.host, info.port) = split_address(settings_.client_advertise, info.port);
  if (after_connect) info.max_payload = to.max_payload();
  info.auth_required = logins_->login_required() && settings_.security.no_auth_user.empty();
  if (!after_connect) info.nonce = to.nonce();
  info.client_id = to.id();
  if (!to.peer().in_process && !to.peer().unix_socket && to.address_is_known()) info.client_ip = to.peer().host;
  add_listener_facts(info, settings_, to);
  info.ldm = context_.lame_duck || to.told_to_leave();
  if (after_connect) {
    info.connect_info = true;
    info.remote_account = to.account().name();
    info.acc_is_sys = &to.account() == &context_.accounts.system();
  }
  protocol::append_info(out, info);
}

void server::on_connected(connection& what) {
  if (system_) system_->connected(what);
}

void server::publish_trace(const connection& of, const message_trace& what) {
  if (system_) system_->publish_trace(of.account().interest, what);
}

void server::on_closing(connection& what, close_reason why) {
  connection_report report = report_on(what, closed_subscriptions_max);
  report.stop = context_.now();
  report.reason = why;
  closed_.add(std::move(report));
  ++closings_;
  auto moved = connections_.extract(what.id());
  if (moved) ending_.insert(std::move(moved));
  if (system_ && what.connected())
    system_->disconnected(what, why);
  else if (system_)
    system_->refused(what, why);
}

void server::on_finished(connection& what) { finished_.push_back(what.id()); }

// First what makes output, then the output, then what nobody can refer to any more. A connection that closes meanwhile
// (it was too slow) drops interest, which may make output again.
void server::end_turn() {
  constexpr int rounds_max = 4;
  bool quiet = false;
  for (int round = 0; round < rounds_max && !quiet; ++round) {
    const std::uint64_t closings = closings_;
    if (system_) system_->run_waiting();
    context_.accounts.for_each([](account_state& one) { one.interest.end_turn(); });
    if (jetstream_) jetstream_->commit();
    // By index: flushing may end a connection, whose last words go on the list.
    for (std::size_t at = 0; at < context_.dirty.size(); ++at) context_.dirty[at]->flush();
    context_.dirty.clear();
    quiet = closings_ == closings;
  }
  if (!quiet) {
    context_.accounts.for_each([](account_state& one) { one.interest.end_turn(); });
    context_.loop.post([] {});  // the rest in another turn
  }
  for (const std::uint64_t id : finished_) ending_.erase(id);
  finished_.clear();
}

// --- the end -------------------------------------------------------------------------------------------------------

void server::enter_lame_duck(std::move_only_function<void()> done) {
  if (context_.lame_duck) return;
  context_.lame_duck = true;
  accepting_ = false;
  lame_duck_done_ = std::move(done);
  log().info("Entering lame duck mode, stop accepting new clients");
  if (system_) system_->entering_lame_duck();
  close_listeners();
  if (connections_.empty()) {
    context_.loop.post([this] { lame_duck_done_(); });
    return;
  }
  std::vector<connection*> told;  // telling one may close it
  for (const auto& [id, one] : connections_) told.push_back(one.get());
  for (connection* one : told) one->send_lame_duck_info();
  lame_duck_timer_.arm(context_.now() + settings_.lame_duck_grace_period);
}

void server::close_next_lame_duck_client() {
  if (lame_duck_interval_ == nanoseconds(0)) {
    log().info("Closing existing clients");
    // Spread over what is left, at most a second apart (core 2.12).
    const auto left = settings_.lame_duck_duration - settings_.lame_duck_grace_period;
    const auto clients = static_cast<std::int64_t>(std::max<std::size_t>(1, connections_.size()));
    lame_duck_interval_ = std::clamp<nanoseconds>(left / clients, nanoseconds(1), std::chrono::seconds(1));
  }
  if (!connections_.empty()) connections_.begin()->second->close(close_reason::server_shutdown);
  if (connections_.empty()) {
    context_.loop.post([this] { lame_duck_done_(); });
    return;
  }
  const auto half = static_cast<std::uint64_t>(lame_duck_interval_.count() / 2);
  lame_duck_timer_.arm(context_.now() +
                       nanoseconds(static_cast<std::int64_t>(half + context_.ids.random() % (half + 1))));
}

void server::stop() {
  if (!turn_end_) {
    close_listeners();
    monitor_.reset();
    return;
  }
  accepting_ = false;
  log().info("Initiating Shutdown...");
  close_listeners();
  lame_duck_timer_.disarm();
  if (jetstream_) jetstream_->shutdown();
  system_->shutting_down();
  end_turn();
  while (!connections_.empty()) connections_.begin()->second->close(close_reason::server_shutdown);
  for (auto& [id, one] : ending_) one->abandon();
  end_turn();
  jetstream_.reset();
  system_.reset();
  monitor_.reset();
  websocket_.reset();
  leafnodes_.reset();
  turn_end_.reset();
  log().info("Server Exiting..");
}

void server::suspend() {
  close_listeners();
  while (!connections_.empty()) connections_.begin()->second->close(close_reason::server_shutdown);
}

result<void> server::resume() { return open_listeners(); }

void server::close_listeners() {
  listener_.reset();
  more_listeners_.clear();
  in_process_listener_.reset();
  if (websocket_) websocket_->close();
  if (leafnodes_) leafnodes_->close();
}

const runtime::endpoint* server::websocket_endpoint() const {
  return websocket_ && websocket_->listening() ? &websocket_->local() : nullptr;
}

double server::processor_percent() {
  constexpr nanoseconds window = std::chrono::seconds(1);
  const time_point now = context_.now();
  // Between two looks the last answer stays, so that one who asks often does not see his own asking.
  if (processor_seen_ != time_point{} && now - processor_seen_ < window) return processor_percent_;
  processor_seen_ = now;
  processor_percent_ = std::round(processor_.percent(now) * 10) / 10;
  return processor_percent_;
}

const runtime::endpoint* server::leafnode_endpoint() const {
  return leafnodes_ && leafnodes_->listening() ? &leafnodes_->local() : nullptr;
}

const runtime::endpoint* server::monitor_endpoint() const { return monitor_ ? &monitor_->local() : nullptr; }

jetstream::engine* server::jetstream() { return jetstream_ ? &jetstream_->engine() : nullptr; }

}  // namespace tern::server
