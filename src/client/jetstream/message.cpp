#include <tern/client/jetstream_message.hpp>

#include "base/numbers.hpp"
#include "client/connection_core.hpp"

namespace tern::client {

jetstream_message::jetstream_message(client::message received, std::shared_ptr<detail::connection_core> connection)
    : message_(std::move(received)), connection_(std::move(connection)) {}

jetstream_metadata jetstream_message::metadata() const { return message_.jetstream().value_or(jetstream_metadata()); }

result<void> jetstream_message::settle(std::string_view body) {
  if (connection_ == nullptr || message_.reply().empty()) {
    return fail(errc::unsupported, "the message cannot be settled: it has no ack subject");
  }
  if (settled_) return fail(errc::settle_failed, "the message was settled before");
  auto sent = connection_->publish_unchecked(message_.reply(), {}, {}, body);
  settled_ = sent.has_value();
  return sent;
}

result<void> jetstream_message::ack() { return settle("+ACK"); }
result<void> jetstream_message::nak() { return settle("-NAK"); }

result<void> jetstream_message::nak(nanoseconds delay) {
  if (delay <= nanoseconds::zero()) return nak();
  std::string body = "-NAK {\"delay\":";
  append_signed_decimal(body, delay.count());
  body += '}';
  return settle(body);
}

result<void> jetstream_message::term() { return settle("+TERM"); }

result<void> jetstream_message::term(std::string_view reason) {
  if (reason.empty()) return term();
  return settle("+TERM " + std::string(reason));
}

result<void> jetstream_message::in_progress() {
  if (connection_ == nullptr || message_.reply().empty()) {
    return fail(errc::unsupported, "the message cannot be settled: it has no ack subject");
  }
  if (settled_) return fail(errc::settle_failed, "the message was settled before");
  return connection_->publish_unchecked(message_.reply(), {}, {}, "+WPI");
}

operation<void> jetstream_message::ack_sync(nanoseconds patience) {
  if (connection_ == nullptr || message_.reply().empty()) {
    return operation<void>::ended(fail(errc::unsupported, "the message cannot be settled: it has no ack subject"));
  }
  if (settled_) return operation<void>::ended(fail(errc::settle_failed, "the message was settled before"));
  auto state = std::make_shared<detail::operation_state<void>>(connection_->loop_identity());
  auto sent =
      connection_->request(message_.reply(), {}, "+ACK", patience, [state](result<protocol::message_frame> reply) {
        if (reply) {
          state->complete({});
        } else {
          state->complete(std::unexpected(std::move(reply).error().within("ack")));
        }
        return true;
      });
  settled_ = sent.has_value();
  if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  return operation<void>(state);
}

}  // namespace tern::client
