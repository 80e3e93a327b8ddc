#include "server/connection/connection.hpp"

#include "protocol/headers.hpp"
#include "protocol/info.hpp"
#include "protocol/subject.hpp"
#include "protocol/writer.hpp"
#include "server/system/message_trace.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tern::server {

using runtime::io_state;

namespace {

constexpr std::int64_t unlimited = -1;
constexpr nanoseconds first_ping_max = std::chrono::seconds(2);
constexpr nanoseconds round_trip_valid = std::chrono::hours(1);

}  // namespace

connection::connection(server_context& server, std::uint64_t id, std::unique_ptr<runtime::byte_stream> stream,
                       std::unique_ptr<connection_front> front)
    : server_(server),
      account_(&server.accounts.global()),
      id_(id),
      stream_(std::move(stream)),
      front_(std::move(front)),
      output_(server.blocks),
      parser_(static_cast<std::size_t>(std::max<std::int64_t>(0, server.settings.max_control_line))),
      ping_timer_(server.loop.timers(), [this] { on_ping_timer(); }),
      started_(server.now()),
      last_activity_(server.now()) {}

connection::~connection() {
  if (phase_ != phase::finished) remove_all_subscriptions();
}

void connection::start() {
  if (server_.log.debug_enabled()) debug("Client connection created");
  prepare_login();
  if (front_ && front_->begin(*this)) return;
  send_info(false);
  flush();
  begin_protocol({});
}

// Once whatever comes before the protocol is done; INFO was sent. Timers of the protocol begin here (core 1.3).
void connection::begin_protocol(std::string_view already_read) {
  if (phase_ != phase::open) return;
  ping_timer_.arm(server_.now() + ping_interval());
  if (login_ && !connected_) login_->patience.arm(server_.now() + server_.logins->timeout());
  stream_->on_readable([this] { on_readable(); });
  stream_->resume_reading();
  if (!already_read.empty()) process(already_read);
}

void connection::refuse_too_many() {
  server_.log.error(label() + "maximum connections exceeded");
  refuse("maximum connections exceeded");
}

void connection::refuse_throttled() { refuse("Connection throttling is active. Please try again later."); }

void connection::refuse(std::string_view error) {
  send_info(false);
  send_error(error);
  stream_->on_readable([this] { on_readable(); });
  close(close_reason::max_connections);
}

// --- reading -------------------------------------------------------------------------------------------------------

void connection::on_readable() {
  if (phase_ == phase::lingering) return swallow();
  if (phase_ == phase::finished || stalled_ || (login_ && login_->pending)) return;
  const runtime::io_result got = stream_->read(server_.read_buffer);
  switch (got.state) {
    case io_state::done:
      return process({server_.read_buffer.data(), got.bytes});
    case io_state::would_block:
      return;
    case io_state::end_of_stream:
      input_ended_ = true;
      return close(output_failed_ ? close_reason::write_error : close_reason::client_closed);
    case io_state::failed:
      return close(output_failed_ ? close_reason::write_error : close_reason::read_error);
  }
}

void connection::process(std::string_view bytes) {
  const protocol::parse_outcome outcome = parser_.consume(bytes, *this);
  switch (outcome) {
    case protocol::parse_outcome::more:
      stall_spent_ = false;
      return;
    case protocol::parse_outcome::stopped:
      return;
    case protocol::parse_outcome::paused:
      (login_ && login_->pending ? login_->held : in_trouble().held).assign(bytes.substr(parser_.taken()));
      return;
    case protocol::parse_outcome::unknown_operation:
      server_.log.error(label() + parser_.fault().log_line("Client"));
      send_error("Unknown Protocol Operation");
      return close(close_reason::protocol_violation);
    case protocol::parse_outcome::bad_argument:
      server_.log.error(label() + parser_.fault().argument);
      return close(close_reason::protocol_violation);
    case protocol::parse_outcome::control_line_too_long:
      server_.log.error(label() + "maximum control line exceeded");
      send_error("maximum control line exceeded");
      return close(close_reason::max_control_line);
    case protocol::parse_outcome::payload_too_large:
      send_error("Maximum Payload Violation");
      return close(close_reason::max_payload);
  }
}

