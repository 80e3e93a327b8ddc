// Who receives what comes for one subscription id. Called on the loop only.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include "protocol/parse_outcome.hpp"

namespace tern::client {

class message_sink {
 public:
  virtual ~message_sink() = default;
  virtual void on_message(const protocol::message_frame& message) = 0;
  // Nothing will come any more: the interest was taken back, has had its messages, or the connection is closed.
  virtual void on_end(const error& why) = 0;
  virtual void on_disconnected() {}
  virtual void on_reconnected() {}  // interest is in force again
  // Drained together with the connection: a subscription of the user, not an inbox of the library.
  virtual bool drains() const { return false; }
  // Everything that was received has been taken.
  virtual bool idle() const { return true; }
};

}  // namespace tern::client
