#include "server/transport/connection_front.hpp"

#include "server/connection/connection.hpp"
#include "server/websocket/websocket_stream.hpp"

namespace tern::server {
namespace {

// The code of a close frame (core 8).
protocol::websocket_close close_code_of(close_reason why) {
  using protocol::websocket_close;
  switch (why) {
    case close_reason::client_closed:
      return websocket_close::normal;
    case close_reason::authentication_timeout:
    case close_reason::authentication_failure:
    case close_reason::slow_consumer_pending:
    case close_reason::slow_consumer_deadline:
    case close_reason::max_connections:
      return websocket_close::policy;
    case close_reason::tls_handshake_failure:
      return websocket_close::tls;
    case close_reason::parse_error:
    case close_reason::protocol_violation:
    case close_reason::bad_protocol_version:
    case close_reason::max_control_line:
      return websocket_close::protocol_error;
    case close_reason::max_payload:
      return websocket_close::too_big;
    case close_reason::write_error:
    case close_reason::read_error:
    case close_reason::stale_connection:
    case close_reason::server_shutdown:
      return websocket_close::going_away;
    default:
      return websocket_close::internal_error;
  }
}

void fill(std::string& to, const std::string& from) {
  if (to.empty()) to = from;
}

}  // namespace

void connection_front::closing(close_reason why) {
  if (websocket_ != nullptr) websocket_->set_farewell(close_code_of(why), to_word(why));
}

void connection_front::complete(protocol::connect_options& asked) const {
  if (!facts_.websocket) return;
  fill(asked.jwt, facts_.websocket->cookie_jwt);
  fill(asked.user, facts_.websocket->cookie_user);
  fill(asked.pass, facts_.websocket->cookie_password);
  fill(asked.auth_token, facts_.websocket->cookie_token);
}

bool connection_front::begin(connection& self) {
  if (!plan_.needed()) return false;
  self_ = &self;
  self.blocked_ = true;  // nobody writes but the opening
  client_opening::owner& whom = *this;
  opening_.emplace(self.server_.loop, *gate_, plan_, whom, self.stream_, facts_);
  opening_->begin();
  return true;
}

void connection_front::opening_wants_info() {
  self_->blocked_ = false;
  self_->send_info(false);
  self_->flush();
  self_->blocked_ = true;
}

void connection_front::opening_log(runtime::host::log_level level, const std::string& text) {
  runtime::host::logger& log = self_->server_.log;
  if (log.enabled(level)) log.write(level, self_->label() + text);
}

// The opening stays, disarmed, for the life of the connection: its callback may be the one that runs.
void connection_front::opened(std::string_view already_read) {
  opened_ = true;
  self_->blocked_ = false;
  if (!self_->output_.empty()) self_->mark_dirty();
  self_->begin_protocol(already_read);
}

void connection_front::refused(refusal why) {
  opened_ = true;
  switch (why) {
    case refusal::tls_failed:
      return self_->close(close_reason::tls_handshake_failure);
    case refusal::bad_proxy_header:
      return self_->close(close_reason::protocol_violation);
    case refusal::hung_up:
      self_->input_ended_ = true;
      return self_->close(close_reason::client_closed);
  }
}

}  // namespace tern::server