// A client that was told why reads it only if what it sends meanwhile is taken off its hands (core 2, max_payload).
void connection::swallow() {
  constexpr std::size_t swallow_max = 64 << 20;
  const runtime::io_result got = stream_->read(server_.read_buffer);
  if (got.state == io_state::would_block) return;
  trouble& state = in_trouble();
  if (got.state == io_state::done && (state.swallowed += got.bytes) < swallow_max) return;
  input_ended_ = true;
  if (output_.empty() || got.state == io_state::failed || state.swallowed >= swallow_max)
    finish();
  else
    stream_->pause_reading();
}

// --- operations ----------------------------------------------------------------------------------------------------

protocol::verdict connection::on_connect(std::string_view json) {
  if (server_.tracing) trace("<<-", "CONNECT " + protocol::redact_connect(json));
  // A second CONNECT says what changes (the peer decodes both into one record).
  protocol::connect_options before;
  if (connected_) {
    before = {.verbose = verbose_, .pedantic = pedantic_, .echo = echo_};
    before.name = identity_.name, before.lang = identity_.language, before.version = identity_.version;
    before.protocol = protocol_, before.headers = headers_, before.no_responders = no_responders_;
  }
  auto asked = protocol::read_connect(json, before);
  if (!asked) return verdict::bad_argument;
  if (front_) front_->complete(*asked);
  return log_in(*std::move(asked));
}

bool connection::accept_connect(const protocol::connect_options& asked) {
  identity_ = {asked.name, asked.lang, asked.version};
  verbose_ = asked.verbose;
  pedantic_ = asked.pedantic;
  echo_ = asked.echo;
  protocol_ = asked.protocol;
  headers_ = asked.headers && !server_.settings.no_header_support;
  no_responders_ = asked.no_responders;
  last_activity_ = server_.now();
  if (protocol_ < 0 || protocol_ > 1) {
    send_error("invalid client protocol");
    close(close_reason::bad_protocol_version);
    return false;
  }
  if (no_responders_ && !headers_) {
    send_error("no responders requires headers support");
    close(close_reason::no_responders_requires_headers);
    return false;
  }
  if (!std::exchange(connected_, true)) {
    round_trip_ = std::max(nanoseconds(1), server_.now() - started_);
    const nanoseconds first = std::min(ping_interval(), first_ping_max);
    const auto spread =
        static_cast<std::int64_t>(server_.ids.random() % static_cast<std::uint64_t>(first.count() / 5 + 1));
    ping_timer_.arm(server_.now() + first + nanoseconds(spread));
    server_.owner.on_connected(*this);
  }
  return true;
}

protocol::verdict connection::on_publish_start(const protocol::message_head& head) {
  if (head.with_header && !headers_) return verdict::bad_argument;
  if (server_.tracing) trace("<<-", std::string(head.with_header ? "HPUB " : "PUB ").append(head.line));
  const std::int64_t limit = max_payload();
  if (limit != unlimited && static_cast<std::int64_t>(head.total_size) > limit) {
    server_.log.error(label() + "maximum payload exceeded: " + std::to_string(head.total_size) + " vs " +
                      std::to_string(limit));
    return verdict::payload_too_large;
  }
  if (pedantic_ && !protocol::is_valid_literal(head.subject)) send_error("Invalid Publish Subject");
  return verdict::go_on;
}

