// What a connection has in front of its stream when that is more than bare TCP: the opening while it lasts, and the
// facts that it brought. Owned by the connection, whose way of speaking to its opening it is; one shard.
#pragma once

#include "server/transport/client_opening.hpp"
#include "server/transport/connection_facts.hpp"

#include <optional>

namespace tern::server {

class connection;

class connection_front final : private client_opening::owner {
 public:
  // A connection whose stream speaks the protocol already.
  explicit connection_front(connection_facts known) : facts_(std::move(known)) {}
  // One that has to be opened first.
  connection_front(runtime::handshake_gate& gate, opening_plan plan) : gate_(&gate), plan_(std::move(plan)) {}

  // False: there is nothing to open.
  bool begin(connection& self);
  const connection_facts& facts() const { return facts_; }
  // The first INFO does not name an address that a proxy may be about to correct (core 1.7).
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
  std::optional<client_opening> opening_;
  bool opened_ = false;
};

}  // namespace tern::server
