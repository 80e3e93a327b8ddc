// What a connection has in front of its stream when that is more than bare TCP: the opening while it lasts, and the
// facts that it brought. Owned by the connection, whose way of speaking to its opening it is; one shard.
#pragma once

#include "protocol/connect.hpp"
#include "server/connection/close_reason.hpp"
#include "server/transport/client_opening.hpp"
#include "server/transport/connection_facts.hpp"

#include <optional>

namespace tern::server {

class connection;
class websocket_stream;

class connection_front final : private client_opening::owner {
 public:
  // A connection over a WebSocket, whose stream speaks frames already.
  connection_front(connection_facts known, websocket_stream& stream) : facts_(std::move(known)), websocket_(&stream) {}
  // One that has to be opened first.
  connection_front(runtime::handshake_gate& gate, opening_plan plan) : gate_(&gate), plan_(std::move(plan)) {}

  // False: there is nothing to open.
  bool begin(connection& self);
  const connection_facts& facts() const { return facts_; }
  // The first INFO does not name an address that a proxy may be about to correct (core 1.7).
  // Before the last output goes: what a close frame will say.
  void closing(close_reason why);
  // What CONNECT leaves out and cookies know (core 8).
  void complete(protocol::connect_options& asked) const;
  bool address_is_known() const { return !opening_ || opened_; }

 private:
  void opening_wants_info() override;
  void opening_log(runtime::host::log_level level, const std::string& text) override;
  void opened(std::string_view already_read) override;
  void refused(refusal why) override;

  connection* self_ = nullptr;
  runtime::handshake_gate* gate_ = nullptr;
  opening_plan plan_;
  connection_facts facts_;
  websocket_stream* websocket_ = nullptr;  // the connection's stream, when it is one
  std::optional<client_opening> opening_;
  bool opened_ = false;
};

}  // namespace tern::server
