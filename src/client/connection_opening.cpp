// Between dialling and the protocol: TLS and WebSockets, where the URL, the options or the server want them.
#include "client/connection_core.hpp"

namespace tern::client::detail {

// A stream that speaks INFO at once, or what has to come before that.
void connection_core::open_stream(std::unique_ptr<runtime::byte_stream> fresh) {
  const server_address& server = servers_->current();
  const bool websocket = server.scheme == server_scheme::ws || server.scheme == server_scheme::wss;
  const bool tls = !server.at.in_process &&
                   (server.scheme == server_scheme::wss || (options_.get().tls_handshake_first && !websocket));
  if (!websocket && !tls) return speak(std::move(fresh));
  std::shared_ptr<const runtime::tls_context> context;
  if (tls) {
    auto made = tls_context();
    if (!made) return attempt_failed(made.error());
    context = *std::move(made);
  }
  secured_ = tls;
  stream_opening_ = std::make_unique<stream_opening>(
      loop_, std::move(fresh), server, options_.get(),
      [this](result<std::unique_ptr<runtime::byte_stream>> outcome) { stream_opened(false, std::move(outcome)); });
  if (websocket) {
    stream_opening_->begin_websocket(std::move(context));
  } else {
    stream_opening_->begin_tls(std::move(context));
  }
}

// After INFO, which was read inside the stream's callback: TLS begins outside of it.
void connection_core::secure_soon() {
  stream_->pause_reading();
  loop_.post([weak = weak_from_this(), attempt = dial_] {
    const auto self = weak.lock();
    if (self && self->dial_ == attempt && self->phase_ == phase::handshaking) self->secure_stream();
  });
}

void connection_core::secure_stream() {
  if (stream_ == nullptr) return;
  auto context = tls_context();
  if (!context) return attempt_failed(context.error());
  secured_ = true;
  stream_opening_ = std::make_unique<stream_opening>(
      loop_, std::move(stream_), servers_->current(), options_.get(),
      [this](result<std::unique_ptr<runtime::byte_stream>> outcome) { stream_opened(true, std::move(outcome)); });
  stream_opening_->begin_tls(*std::move(context));
}

// The server has spoken already when TLS came after INFO: then it is our turn.
void connection_core::stream_opened(bool greets_now, result<std::unique_ptr<runtime::byte_stream>> outcome) {
  const auto alive = shared_from_this();
  if (!outcome) return attempt_failed(std::move(outcome).error());
  const auto finished = std::move(stream_opening_);  // is at its end and still on the stack
  speak(*std::move(outcome));
  if (greets_now) greet();
}

void connection_core::speak(std::unique_ptr<runtime::byte_stream> over) {
  stream_ = std::move(over);
  parser_ = protocol::client_parser();
  stream_->on_readable([this] { on_readable(); });
  stream_->resume_reading();
}

result<std::shared_ptr<const runtime::tls_context>> connection_core::tls_context() {
  if (tls_context_ == nullptr) {
    auto made = make_client_context(options_.get());
    if (!made) return made;
    tls_context_ = *std::move(made);
  }
  return tls_context_;
}

}  // namespace tern::client::detail
