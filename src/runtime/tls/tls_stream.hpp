// TLS over any byte stream, as a byte stream: both sides, one class. Ciphertext is read straight from the stream below
// and written to it; what that one does not take is kept, bounded by one write. An idle connection owns no buffer.
//
// Owned by one connection on one shard. Life: handshake(), whose callback tells the outcome; then reading and writing.
// A failure of the handshake or of the protocol ends the stream. shutdown_write() sends the close_notify.
#pragma once

#include "runtime/stream_layer.hpp"
#include "runtime/tls/tls_context.hpp"
#include "runtime/tls/tls_peer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tern::runtime {

// Handshakes cost a millisecond of the processor's time each, and must not hold up those who are connected: at most
// `steps_per_turn` of them move in a turn of the loop, the others in the next ones. One per server; outlives its
// streams.
class handshake_gate {
 public:
  static constexpr int steps_per_turn = 4;
  explicit handshake_gate(shard& loop);
  ~handshake_gate();
  bool enter() { return left_ > 0 && left_-- > 0; }

 private:
  int left_ = steps_per_turn;
  struct hook;
  std::unique_ptr<hook> hook_;
};

struct tls_facts {
  std::string version;  // "1.3"
  std::string cipher;   // the standard name, "TLS_AES_128_GCM_SHA256"
  bool resumed = false;
  std::optional<tls_peer_certificate> peer;
};

class tls_stream final : public layered_stream {
 public:
  using handshake_callback = std::move_only_function<void(result<void>)>;

  // `already_read` are bytes of the peer that were taken from `below` before. `gate` may be null.
  tls_stream(shard& loop, std::unique_ptr<byte_stream> below, std::shared_ptr<const tls_context> context,
             handshake_gate* gate = nullptr, std::string already_read = {});

  // For a client: the name that the server's certificate must bear (a host name or an address), also sent to it. Empty:
  // the name is not checked.
  void expect_name(const std::string& host);
  // Once, before anything else. The callback runs at most once, not inside this call, and not after close().
  void handshake(handshake_callback done);
  // After the handshake.
  tls_facts facts() const;

 private:
  struct core;
  core& own() const;
};

}  // namespace tern::runtime
