#include "client/transport/stream_opening.hpp"

#include "client/transport/websocket_client_stream.hpp"
#include "protocol/websocket/upgrade.hpp"
#include "runtime/host/files.hpp"
#include "runtime/shard.hpp"

#include <array>
#include <utility>

namespace tern::client::detail {

using runtime::io_state;

result<std::shared_ptr<const runtime::tls_context>> make_client_context(const options::values& with) {
  runtime::tls_settings settings{.role = runtime::tls_role::client, .demand_peer_certificate = !with.tls_insecure};
  if (!with.tls_authority_file.empty()) {
    auto text = runtime::host::read_text_file(with.tls_authority_file);
    if (!text) return fail(errc::invalid_options, "TLS authority: " + text.error().context());
    settings.trusted_pem = *std::move(text);
  }
  if (!with.tls_certificate_file.empty() || !with.tls_key_file.empty()) {
    auto certificate = runtime::host::read_text_file(with.tls_certificate_file);
    if (!certificate) return fail(errc::invalid_options, "TLS certificate: " + certificate.error().context());
    auto key = runtime::host::read_text_file(with.tls_key_file);
    if (!key) return fail(errc::invalid_options, "TLS key: " + key.error().context());
    settings.identities.push_back({*std::move(certificate), *std::move(key)});
  }
  auto made = runtime::tls_context::make(settings);
  if (!made) return fail(errc::invalid_options, made.error().context());
  return made;
}

stream_opening::stream_opening(runtime::shard& loop, std::unique_ptr<runtime::byte_stream> stream,
                               const server_address& server, const options::values& with, done_callback done)
    : loop_(loop),
      stream_(std::move(stream)),
      server_(server),
      with_(with),
      done_(std::move(done)),
      next_(loop.timers(), [this] { look(); }) {}

void stream_opening::begin_tls(std::shared_ptr<const runtime::tls_context> context) {
  secure(std::move(context), [this] { finish(std::move(stream_)); });
}

void stream_opening::begin_websocket(std::shared_ptr<const runtime::tls_context> context) {
  if (!context) return ask();
  secure(std::move(context), [this] { ask(); });
}

void stream_opening::secure(std::shared_ptr<const runtime::tls_context> context, std::move_only_function<void()> then) {
  auto around = std::make_unique<runtime::tls_stream>(loop_, std::move(stream_), std::move(context));
  runtime::tls_stream& tls = *around;
  stream_ = std::move(around);
  stream_->resume_reading();  // was paused when TLS begins behind INFO
  if (!with_.tls_insecure) tls.expect_name(with_.tls_server_name.empty() ? server_.at.host : with_.tls_server_name);
  tls.handshake([this, then = std::move(then)](result<void> outcome) mutable {
    if (outcome) return then();
    finish(fail(errc::connect_failed, "TLS: " + outcome.error().context()));
  });
}

void stream_opening::ask() {
  std::array<unsigned char, 16> random{};
  loop_.randomness().fill(random);
  key_ = protocol::base64({reinterpret_cast<const char*>(random.data()), random.size()});
  request_ = protocol::upgrade_request_text({.host = server_.at.text(),
                                             .path = server_.path.empty() ? "/" : server_.path,
                                             .key = key_,
                                             .deflate = with_.websocket_compression});
  const std::string_view piece = request_;
  const auto sent = stream_->write({&piece, 1});
  if (sent.state != io_state::done || sent.bytes != request_.size()) {
    key_.clear();
    return next_.arm(loop_.now());
  }
  stream_->on_readable([this] { on_readable(); });
}

void stream_opening::on_readable() {
  if (next_.armed()) return;
  std::array<char, 4096> block;
  const auto got = stream_->read(block);
  if (got.state == io_state::would_block) return;
  if (got.state == io_state::done) bytes_.append(block.data(), got.bytes);
  // The stream may change its owner, which must not happen inside its callback.
  stream_->pause_reading();
  if (got.state != io_state::done) key_.clear();
  next_.arm(loop_.now());
}

void stream_opening::look() {
  if (key_.empty()) return finish(fail(errc::connect_failed, "the connection ended in the WebSocket request"));
  const auto answer = protocol::parse_upgrade_answer(bytes_, key_);
  using state = protocol::upgrade_parse::state;
  if (answer.what == state::incomplete) return stream_->resume_reading();
  if (answer.what == state::malformed) {
    return finish(fail(errc::connect_failed, "the answer to the WebSocket request is no HTTP"));
  }
  if (!answer.accepted) {
    return finish(fail(errc::connect_failed,
                       "the server refused the WebSocket request with HTTP status " + std::to_string(answer.status)));
  }
  if (answer.deflate && !with_.websocket_compression) {
    return finish(fail(errc::connect_failed, "the server compresses a WebSocket without being asked"));
  }
  auto stream =
      std::make_unique<websocket_client_stream>(loop_, std::move(stream_), answer.deflate, bytes_.substr(answer.size));
  stream->resume_reading();
  finish(std::move(stream));
}

// The last line of each: the owner may destroy this inside.
void stream_opening::finish(result<std::unique_ptr<runtime::byte_stream>> outcome) {
  auto done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace tern::client::detail
