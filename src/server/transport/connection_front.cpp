#include "server/transport/connection_front.hpp"

#include "server/connection/connection.hpp"

namespace tern::server {

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