protocol::verdict connection::on_publish(const protocol::message_frame& message) {
  ++counts_.in_messages;
  counts_.in_bytes += message.body.size();
  for (traffic* sum : {&server_.totals, &account_->counts}) {
    ++sum->in_messages;
    sum->in_bytes += message.body.size();
  }
  last_activity_ = server_.now();
  if (server_.tracing) trace_payload("<<-", message.header(), message.payload());
  // Mappings come before permissions (core 3.3).
  std::string mapped;
  std::string_view subject = message.subject;
  if (const routing::subject_map& mappings = account_->interest.mappings(); !mappings.empty()) {
    const auto outcome = mappings.map(subject, account_->interest.draw(), mapped);
    if (outcome == routing::subject_map::outcome::lost) return verdict::go_on;
    if (outcome == routing::subject_map::outcome::mapped) subject = mapped;
  }
  if (!may_publish(subject, message.reply)) return verdict::go_on;
  if (verbose_) send_ok();
  route(message, subject);
  if (phase_ != phase::open) return verdict::stop;
  return stalled_ ? verdict::pause : verdict::go_on;
}

void connection::route(const protocol::message_frame& message, std::string_view subject) {
  server_context::publish_in_progress own;
  own.from = this;
  own.body_and_crlf = message.body_and_crlf();
  own.buffer = message.buffer;
  auto* const outer = std::exchange(server_.publishing, &own);
  const routing::message what{subject, message.reply, message.header(), message.payload()};
  std::optional<message_trace> trace;
  if (!what.headers.empty() && (trace = message_trace::asked_by(what))) {
    trace->entered(*this, account_->name(), what.subject, server_.now());
    own.trace = &*trace;
  }
  auto* const outer_observer = std::exchange(server_.observer, own.trace);
  const std::size_t taken = account_->interest.publish(what, {.self = this, .echo = echo_});
  server_.publishing = outer;
  server_.observer = outer_observer;
  if (trace && taken != 0) server_.owner.publish_trace(*this, *trace);  // while the message is there
  if (own.shared != nullptr && --own.shared->references == 0) delete own.shared;
  if (phase_ != phase::open) return;
  if (taken == 0 && no_responders_ && !message.reply.empty()) answer_no_responders(message);
  if (trace && taken == 0) server_.owner.publish_trace(*this, *trace);
  if (own.slow_receiver != nullptr && !stall_spent_ && own.slow_receiver != this) {
    in_trouble().receiver = own.slow_receiver;
    stall();
  }
}

// On the requester's own plain subscription; not counted against its maximum (core 2.8).
void connection::answer_no_responders(const protocol::message_frame& message) {
  const routing::subscription* to = account_->interest.find_plain(*this, message.reply);
  if (to == nullptr) return;
  std::string line;
  const std::string block = protocol::status_block(503, {}, {{"Nats-Subject", message.subject}});
  protocol::append_message(line, message.reply, to->sid, {}, block, {});
  if (server_.tracing) trace("->>", std::string_view(line).substr(0, line.find('\r')));
  send(line);
}

protocol::verdict connection::on_subscribe(std::string_view subject, std::string_view queue, std::string_view sid) {
  if (server_.tracing) trace("<<-", std::string("SUB ").append(parser_.line()));
  last_activity_ = server_.now();
  if (queue == "_sys_") {
    send_error("Permissions Violation for Subscription to " + protocol::quoted(subject) + " using queue \"_sys_\"");
    return verdict::go_on;
  }
  bool in_part = false;
  if (rights_ && !has_permission_to_subscribe(subject, queue, sid, in_part)) return verdict::go_on;
  const options& settings = server_.settings;
  if (settings.max_subscription_tokens > 0 &&
      protocol::token_count(subject) > static_cast<std::size_t>(settings.max_subscription_tokens)) {
    send_error("Permissions Violation for Subscription to " + protocol::quoted(subject) + ", too many tokens");
    return verdict::go_on;
  }
  const std::int64_t most = subscriptions_max();
  if (most != unlimited && std::cmp_greater_equal(subscriptions_.size(), most)) {
    server_.log.error(label() + "maximum subscriptions exceeded");
    send_error("maximum subscriptions exceeded");
    return verdict::go_on;
  }
  if (subscriptions_.find(sid) == nullptr) {
    if (!protocol::is_valid_subject(subject)) {
      send_error("Invalid Subject");
      return verdict::go_on;
    }
    routing::subscription* const made = account_->interest.subscribe(*this, subject, queue, sid);
    made->tag = in_part ? 1 : 0;
    subscriptions_.insert(made);
  }
  if (verbose_) send_ok();
  return verdict::go_on;
}

