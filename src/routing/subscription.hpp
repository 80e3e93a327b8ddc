// Who takes messages, and what it asked for.
#pragma once

#include "routing/message.hpp"

#include <cstdint>
#include <string>

namespace tern::routing {

struct subscription;

// A client connection, a part of the server itself (JetStream), later a leaf node. One shard.
class receiver {
 public:
  virtual ~receiver() = default;
  // False when the message was not taken (closed, past the subscription's maximum, denied): a queue group then tries
  // its next member. Must not call back into the account before it has copied what it needs of the message. May remove
  // any subscription, `to` included: the account keeps removed ones alive until the end of the turn.
  virtual bool deliver(subscription& to, const message& what) = 0;
};

// Owned by the account between subscribe() and the end of the turn in which it was removed.
struct subscription {
  receiver* to = nullptr;
  std::string subject;
  std::string queue;            // empty: no queue group
  std::string sid;              // as the client named it; empty for internal ones
  std::uint64_t delivered = 0;  // messages taken; a receiver counts here
  std::uint64_t maximum = 0;    // auto-unsubscribe after so many; 0: never
  std::uint64_t tag = 0;        // free for the receiver
  bool removed = false;
  bool internal = false;  // the server's own: not counted for clients, not listed unless asked
};

}  // namespace tern::routing
