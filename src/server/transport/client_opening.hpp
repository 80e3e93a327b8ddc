// The first moments of a connection on the client port, before its protocol begins: the header of a proxy, a look at
// the first byte, TLS before or after INFO (core 1.5 to 1.7).
//
// Owned by the connection whose stream it prepares; one shard. It tells what happens, and whoever owns it writes INFO
// when asked. Exactly one of opened() and refused() comes, unless it is destroyed before.
#pragma once

#include "base/timer_queue.hpp"
#include "runtime/host/log.hpp"
#include "runtime/tls/tls_stream.hpp"
#include "server/config/tls_options.hpp"
#include "server/transport/connection_facts.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tern::server {

struct opening_plan {
  std::shared_ptr<const runtime::tls_context> tls;  // null: none
  bool plain_too = false;                           // whoever does not begin with TLS is served without
  handshake_first first = handshake_first::never;
  nanoseconds first_fallback{0};
  nanoseconds timeout{0};  // of the handshake
  bool proxy_header = false;
  bool needed() const { return tls != nullptr || proxy_header; }
};

class client_opening {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    // Writes INFO to the stream, in clear or through TLS, whichever it is now.
    virtual void opening_wants_info() = 0;
    virtual void opening_log(runtime::host::log_level level, const std::string& text) = 0;
    // The protocol may begin, with these bytes first.
    virtual void opened(std::string_view already_read) = 0;
    enum class refusal { tls_failed, bad_proxy_header, hung_up };
    virtual void refused(refusal why) = 0;
  };

  // `stream` is the connection's own place for it: TLS is put around what is there.
  client_opening(runtime::shard& loop, runtime::handshake_gate& gate, opening_plan plan, owner& whom,
                 std::unique_ptr<runtime::byte_stream>& stream, connection_facts& facts);

  void begin();

 private:
  void look();
  void on_readable();
  void on_timer();
  void decide();
  void after_proxy_header();
  void send_info();
  void start_tls(bool before_info);
  void on_handshake(bool before_info, result<void> outcome);
  void finish();
  void refuse(owner::refusal why);

  enum class waiting { proxy_header, first_byte, fallback, handshake, nothing };

  runtime::shard& loop_;
  runtime::handshake_gate& gate_;
  const opening_plan plan_;
  owner& owner_;
  std::unique_ptr<runtime::byte_stream>& stream_;
  connection_facts& facts_;
  runtime::tls_stream* tls_ = nullptr;  // is stream_, once TLS began
  timer_queue::timer limit_;
  timer_queue::timer next_;  // goes on outside the stream's callback
  std::string bytes_;        // read and not used yet
  waiting for_ = waiting::nothing;
  bool info_sent_ = false;
};

}  // namespace tern::server
