// HTTP for the monitoring port: Beast's parser over the bytes of a stream.
#include "base/http_date.hpp"
#include "server/monitoring/monitor.hpp"
#include "server/server.hpp"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace tern::server {
namespace {

namespace http = boost::beast::http;
using runtime::io_state;

constexpr std::size_t request_bytes_max = 16 << 10;
constexpr std::size_t sessions_max = 256;
constexpr nanoseconds idle_max = std::chrono::seconds(30);
constexpr nanoseconds handshake_max = std::chrono::seconds(10);

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

}  // namespace

class monitor::session {
 public:
  // With a context the stream speaks TLS.
  session(monitor& owner, std::unique_ptr<runtime::byte_stream> stream,
          std::shared_ptr<const runtime::tls_context> secure)
      : owner_(owner), stream_(std::move(stream)), idle_(owner.owner_.loop().timers(), [this] { end(); }) {
    runtime::shard& loop = owner_.owner_.loop();
    if (!secure) {
      idle_.arm(loop.now() + idle_max);
      stream_->on_readable([this] { on_readable(); });
      return;
    }
    idle_.arm(loop.now() + handshake_max);
    auto around = std::make_unique<runtime::tls_stream>(loop, std::move(stream_), std::move(secure),
                                                        &owner_.owner_.tls_handshakes());
    runtime::tls_stream& tls = *around;
    stream_ = std::move(around);
    tls.handshake([this](result<void> outcome) {
      if (!outcome) return end();
      idle_.arm(owner_.owner_.loop().now() + idle_max);
      stream_->on_readable([this] { on_readable(); });
    });
  }

  bool ended() const { return ended_; }

 private:
  void on_readable() {
    if (ended_) return;
    char block[4096];
    const runtime::io_result got = stream_->read(block);
    if (got.state == io_state::would_block) return;
    if (got.state != io_state::done) return end();
    input_.append(block, got.bytes);
    idle_.arm(owner_.owner_.loop().now() + idle_max);
    serve();
  }

  // Request by request; the next one is neither answered nor read before the answer to the last one is written.
  void serve() {
    while (!ended_) {
      if (!write()) return;
      if (closing_) return end();
      if (!take_request()) break;
    }
    if (!ended_ && std::exchange(paused_, false)) stream_->resume_reading();
  }

  // Answers the request at the front of the input; false when it is not whole.
  bool take_request() {
    if (input_.empty()) return false;
    http::request_parser<http::empty_body> parser;
    parser.header_limit(request_bytes_max);
    boost::system::error_code status;
    const std::size_t used = parser.put(boost::asio::buffer(input_), status);
    if (status == http::error::need_more && input_.size() <= request_bytes_max) return false;
    if (status || !parser.is_header_done()) {
      respond(http_answer::text(400, "400 Bad Request"), false, false);
      closing_ = true;
      return true;
    }
    input_.erase(0, used);
    const auto& request = parser.get();
    const bool head = request.method() == http::verb::head;
    const bool keep = request.keep_alive();
    respond(owner_.answer({request.target().data(), request.target().size()}), keep, head);
    closing_ = !keep;
    return true;
  }

  void respond(const http_answer& what, bool keep, bool head) {
    output_.append("HTTP/1.1 ").append(std::to_string(what.status)).append(" ").append(reason_of(what.status));
    if (what.any_origin) output_.append("\r\nAccess-Control-Allow-Origin: *");
    output_.append("\r\nContent-Type: ").append(what.content_type);
    output_.append("\r\nDate: ").append(http_date(owner_.owner_.loop().now()));
    output_.append("\r\nContent-Length: ").append(std::to_string(what.body.size()));
    if (!keep) output_.append("\r\nConnection: close");
    output_.append("\r\n\r\n");
    if (!head) output_.append(what.body);
  }

  // False when the peer takes no more for now, or is gone.
  bool write() {
    while (written_ != output_.size()) {
      const std::string_view piece = std::string_view(output_).substr(written_);
      const runtime::io_result sent = stream_->write({&piece, 1});
      if (sent.state == io_state::would_block) {
        if (!std::exchange(paused_, true)) stream_->pause_reading();
        stream_->on_writable_once([this] {
          if (!ended_) serve();
        });
        return false;
      }
      if (sent.state != io_state::done) return end(), false;
      written_ += sent.bytes;
      idle_.arm(owner_.owner_.loop().now() + idle_max);
    }
    output_.clear();
    written_ = 0;
    return true;
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    idle_.disarm();
    stream_->close();
    owner_.owner_.loop().post([&owner = owner_, alive = std::weak_ptr<bool>(owner_.alive_)] {
      if (!alive.expired()) owner.sweep();
    });
  }

  monitor& owner_;
  std::unique_ptr<runtime::byte_stream> stream_;
  timer_queue::timer idle_;
  std::string input_, output_;
  std::size_t written_ = 0;  // of the output
  bool paused_ = false;      // reading waits for the peer to take the output
  bool closing_ = false;
  bool ended_ = false;
};

monitor::monitor(server& owner) : owner_(owner) {}

monitor::~monitor() = default;

// That of the client port, as it is now, but it asks nobody for a certificate (core 5).
std::shared_ptr<const runtime::tls_context> monitor::https_context() {
  const options& settings = owner_.settings();
  if (settings.https_port == 0 || !settings.tls) return nullptr;
  if (https_made_from_ == settings.tls->context) return https_context_;
  tls_options plain = *settings.tls;
  plain.verify = false;
  plain.pinned_keys.clear();
  if (load_tls_files(plain)) https_context_ = plain.context;
  https_made_from_ = settings.tls->context;
  return https_context_;
}

void monitor::sweep() {
  std::erase_if(sessions_, [](const std::unique_ptr<session>& one) { return one->ended(); });
}

result<void> monitor::open(runtime::transport& network) {
  const options& settings = owner_.settings();
  const std::string host = settings.http_host.empty() ? settings.host : settings.http_host;
  const int wanted = settings.https_port != 0 ? settings.https_port : settings.http_port;
  if (settings.http_port != 0 && settings.https_port != 0)
    return fail(errc::io_error, "Can't start monitoring: can't specify both HTTP (" +
                                    std::to_string(settings.http_port) + ") and HTTPs (" +
                                    std::to_string(settings.https_port) + ") ports");
  if (settings.https_port != 0 && !settings.tls)
    return fail(errc::io_error, "Can't start monitoring: TLS cert and key required for HTTPS");
  const auto port = static_cast<std::uint16_t>(wanted == ephemeral_port ? 0 : wanted);
  auto opened = network.listen({.host = host, .port = port}, [this](std::unique_ptr<runtime::byte_stream> stream) {
    if (sessions_.size() >= sessions_max) return stream->close();
    sessions_.push_back(std::make_unique<session>(*this, std::move(stream), https_context()));
  });
  if (!opened) return fail(errc::io_error, "can't listen to the monitor port: " + opened.error().context());
  listener_ = std::move(*opened);
  return {};
}

}  // namespace tern::server
