#include "runtime/tls/tls_stream.hpp"

#include "runtime/shard.hpp"
#include "runtime/tls/tls_error.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tern::runtime {
namespace {

constexpr std::size_t record_bytes = 16 << 10;
// Plaintext of one write(): more would make what is kept for a slow peer longer.
constexpr std::size_t write_bytes_max = 64 << 10;
// A handshake's messages of the peer: certificates may be long, endless they are not.
constexpr std::size_t handshake_bytes_max = 256 << 10;

}  // namespace

struct handshake_gate::hook {
  std::unique_ptr<shard::hook_handle> handle;
};

handshake_gate::handshake_gate(shard& loop) : hook_(std::make_unique<hook>()) {
  hook_->handle = loop.at_turn_end([this] { left_ = steps_per_turn; });
}
handshake_gate::~handshake_gate() = default;

// Shared by the stream and the callbacks that the stream below holds, so that the stream may go inside one of them.
struct tls_stream::core final : stream_layer {
  core(shard& loop, std::unique_ptr<byte_stream> stream, std::shared_ptr<const tls_context> shared,
       handshake_gate* gate, std::string already_read)
      : stream_layer(loop, std::move(stream)), context(std::move(shared)), gate(gate), early(std::move(already_read)) {
    ssl = SSL_new(context->native());
    BIO* const bio = ssl != nullptr ? BIO_new(method()) : nullptr;
    if (bio == nullptr) {
      failed = true;  // out of memory: every operation fails
      return;
    }
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    if (context->role() == tls_role::server)
      SSL_set_accept_state(ssl);
    else
      SSL_set_connect_state(ssl);
  }
  ~core() override { SSL_free(ssl); }

