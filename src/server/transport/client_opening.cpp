#include "server/transport/client_opening.hpp"

#include "runtime/shard.hpp"
#include "server/transport/proxy_header.hpp"

#include <array>
#include <utility>

namespace tern::server {

using runtime::host::log_level;

namespace {

constexpr char tls_handshake_record = 0x16;
// For the rest of a header of which the beginning has come.
constexpr nanoseconds proxy_header_patience = std::chrono::seconds(5);

}  // namespace

client_opening::client_opening(runtime::shard& loop, runtime::handshake_gate& gate, opening_plan plan, owner& whom,
                               std::unique_ptr<runtime::byte_stream>& stream, connection_facts& facts)
    : loop_(loop),
      gate_(gate),
      plan_(std::move(plan)),
      owner_(whom),
      stream_(stream),
      facts_(facts),
      limit_(loop.timers(), [this] { on_timer(); }),
      next_(loop.timers(), [this] { decide(); }) {}

void client_opening::begin() {
  // A proxy speaks first of all, but its client waits for INFO (core 1.7).
  if (plan_.proxy_header) {
    if (plan_.tls == nullptr || plan_.first == handshake_first::never) send_info();
    for_ = waiting::proxy_header;
    return look();
  }
  after_proxy_header();
}

void client_opening::after_proxy_header() {
  if (plan_.tls == nullptr) return finish();
  if (plan_.first == handshake_first::always) return start_tls(true);
  if (plan_.first == handshake_first::with_fallback) {
    for_ = waiting::fallback;
    limit_.arm(loop_.now() + plan_.first_fallback);
    return look();
  }
  send_info();
  if (!plan_.plain_too) return start_tls(false);
  for_ = waiting::first_byte;
  limit_.arm(loop_.now() + plan_.timeout);
  look();
}

// Decides on what was read, or reads first.
void client_opening::look() {
  if (!bytes_.empty()) return next_.arm(loop_.now());
  stream_->on_readable([this] { on_readable(); });
  stream_->resume_reading();
}

void client_opening::on_readable() {
  if (for_ == waiting::nothing || for_ == waiting::handshake) return;
  std::array<char, 4096> block;
  const runtime::io_result got = stream_->read(block);
  if (got.state == runtime::io_state::would_block) return;
  if (got.state != runtime::io_state::done) return refuse(owner::refusal::hung_up);
  bytes_.append(block.data(), got.bytes);
  // What comes next may put another reader in the place of this callback, so it waits until this one is over.
  stream_->pause_reading();
  next_.arm(loop_.now());
}

void client_opening::decide() {
  switch (for_) {
    case waiting::proxy_header: {
      const proxy_header read = read_proxy_header(bytes_);
      if (read.what == proxy_header::state::incomplete) {
        if (!limit_.armed()) limit_.arm(loop_.now() + proxy_header_patience);
        return stream_->resume_reading();
      }
      if (read.what == proxy_header::state::malformed) {
        owner_.opening_log(log_level::warn,
                           "Error reading PROXY protocol header from " + stream_->peer().text() + ": " + read.problem);
        return refuse(owner::refusal::bad_proxy_header);
      }
      limit_.disarm();
      bytes_.erase(0, read.size);
      facts_.proxied_peer = read.client;
      return after_proxy_header();
    }
    case waiting::first_byte: {
      const bool tls = bytes_.front() == tls_handshake_record;
      limit_.disarm();
      return tls ? start_tls(false) : finish();
    }
    case waiting::fallback: {
      limit_.disarm();
      if (bytes_.front() == tls_handshake_record || !plan_.plain_too) return start_tls(true);
      send_info();
      return finish();
    }
    case waiting::handshake:
    case waiting::nothing:
      return;
  }
}

void client_opening::on_timer() {
  switch (for_) {
    case waiting::proxy_header:
      owner_.opening_log(log_level::warn,
                         "Error reading PROXY protocol header from " + stream_->peer().text() + ": i/o timeout");
      return refuse(owner::refusal::bad_proxy_header);
    case waiting::first_byte:
      return finish();  // a silent client is one without TLS
    case waiting::fallback:
      send_info();
      if (!plan_.plain_too) return start_tls(false);
      for_ = waiting::first_byte;
      limit_.arm(loop_.now() + plan_.timeout);
      return;
    case waiting::handshake:
      owner_.opening_log(log_level::debug, "TLS handshake timeout");
      return refuse(owner::refusal::tls_failed);
    case waiting::nothing:
      return;
  }
}

void client_opening::send_info() {
  if (!std::exchange(info_sent_, true)) owner_.opening_wants_info();
}

void client_opening::start_tls(bool before_info) {
  owner_.opening_log(log_level::debug, "Starting TLS client connection handshake");
  for_ = waiting::handshake;
  auto around =
      std::make_unique<runtime::tls_stream>(loop_, std::move(stream_), plan_.tls, &gate_, std::exchange(bytes_, {}));
  tls_ = around.get();
  stream_ = std::move(around);
  stream_->resume_reading();
  limit_.arm(loop_.now() + plan_.timeout);
  tls_->handshake([this, before_info](result<void> outcome) { on_handshake(before_info, std::move(outcome)); });
}

void client_opening::on_handshake(bool before_info, result<void> outcome) {
  limit_.disarm();
  if (!outcome) {
    const std::string& why = outcome.error().context();
    owner_.opening_log(why.starts_with("tls: first record") ? log_level::debug : log_level::error,
                       "TLS handshake error: " + why);
    return refuse(owner::refusal::tls_failed);
  }
  facts_.tls = tls_->facts();
  facts_.tls_first = before_info;
  owner_.opening_log(log_level::debug, "TLS handshake complete");
  owner_.opening_log(log_level::debug, "TLS version " + facts_.tls->version + ", cipher suite " + facts_.tls->cipher);
  send_info();
  finish();
}

// The last line of each: the owner may destroy this inside.
void client_opening::finish() {
  limit_.disarm();
  next_.disarm();
  for_ = waiting::nothing;
  const std::string rest = std::exchange(bytes_, {});
  owner_.opened(rest);
}

void client_opening::refuse(owner::refusal why) {
  limit_.disarm();
  next_.disarm();
  for_ = waiting::nothing;
  owner_.refused(why);
}

}  // namespace tern::server
