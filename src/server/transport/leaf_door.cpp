#include "server/transport/leaf_door.hpp"

#include "base/ascii.hpp"
#include "protocol/websocket/upgrade.hpp"
#include "protocol/writer.hpp"
#include "runtime/shard.hpp"
#include "server/monitoring/json_builder.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace tern::server {

using runtime::io_state;

namespace {

constexpr std::size_t line_bytes_max = 64 << 10;  // 16 times that of a client (core 2)
constexpr std::size_t swallow_max = 1 << 20;
constexpr nanoseconds linger_max = std::chrono::seconds(2);

// Of a dialler's CONNECT, what decides here.
struct leaf_connect {
  std::string lang, gateway, cluster, version, name, user, pass;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
};

std::string upper_word(std::string_view line) { return upper_case(line.substr(0, line.find_first_of(" \t{"))); }

}  // namespace

class leaf_door::session {
 public:
  session(leaf_door& owner, std::unique_ptr<runtime::byte_stream> stream)
      : owner_(owner),
        id_(owner.next_id_()),
        stream_(std::move(stream)),
        limit_(owner.loop_.timers(), [this] { on_timer(); }) {
    if (log().debug_enabled()) log().debug(label() + "Leafnode connection created");
    send_info(false);
    const auto& tls = settings().tls;
    if (!tls) {
      listen();
      return;
    }
    limit_.arm(owner_.loop_.now() + tls->timeout);
    auto around = std::make_unique<runtime::tls_stream>(owner_.loop_, std::move(stream_), tls->context, &owner_.gate_);
    runtime::tls_stream& secured = *around;
    stream_ = std::move(around);
    secured.handshake([this](result<void> outcome) {
      if (outcome) return listen();
      log().error(label() + "TLS leafnode handshake error: " + outcome.error().context());
      finish();
    });
  }

  bool done() const { return done_; }

 private:
  const leafnode_options& settings() const { return owner_.settings_.leafnodes; }
  runtime::host::logger& log() const { return owner_.log_; }
  std::string label() const { return stream_->peer().text() + " - lid:" + std::to_string(id_) + " - "; }

  void listen() {
    greeting_ = true;
    limit_.arm(owner_.loop_.now() + settings().auth_timeout);
    stream_->on_readable([this] { on_readable(); });
  }

  void on_timer() {
    if (!greeting_ || ending_) return finish();
    end("Authentication Timeout");
  }

  void on_readable() {
    if (done_) return;
    std::array<char, 4096> block;
    const runtime::io_result got = stream_->read(block);
    if (got.state == io_state::would_block) return;
    if (got.state != io_state::done) return finish();
    if (ending_) {  // swallowed, so that the last words can be read
      swallowed_ += got.bytes;
      if (swallowed_ > swallow_max) finish();
      return;
    }
    input_.append(block.data(), got.bytes);
    for (std::size_t end; !ending_ && !done_ && (end = input_.find('\n')) != std::string::npos;) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      take(line);
    }
    if (!ending_ && !done_ && input_.size() > line_bytes_max) end("maximum control line exceeded");
  }

  void take(const std::string& line) {
    const std::string word = upper_word(line);
    if (word == "CONNECT") return take_connect(line.substr(word.size()));
    if (word == "INFO" && line.size() > word.size()) return;  // an offer to compress, which ours did not invite
    end("Authorization Violation");
  }

  void take_connect(const std::string& json) {
    const auto asked = codec::read_json<leaf_connect>(json);
    if (!asked) return finish();
    if (!asked->lang.empty()) return end("attempted to connect to leaf node port");
    if (!asked->gateway.empty())
      return end("Rejecting connection from gateway \"" + asked->gateway + "\" on the leafnode port");
    if (asked->cluster.find(' ') != std::string::npos) return end("cluster name cannot contain spaces");
    if (!settings().user.empty() && (asked->user != settings().user || asked->pass != settings().password)) {
      log().error(label() + "authentication error - User \"" + asked->user + "\"");
      return end("Authorization Violation");
    }
    send_info(true);
    if (!settings().min_version.empty() && is_older_version(asked->version, settings().min_version))
      return end("connection rejected since minimum version required is \"" + settings().min_version + "\"");
    log().error(label() + "Leaf node link of \"" + asked->name + "\" refused: leaf nodes are not built");
    end("leaf nodes are not supported by this server");
  }

  void send_info(bool after_connect) {
    protocol::server_info info = owner_.describe_();
    info.host = settings().host.empty() ? owner_.settings_.host : settings().host;
    info.port = owner_.local().port;
    info.client_id = id_;
    info.ip = stream_->peer().text();
    info.auth_required = true;
    info.tls_required = settings().tls.has_value();
    info.tls_verify = settings().tls && settings().tls->verify;
    info.info_on_connect = true;
    info.compression = "off";
    info.leafnode_urls = {owner_.local().text()};
    if (after_connect) {
      info.connect_info = true;
      info.remote_account = settings().account.empty() ? "$G" : settings().account;
    } else {
      std::array<unsigned char, 11> random{};
      owner_.loop_.randomness().fill(random);
      info.nonce = protocol::base64({reinterpret_cast<const char*>(random.data()), random.size()});
      info.nonce.resize(15);  // without padding
      for (char& letter : info.nonce) letter = letter == '+' ? '-' : letter == '/' ? '_' : letter;
    }
    std::string line;
    protocol::append_info(line, info);
    send(line);
  }

  void send(std::string_view bytes) {
    if (!done_) (void)stream_->write({&bytes, 1});  // so little fits, or the peer does not matter
  }

  void end(const std::string& text) {
    std::string line;
    protocol::append_error(line, text);
    send(line);
    if (log().debug_enabled()) log().debug(label() + "Leafnode connection closed: " + text);
    ending_ = true;
    stream_->shutdown_write();
    limit_.arm(owner_.loop_.now() + linger_max);
  }

  void finish() {
    if (std::exchange(done_, true)) return;
    limit_.disarm();
    stream_->close();
    owner_.loop_.post([owner = &owner_, alive = std::weak_ptr<bool>(owner_.alive_)] {
      if (!alive.expired()) owner->sweep();
    });
  }

  leaf_door& owner_;
  const std::uint64_t id_;
  std::unique_ptr<runtime::byte_stream> stream_;
  timer_queue::timer limit_;
  std::string input_;
  std::size_t swallowed_ = 0;
  bool greeting_ = false;  // CONNECT is waited for
  bool ending_ = false;
  bool done_ = false;
};