  // --- the way to the stream below ---
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tern byte stream");
      BIO_meth_set_read_ex(out, [](BIO* bio, char* into, std::size_t size, std::size_t* got) {
        return static_cast<core*>(BIO_get_data(bio))->take(bio, into, size, *got);
      });
      BIO_meth_set_write_ex(out, [](BIO* bio, const char* from, std::size_t size, std::size_t* taken) {
        static_cast<core*>(BIO_get_data(bio))->outgoing.append(from, size);
        *taken = size;
        return 1;
      });
      BIO_meth_set_ctrl(out, [](BIO* bio, int command, long, void*) -> long {
        if (command == BIO_CTRL_EOF) return static_cast<core*>(BIO_get_data(bio))->ended_below ? 1 : 0;
        return command == BIO_CTRL_FLUSH ? 1 : 0;
      });
      return out;
    }();
    return made;
  }

  int take(BIO* bio, char* into, std::size_t size, std::size_t& got) {
    BIO_clear_retry_flags(bio);
    if (!early.empty()) {
      got = std::min(size, early.size());
      std::memcpy(into, early.data(), got);
      early.erase(0, got);
      if (early.empty()) early = {};
      return 1;
    }
    const io_result result = below->read({into, size});
    got = result.bytes;
    switch (result.state) {
      case io_state::done:
        received += got;
        return got > 0 ? 1 : 0;
      case io_state::would_block:
        BIO_set_retry_read(bio);
        return 0;
      case io_state::end_of_stream:
        ended_below = true;
        return 0;
      case io_state::failed:
        error_number = result.error_number;
        return 0;
    }
    return 0;
  }

  // Sends what has gathered. False when the stream below takes no more, or is gone.
  bool drain() {
    while (sent < outgoing.size()) {
      const std::string_view rest = std::string_view(outgoing).substr(sent);
      const io_result result = below->write({&rest, 1});
      if (result.state == io_state::would_block) return keep_rest(), false;
      if (result.state != io_state::done) {
        failed = true;
        error_number = result.error_number;
        outgoing.clear(), sent = 0;
        return false;
      }
      sent += result.bytes;
    }
    sent = 0;
    if (outgoing.capacity() > 512)
      outgoing = {};
    else
      outgoing.clear();
    return true;
  }
  void keep_rest() {
    if (sent == 0) return;
    outgoing.erase(0, sent);
    sent = 0;
  }

  // --- the handshake ---
  // `told` by the stream below, which tells again as long as there is something to read.
  void step(bool told) {
    if (closed || failed || !handshake_done) return;
    if (gate != nullptr && !gate->enter()) {
      if (!told) again.arm(loop.now());
      return;
    }
    ERR_clear_error();
    const int outcome = SSL_do_handshake(ssl);
    const int what = outcome == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl, outcome);
    if (outcome == 1) {
      auto pinned = check_pins();
      drain();
      return finish_handshake(std::move(pinned));
    }
    result<void> wrong;
    if (what != SSL_ERROR_WANT_READ) wrong = fail(errc::connect_failed, reason(what));
    drain();  // an alert, or the answer to what came
    if (!wrong) return finish_handshake(std::move(wrong));
    if (failed)
      return finish_handshake(fail(errc::connect_failed, "write: " + std::string(std::strerror(error_number))));
    if (received > handshake_bytes_max)
      return finish_handshake(fail(errc::limit_exceeded, "tls: the handshake is too long"));
    if (!outgoing.empty()) wait_to_write();
  }

  result<void> check_pins() const {
    const auto& pins = context->pinned_keys();
    if (pins.empty()) return {};
    X509* const shown = SSL_get0_peer_certificate(ssl);
    if (shown != nullptr && std::ranges::find(pins, describe_certificate(shown).key_sha256) != pins.end()) return {};
    return fail(errc::connect_failed, "certificate not pinned");
  }

  std::string reason(int what) const {
    if (error_number != 0) return "read: " + std::string(std::strerror(error_number));
    if (ended_below || what == SSL_ERROR_ZERO_RETURN) {
      ERR_clear_error();
      return "EOF";
    }
    return tls_failure_text(ssl);
  }

  void finish_handshake(result<void> outcome) {
    if (!outcome) failed = true;
    auto done = std::exchange(handshake_done, nullptr);
    run([&] { done(std::move(outcome)); });
  }

  // --- reading and writing ---
  io_result read(std::span<char> into) override {
    more_inside = false;
    if (closed || failed) return broken();
    if (into.empty()) return {};
    std::size_t total = 0;
    io_state ending = io_state::done;
    while (total < into.size()) {
      std::size_t got = 0;
      ERR_clear_error();
      if (SSL_read_ex(ssl, into.data() + total, into.size() - total, &got) == 1) {
        total += got;
        if (SSL_has_pending(ssl) == 0) break;
        continue;
      }
      const int what = SSL_get_error(ssl, 0);
      ending = what == SSL_ERROR_WANT_READ     ? io_state::would_block
               : what == SSL_ERROR_ZERO_RETURN ? io_state::end_of_stream
                                               : io_state::failed;
      ERR_clear_error();
      break;
    }
    if (!outgoing.empty() && !drain() && !failed) wait_to_write();  // answers of the protocol itself
    more_inside = ending == io_state::done ? SSL_has_pending(ssl) != 0 : total > 0 && ending != io_state::would_block;
    if (total > 0) return {.bytes = total};
    if (ending == io_state::failed) failed = true;
    if (ending != io_state::would_block && !std::exchange(ended, true)) below->pause_reading();
    return failed ? broken() : io_result{.state = ending};
  }

  // Small pieces share a record, large ones are encrypted from where they lie.
  io_result write(std::span<const std::string_view> pieces) override {
    if (closed || failed || finishing) return broken();
    if (!outgoing.empty() && !drain()) return failed ? broken() : io_result{.state = io_state::would_block};
    std::array<char, record_bytes> block;
    std::size_t total = 0, at = 0, offset = 0;
    while (at < pieces.size() && total < write_bytes_max) {
      std::string_view record = pieces[at].substr(offset, record_bytes);
      if (record.size() == record_bytes || at + 1 == pieces.size()) {
        offset += record.size();
      } else {
        std::size_t used = 0;
        while (at < pieces.size() && used < block.size()) {
          const std::string_view part = pieces[at].substr(offset, block.size() - used);
          std::memcpy(block.data() + used, part.data(), part.size());
          used += part.size();
          offset += part.size();
          if (offset == pieces[at].size()) ++at, offset = 0;
        }
        record = {block.data(), used};
      }
      if (at < pieces.size() && offset == pieces[at].size()) ++at, offset = 0;
      if (record.empty()) continue;
      std::size_t taken = 0;
      ERR_clear_error();
      if (SSL_write_ex(ssl, record.data(), record.size(), &taken) != 1) {
        ERR_clear_error();
        failed = true;
        return broken();
      }
      total += taken;  // all of it: what lies below takes everything
    }
    if (!drain()) {
      if (failed) return broken();
      wait_to_write();  // nobody else may ask for it
    }
    return {.bytes = total};
  }

  io_result broken() const {
    return {.state = io_state::failed,
            .error_number = error_number != 0 ? error_number
                            : closed          ? EBADF
                                              : ECONNABORTED};
  }

  // --- readiness ---
  bool send_kept() override { return drain() || failed; }
  bool holds_input() const override { return ssl != nullptr && (SSL_has_pending(ssl) != 0 || !early.empty()); }
  void on_listener() override {
    if (std::exchange(unheard, false) && !paused) below->resume_reading();
  }
  void on_below_readable() override {
    if (handshake_done) return step(true);
    if (readable) return tell_readable();
    unheard = true;  // until somebody listens
    below->pause_reading();
  }
  void on_again() override {
    if (handshake_done) return step(false);
    tell_readable();
  }
  void on_closing() override {
    if (outgoing.empty()) say_goodbye();
  }
  void drop_callbacks() override {
    stream_layer::drop_callbacks();
    const auto handshake = std::exchange(handshake_done, nullptr);
  }
  void shutdown_write() override {
    if (closed || finishing) return;
    say_goodbye();
    finishing = true;
    if (outgoing.empty() || failed) return below->shutdown_write();
    wait_to_write();
  }

  bool established() const { return ssl != nullptr && SSL_is_init_finished(ssl) == 1; }

  void say_goodbye() {
    if (failed || finishing || !established()) return;
    ERR_clear_error();
    SSL_shutdown(ssl);
    ERR_clear_error();
    drain();
  }

  std::shared_ptr<const tls_context> context;
  handshake_gate* const gate;
  std::string early;     // read before TLS began
  std::string outgoing;  // ciphertext that the stream below has not taken
  std::size_t sent = 0;  // of it
  std::size_t received = 0;
  ssl_st* ssl = nullptr;
  handshake_callback handshake_done;  // set while the handshake runs
  int error_number = 0;
  bool ended_below = false;
  bool unheard = false;  // reading below is paused because nobody has asked to be told
};