std::int64_t connection::subscriptions_max() const {
  const std::int64_t of_server = server_.settings.max_subscriptions;
  return limit(of_server > 0 ? of_server : unlimited, account_->limits.max_subscriptions);
}

protocol::verdict connection::on_unsubscribe(std::string_view sid, std::uint64_t max) {
  if (server_.tracing) trace("<<-", std::string("UNSUB ").append(parser_.line()));
  last_activity_ = server_.now();
  if (routing::subscription* what = subscriptions_.find(sid); what != nullptr) {
    // Counted from the start of the subscription (core 2.7).
    if (max > what->delivered)
      what->maximum = max;
    else
      remove(*what);
  }
  if (verbose_) send_ok();
  return verdict::go_on;
}

protocol::verdict connection::on_ping() {
  if (server_.tracing) trace("<<-", "PING"), trace("->>", "PONG");
  last_ping_from_client_ = server_.now();
  send(protocol::pong_line);
  if (connected_ && !std::exchange(first_pong_sent_, true) && protocol_ >= 1) send_info(true);
  return verdict::go_on;
}

protocol::verdict connection::on_pong() {
  if (server_.tracing) trace("<<-", "PONG");
  if (pings_outstanding_ > 0) {
    pings_outstanding_ = 0;
    round_trip_at_ = server_.now();
    round_trip_ = std::max(nanoseconds(1), server_.now() - ping_sent_at_);
  }
  return verdict::go_on;
}

protocol::verdict connection::on_error(std::string_view text) {
  server_.log.error(label() + "Client Error " + std::string(text));
  close(close_reason::parse_error);
  return verdict::stop;
}

protocol::verdict connection::on_info(std::string_view json) {
  return protocol::read_info(json) ? verdict::go_on : verdict::bad_argument;
}

void connection::remove(routing::subscription& what) {
  if (server_.tracing) trace("<->", "DELSUB " + what.sid);
  subscriptions_.erase(&what);
  account_->interest.unsubscribe(&what);
}

void connection::remove_all_subscriptions() {
  subscriptions_.each([this](routing::subscription& what) { account_->interest.unsubscribe(&what); });
  subscriptions_.clear();
}

nanoseconds connection::ping_interval() const {
  const nanoseconds own = server_.settings.websocket.ping_interval;
  const bool over_websocket = facts() != nullptr && facts()->websocket.has_value();
  return over_websocket && own > nanoseconds(0) ? own : server_.settings.ping_interval;
}

// --- timers --------------------------------------------------------------------------------------------------------

void connection::on_ping_timer() {
  const time_point now = server_.now();
  const nanoseconds interval = ping_interval();
  ping_timer_.arm(now + interval);
  const bool active = now - std::max(last_activity_, last_ping_from_client_) < interval;
  const bool measured = round_trip_at_ != time_point{} && now - round_trip_at_ < round_trip_valid;
  if (active && measured) return;
  if (++pings_outstanding_ > server_.settings.ping_max) {
    ++server_.stale_connections;
    if (server_.log.debug_enabled()) debug("Stale Client Connection - Closing");
    send_error("Stale Connection");
    return close(close_reason::stale_connection);
  }
  if (server_.tracing) trace("->>", "PING");
  ping_sent_at_ = now;
  send(protocol::ping_line);
}

// --- the end -------------------------------------------------------------------------------------------------------