leaf_door::leaf_door(runtime::shard& loop, const options& settings, runtime::handshake_gate& gate,
                     runtime::host::logger& log, describe server, next_id ids)
    : loop_(loop),
      settings_(settings),
      gate_(gate),
      log_(log),
      describe_(std::move(server)),
      next_id_(std::move(ids)) {}

leaf_door::~leaf_door() = default;

void leaf_door::sweep() {
  std::erase_if(sessions_, [](const std::unique_ptr<session>& one) { return one->done(); });
}

result<void> leaf_door::open(runtime::transport& network) {
  const leafnode_options& settings = settings_.leafnodes;
  const std::string host = settings.host.empty() ? settings_.host : settings.host;
  if (settings.port < ephemeral_port || settings.port > 65535)
    return fail(errc::io_error,
                "Error listening on leafnode port: " + std::to_string(settings.port) + " - invalid port");
  const auto port = static_cast<std::uint16_t>(settings.port == ephemeral_port ? 0 : settings.port);
  auto opened = network.listen({.host = host, .port = port}, [this](std::unique_ptr<runtime::byte_stream> stream) {
    if (sessions_.size() >= sessions_max) return stream->close();
    sessions_.push_back(std::make_unique<session>(*this, std::move(stream)));
  });
  if (!opened)
    return fail(errc::io_error, "Error listening on leafnode port: " + std::to_string(settings.port) + " - " +
                                    opened.error().context());
  listener_ = std::move(*opened);
  log_.info("Listening for leafnode connections on " + listener_->local().text());
  log_.warn("Leaf node links are refused: leaf nodes are not built in this version of ternd");
  return {};
}

void add_leafnodes_of_varz(json_builder& to, const options& settings, const runtime::endpoint* local) {
  const leafnode_options& from = settings.leafnodes;
  to.begin_object("leaf");
  if (from.port != 0) {
    to.field("host", from.host.empty() ? settings.host : from.host);
    to.field("port", local != nullptr ? static_cast<int>(local->port) : from.port);
    to.field("auth_timeout", std::chrono::duration_cast<std::chrono::seconds>(from.auth_timeout).count());
    const nanoseconds timeout = from.tls ? from.tls->timeout : tls_options{}.timeout;
    to.field("tls_timeout", std::chrono::duration_cast<std::chrono::seconds>(timeout).count());
    to.field_unless_empty("tls_required", from.tls.has_value());
    to.field_unless_empty("tls_verify", from.tls && from.tls->verify);
  }
  to.end_object();
}

}  // namespace tern::server