tls_stream::tls_stream(shard& loop, std::unique_ptr<byte_stream> below, std::shared_ptr<const tls_context> context,
                       handshake_gate* gate, std::string already_read)
    : layered_stream(
          std::make_shared<core>(loop, std::move(below), std::move(context), gate, std::move(already_read))) {}

tls_stream::core& tls_stream::own() const { return static_cast<core&>(layer()); }

void tls_stream::expect_name(const std::string& host) {
  if (own().ssl == nullptr) return;
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(own().ssl), host.c_str()) == 1) return;
  ERR_clear_error();
  SSL_set_tlsext_host_name(own().ssl, host.c_str());
  SSL_set_hostflags(own().ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_set1_host(own().ssl, host.c_str());
}

void tls_stream::handshake(handshake_callback done) {
  own().handshake_done = std::move(done);
  own().listen_below();
  if (own().context->role() == tls_role::client || !own().early.empty()) own().again.arm(own().loop.now());
}

tls_facts tls_stream::facts() const {
  tls_facts out;
  const ssl_st* const ssl = own().ssl;
  if (!own().established()) return out;
  const std::string_view version = SSL_get_version(ssl);  // "TLSv1.3"
  out.version = version.starts_with("TLSv") ? version.substr(4) : version;
  if (const SSL_CIPHER* const cipher = SSL_get_current_cipher(ssl)) out.cipher = SSL_CIPHER_standard_name(cipher);
  out.resumed = SSL_session_reused(ssl) == 1;
  if (X509* const shown = SSL_get0_peer_certificate(ssl)) out.peer = describe_certificate(shown);
  return out;
}

}  // namespace tern::runtime