void connection::close(close_reason why) {
  constexpr nanoseconds linger_max = std::chrono::seconds(2);
  if (phase_ != phase::open) return;
  if (server_.log.debug_enabled()) debug("Client connection closed: " + std::string(to_word(why)));
  leave_account();
  server_.owner.on_closing(*this, why);
  if (front_) front_->closing(why);
  remove_all_subscriptions();
  ping_timer_.disarm();
  phase_ = phase::lingering;
  if (stalled_) std::erase(server_.stalled, this), stalled_ = false;
  const bool silent = why == close_reason::slow_consumer_pending || why == close_reason::slow_consumer_deadline ||
                      why == close_reason::read_error || why == close_reason::write_error ||
                      why == close_reason::tls_handshake_failure;
  if (silent) return finish();
  flush();
  if (phase_ != phase::lingering) return;
  if (output_.empty()) {
    if (input_ended_) return finish();
    stream_->shutdown_write();
  }
  in_trouble().deadline.arm(server_.now() + linger_max);
  if (!input_ended_) stream_->resume_reading();
}

void connection::close_with_error(std::string_view text, close_reason why) {
  if (phase_ != phase::open) return;
  send_error(text);
  close(why);
}

void connection::adopt_settings() {
  parser_.set_max_control_line(static_cast<std::size_t>(std::max<std::int64_t>(0, server_.settings.max_control_line)));
}

void connection::end_linger() { finish(); }

void connection::abandon() {
  if (phase_ == phase::open) {
    leave_account();
    server_.owner.on_closing(*this, close_reason::server_shutdown);
    remove_all_subscriptions();
  }
  finish();
}

void connection::finish() {
  if (phase_ == phase::finished) return;
  phase_ = phase::finished;
  output_.clear();
  if (trouble_) trouble_->deadline.disarm(), trouble_->pause.disarm();
  stream_->close();
  server_.owner.on_finished(*this);
}

connection::trouble& connection::in_trouble() {
  if (!trouble_) trouble_ = std::make_unique<trouble>(*this);
  return *trouble_;
}

// --- log -----------------------------------------------------------------------------------------------------------

const runtime::endpoint& connection::peer() const {
  const connection_facts* const known = facts();
  return known != nullptr && known->proxied_peer ? *known->proxied_peer : stream_->peer();
}

std::string connection::label() const {
  const websocket_facts* const web = facts() != nullptr && facts()->websocket ? &*facts()->websocket : nullptr;
  std::string out = peer().in_process ? "pipe" : peer().text();
  if (web != nullptr && !web->forwarded_for.empty()) out.insert(0, web->forwarded_for + "/");
  out.append(web != nullptr ? " - wid:" : " - cid:").append(std::to_string(id_)).append(" - ");
  if (!identity_.name.empty() || !identity_.language.empty() || !identity_.version.empty()) {
    out.append("\"v").append(identity_.version).append(":").append(identity_.language);
    if (!identity_.name.empty()) out.append(":").append(identity_.name);
    out.append("\" - ");
  }
  if (rights_ && !rights_->who.user.empty())
    out.append("\"")
        .append(account_->name())
        .append(rights_->who.is_nkey ? "/nkey:" : "/user:")
        .append(rights_->who.user)
        .append("\" - ");
  return out;
}

void connection::debug(std::string_view text) const { server_.log.debug(label().append(text)); }

void connection::trace(std::string_view arrow, std::string_view text) const {
  server_.log.trace(label().append(arrow).append(" [").append(text).append("]"));
}

void connection::trace_payload(std::string_view arrow, std::string_view headers, std::string_view payload) const {
  const auto limit = static_cast<std::size_t>(server_.settings.max_traced_message);
  // With trace_headers the header block is shown instead, without its end (core 4.7).
  std::string_view shown = server_.settings.trace_headers
                               ? headers.substr(0, headers.size() - std::min<std::size_t>(headers.size(), 4))
                               : payload;
  if (shown.empty()) return;
  std::string text(limit != 0 && shown.size() > limit ? shown.substr(0, limit) : shown);
  if (text.size() < shown.size()) text.append("...");
  server_.log.trace(label().append(arrow).append(" MSG_PAYLOAD: [").append(protocol::quoted(text)).append("]"));
}

}  // namespace tern::server
