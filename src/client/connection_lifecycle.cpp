// From dialling to closing: servers in turn, the greeting, pings, the way back after a loss, draining, the end.
#include "client/connection_core.hpp"
#include "protocol/connect.hpp"
#include "protocol/writer.hpp"

namespace tern::client::detail {
namespace {

// What is buffered may take so long to leave when a connection closes.
constexpr nanoseconds close_patience = std::chrono::seconds(2);
constexpr std::size_t read_buffer_bytes = 64 * 1024;

error closed_error() { return error(errc::closed, "the connection is closed"); }

}  // namespace

void connection_core::start(std::shared_ptr<operation_state<connection>> opening) {
  opening_ = std::move(opening);
  self_ = shared_from_this();
  auto servers = server_list::make(options_.get(), loop_.randomness());
  if (!servers) return finish_close(servers.error());
  servers_ = *std::move(servers);
  read_buffer_.resize(read_buffer_bytes);
  turn_end_ = loop_.at_turn_end([this] {
    if (drain_waiter_) look_at_drain();
    if (outbox_.has_work()) flush_outbox();
  });
  dial();
}

void connection_core::dial() {
  phase_ = phase::dialling;
  const nanoseconds patience = options_.get().connect_timeout;
  handshake_timer_.arm(loop_.time().now() + patience);
  network_.connect(servers_->current().at, patience,
                   [weak = weak_from_this(), attempt = ++dial_](result<std::unique_ptr<runtime::byte_stream>> outcome) {
                     if (const auto self = weak.lock()) self->dialled(attempt, std::move(outcome));
                   });
}

void connection_core::dialled(std::uint64_t attempt, result<std::unique_ptr<runtime::byte_stream>> outcome) {
  if (phase_ != phase::dialling || attempt != dial_) return;  // given up meanwhile
  if (!outcome) return attempt_failed(outcome.error());
  phase_ = phase::handshaking;
  secured_ = false;
  greeted_ = false;
  last_server_error_.clear();
  writing_.clear();
  written_ = 0;
  write_blocked_ = false;
  open_stream(*std::move(outcome));
}

protocol::verdict connection_core::on_info(std::string_view json) {
  const auto info = protocol::read_info(json);
  if (!info) {
    lost(error(errc::protocol_error, "the server's INFO cannot be read: " + info.error().message()));
    return protocol::verdict::stop;
  }
  {
    const std::lock_guard lock(server_mutex_);
    server_ = {.id = info->server_id,
               .name = info->server_name,
               .version = info->version,
               .address = servers_->current().text(),
               .client_id = info->client_id,
               .max_payload = info->max_payload,
               .headers = info->headers,
               .jetstream = info->jetstream,
               .lame_duck = info->ldm,
               .domain = info->domain,
               .cluster = info->cluster};
  }
  max_payload_.store(info->max_payload, std::memory_order_relaxed);
  server_takes_headers_.store(info->headers, std::memory_order_relaxed);
  if (options_.get().discover_servers && !info->connect_urls.empty()) servers_->discovered(info->connect_urls);
  if (phase_ == phase::handshaking && !greeted_) {
    const bool insisted = servers_->current().scheme == server_scheme::tls;
    if (!secured_ && (info->tls_required || (insisted && info->tls_available))) {
      secure_soon();
      return protocol::verdict::stop;
    }
    if (!secured_ && insisted) {
      attempt_failed(error(errc::unsupported, "the server has no TLS, which its URL insists on"));
      return protocol::verdict::stop;
    }
    greet();
  } else if (info->ldm) {
    emit({.what = connection_event::kind::lame_duck, .server = servers_->current().text()});
  }
  return stream_ != nullptr ? protocol::verdict::go_on : protocol::verdict::stop;
}

void connection_core::greet() {
  const auto& with = options_.get();
  const auto& server = servers_->current();
  protocol::connect_options hello;
  hello.verbose = with.verbose;
  hello.pedantic = with.pedantic;
  hello.echo = !with.no_echo;
  hello.user = server.user;
  hello.pass = server.password;
  hello.auth_token = server.token;
  hello.name = with.name;
  hello.lang = "c++";
  hello.version = TERN_VERSION;
  hello.protocol = 1;
  hello.headers = true;
  hello.no_responders = server_takes_headers_.load(std::memory_order_relaxed);
  greeted_ = true;
  protocol::append_connect(writing_, hello);
  writing_ += protocol::ping_line;
  write_some();
}

void connection_core::established() {
  handshake_timer_.disarm();
  phase_ = phase::connected;
  servers_->connected();
  pings_out_ = 0;
  const bool again = std::exchange(was_connected_, true);
  append_resubscriptions(writing_);
  outbox_.set_mode(outbox::mode::connected);
  if (state() != connection_state::draining) state_.store(connection_state::connected, std::memory_order_release);
  if (options_.get().ping_interval > nanoseconds::zero()) {
    ping_timer_.arm(loop_.time().now() + options_.get().ping_interval);
  }
  if (!again) {
    emit({.what = connection_event::kind::connected, .server = servers_->current().text()});
    if (opening_) {
      auto opening = std::exchange(opening_, nullptr);
      opening->complete(connection(handle_of(std::exchange(self_, nullptr))));
    }
  } else {
    reconnects_.fetch_add(1, std::memory_order_relaxed);
    emit({.what = connection_event::kind::reconnected,
          .server = servers_->current().text(),
          .gap = loop_.time().now() - lost_at_});
    // A sink may take its own interest back, but that is a command: the table stays as it is meanwhile.
    for (const auto& [sid, entry] : interests_) entry->sink->on_reconnected();
  }
  flush_outbox();
}

void connection_core::attempt_failed(error why) {
  drop_stream();
  if (phase_ == phase::closing || phase_ == phase::closed) return;
  phase_ = phase::pausing;
  const std::string tried = servers_->current().text();
  const bool round_over = servers_->advance();
  if (!was_connected_ && round_over && !options_.get().retry_first_connect) {
    const errc code = why.code() == errc::unsupported ? errc::unsupported : errc::connect_failed;
    return finish_close(error(code, "connecting to " + tried + ": " + why.message()));
  }
  if (!round_over) {
    pause_timer_.arm(loop_.time().now());  // the next server, once this turn's stack has unwound
    return;
  }
  pause_before_next_round();
}

void connection_core::pause_before_next_round() {
  phase_ = phase::pausing;
  if (was_connected_ && servers_->rounds() >= options_.get().max_reconnects) {
    return finish_close(error(errc::disconnected, "no server could be reached again"));
  }
  pause_timer_.arm(loop_.time().now() + servers_->pause(loop_.randomness()));
}

void connection_core::lost(error why) {
  if (phase_ == phase::closing) return finish_close(closed_error());
  if (!last_server_error_.empty()) why = error(why.code(), "the server said '" + last_server_error_ + "'");
  if (phase_ != phase::connected) return attempt_failed(std::move(why));
  drop_stream();
  ping_timer_.disarm();
  outbox_.set_mode(outbox::mode::disconnected);
  if (state() != connection_state::draining) state_.store(connection_state::reconnecting, std::memory_order_release);
  lost_at_ = loop_.time().now();
  phase_ = phase::pausing;
  emit({.what = connection_event::kind::disconnected, .server = servers_->current().text(), .reason = why});
  for (auto& waiter : std::exchange(flushes_, {})) {
    if (waiter) waiter->finish(fail(errc::disconnected, "the connection was lost before the server had answered"));
  }
  for (const auto& [sid, entry] : interests_) entry->sink->on_disconnected();
  if (servers_->size() > 1) servers_->advance();
  servers_->connected();  // the loss begins round one
  pause_before_next_round();
}

void connection_core::drop_stream() {
  handshake_timer_.disarm();
  stream_opening_ = nullptr;
  if (stream_ != nullptr) stream_->close();
  stream_ = nullptr;
}

void connection_core::on_handshake_timeout() {
  if (phase_ != phase::dialling && phase_ != phase::handshaking) return;
  attempt_failed(error(errc::timeout, phase_ == phase::dialling ? "no answer to the connection attempt in time"
                                                                : "the server did not greet in time"));
}

void connection_core::on_ping_timer() {
  if (phase_ != phase::connected) return;
  if (pings_out_ >= options_.get().pings_outstanding) {
    return lost(error(errc::disconnected, "the server has not answered " + std::to_string(pings_out_) + " pings"));
  }
  ++pings_out_;
  (void)outbox_.control(protocol::ping_line, [this] { flushes_.push_back(nullptr); });
  ping_timer_.arm(loop_.time().now() + options_.get().ping_interval);
}

protocol::verdict connection_core::on_ping() {
  (void)outbox_.control(protocol::pong_line);
  return protocol::verdict::go_on;
}

protocol::verdict connection_core::on_pong() {
  if (phase_ == phase::handshaking) {
    established();
    return stream_ != nullptr ? protocol::verdict::go_on : protocol::verdict::stop;
  }
  pings_out_ = 0;
  last_server_error_.clear();  // it was not one that ends the connection
  if (!flushes_.empty()) {
    const auto waiter = std::move(flushes_.front());
    flushes_.pop_front();
    if (waiter) waiter->finish({});
  }
  return stream_ != nullptr ? protocol::verdict::go_on : protocol::verdict::stop;
}

protocol::verdict connection_core::on_error(std::string_view text) {
  last_server_error_ = text;
  if (phase_ == phase::handshaking) {
    attempt_failed(error(errc::connect_failed, "the server said '" + last_server_error_ + "'"));
    return protocol::verdict::stop;
  }
  server_errors_.fetch_add(1, std::memory_order_relaxed);
  emit({.what = connection_event::kind::server_error,
        .server = servers_->current().text(),
        .reason = error(errc::protocol_error, last_server_error_)});
  if (text.starts_with("Permissions Violation for Subscription to ")) {
    permission_denied(text);
    last_server_error_.clear();  // the connection stays
  } else if (text.starts_with("Permissions Violation")) {
    last_server_error_.clear();
  }
  return stream_ != nullptr ? protocol::verdict::go_on : protocol::verdict::stop;
}

void connection_core::emit(connection_event event) {
  if (!options_.get().on_event) return;
  try {
    options_.get().on_event(event);
  } catch (...) {  // a listener of events has nobody to report to
  }
}

operation<void> connection_core::close() {
  auto state = std::make_shared<operation_state<void>>(loop_identity());
  if (this->state() == connection_state::closed) {
    state->complete({});
  } else {
    loop_.post([self = shared_from_this(), state] { self->begin_close([state] { state->complete({}); }); });
  }
  return operation<void>(state);
}

void connection_core::abandon() {
  const auto own = own_;
  loop_.post([self = shared_from_this(), own] {
    self->begin_close([own] {
      if (own) own->loop().stop();
    });
  });
  if (own) own->wait();
}

void connection_core::begin_close(std::move_only_function<void()> done) {
  if (phase_ == phase::closed) return done();
  when_closed_.push_back(std::move(done));
  if (phase_ == phase::closing) return;
  if (phase_ != phase::connected) return finish_close(closed_error());
  phase_ = phase::closing;
  // What the socket does not swallow now is continued by on_writable_once(), until the timer.
  if (!write_some()) {
    if (phase_ == phase::closing) close_timer_.arm(loop_.time().now() + close_patience);
    // The rest of the outbox follows in the same string: an operation may stand cut in writing_.
    std::string rest;
    if (outbox_.take(rest, commands_)) {
      carry_out_commands();
      writing_ += rest;
    }
    return;
  }
  if (outbox_.take(writing_, commands_)) carry_out_commands();
  if (write_some()) return finish_close(closed_error());
  if (phase_ == phase::closing) close_timer_.arm(loop_.time().now() + close_patience);
}

void connection_core::finish_close(const error& why) {
  if (phase_ == phase::closed) return;
  const auto self = std::exchange(self_, nullptr);  // may be the last owner
  const bool asked = !when_closed_.empty();
  if (stream_ != nullptr && phase_ == phase::closing) stream_->shutdown_write();
  drop_stream();
  phase_ = phase::closed;
  state_.store(connection_state::closed, std::memory_order_release);
  outbox_.set_mode(outbox::mode::closed);
  for (auto* timer : {&handshake_timer_, &pause_timer_, &ping_timer_, &close_timer_}) timer->disarm();
  if (drain_deadline_) drain_deadline_->disarm();
  turn_end_.reset();
  drain_waiter_ = nullptr;
  drained_.clear();
  // What was asked for and never left gets its answer with the rest.
  std::string unsent;
  if (outbox_.take(unsent, commands_)) carry_out_commands();
  end_everything(asked ? closed_error() : error(errc::closed, "the connection is closed: " + why.message()));
  if (opening_) {
    std::exchange(opening_, nullptr)->complete(std::unexpected(why));
    if (own_) own_->loop().stop();  // nobody has a handle
  } else {
    emit({.what = connection_event::kind::closed, .reason = asked ? closed_error() : why});
  }
  for (auto& done : std::exchange(when_closed_, {})) done();
}

operation<void> connection_core::drain() {
  auto state = std::make_shared<operation_state<void>>(loop_identity());
  loop_.post([self = shared_from_this(), state] { self->begin_drain(state); });
  return operation<void>(state);
}

void connection_core::begin_drain(std::shared_ptr<operation_state<void>> waiter) {
  if (phase_ == phase::closed || phase_ == phase::closing || state() == connection_state::draining) {
    waiter->complete(fail(errc::closed, "the connection is closed or draining"));
    return;
  }
  state_.store(connection_state::draining, std::memory_order_release);
  drain_deadline_.emplace(loop_.timers(), [this, waiter] {
    begin_close([waiter] { waiter->complete(fail(errc::timeout, "draining took too long")); });
  });
  drain_deadline_->arm(loop_.time().now() + options_.get().drain_timeout);
  std::string lines;
  for (const auto& [sid, entry] : interests_) {
    if (!entry->sink->drains() || entry->draining) continue;
    entry->draining = true;
    protocol::append_unsubscribe(lines, sid);
  }
  if (!lines.empty()) (void)outbox_.control(lines);
  // Without a PONG (the connection was lost) nothing more will come either.
  const auto sent = flush(options_.get().drain_timeout, [this, waiter](result<void>) { interest_drained(waiter); });
  if (!sent) interest_drained(waiter);
}

void connection_core::interest_drained(std::shared_ptr<operation_state<void>> waiter) {
  if (phase_ == phase::closed) {
    waiter->complete(fail(errc::closed, "the connection was closed while it was draining"));
    return;
  }
  std::vector<std::uint64_t> gone;
  for (const auto& [sid, entry] : interests_) {
    if (!entry->draining) continue;
    gone.push_back(sid);
    drained_.push_back(entry->sink);
  }
  for (const auto sid : gone) remove_interest(sid, error(errc::closed, "the subscription has been drained"));
  drain_waiter_ = std::move(waiter);
  loop_.post([] {});  // makes a turn, whose end looks
}

void connection_core::look_at_drain() {
  for (const auto& sink : drained_) {
    if (!sink->idle()) return;
  }
  drained_.clear();
  const auto confirmed = [this, waiter = std::exchange(drain_waiter_, nullptr)](result<void> outcome) {
    begin_close([waiter, outcome] { waiter->complete(result<void>(outcome)); });
  };
  if (auto sent = flush(options_.get().drain_timeout, confirmed); !sent) confirmed(sent);
}

}  // namespace tern::client::detail
