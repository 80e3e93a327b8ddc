#include "server/websocket/websocket_door.hpp"

#include "base/http_date.hpp"
#include "runtime/address.hpp"
#include "runtime/shard.hpp"
#include "server/monitoring/json_builder.hpp"
#include "server/websocket/websocket_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tern::server {

using runtime::io_state;

namespace {

// Browsers choke on larger ones.
constexpr std::size_t browser_frame_max = 4096;
constexpr std::uint64_t inflated_most = 64 << 20;
constexpr std::uint64_t inflated_per_payload = 8;

std::uint64_t inflated_max(const options& settings) {
  if (settings.max_payload <= 0) return inflated_most;
  return std::min(inflated_most, inflated_per_payload * static_cast<std::uint64_t>(settings.max_payload));
}

std::string cookie(const protocol::upgrade_request& from, const std::string& name) {
  if (name.empty()) return {};
  const auto found = from.cookies.find(name);
  return found == from.cookies.end() ? std::string() : found->second;
}

}  // namespace

std::optional<std::string> origin_refusal(const websocket_options& settings, const protocol::upgrade_request& request,
                                          bool over_tls) {
  if (request.origin.empty() || (!settings.same_origin && settings.allowed_origins.empty())) return std::nullopt;
  const auto origin = parse_web_origin(request.origin);
  if (!origin) return "origin not allowed: parse \"" + request.origin + "\": invalid URI for request";
  if (settings.same_origin) {
    const auto own = parse_web_origin((over_tls ? "https://" : "http://") + request.host);
    if (!own || own->host != origin->host || own->port != origin->port) return "origin not allowed: not same origin";
  }
  if (settings.allowed_origins.empty()) return std::nullopt;
  for (const std::string& one : settings.allowed_origins)
    if (parse_web_origin(one) == origin) return std::nullopt;
  return "origin not allowed: not in the allowed list";
}

// One accepted socket until it is a connection of the server or closed.
class websocket_door::request {
 public:
  request(websocket_door& owner, std::unique_ptr<runtime::byte_stream> stream)
      : owner_(owner),
        stream_(std::move(stream)),
        limit_(owner.loop_.timers(), [this] { end("i/o timeout"); }),
        next_(owner.loop_.timers(), [this] { serve(); }) {
    const websocket_options& settings = owner_.settings_.websocket;
    limit_.arm(owner_.loop_.now() + settings.handshake_timeout);
    if (!settings.tls) {
      read_request();
      return;
    }
    auto around =
        std::make_unique<runtime::tls_stream>(owner_.loop_, std::move(stream_), settings.tls->context, &owner_.gate_);
    tls_ = around.get();
    stream_ = std::move(around);
    tls_->handshake([this](result<void> outcome) {
      if (outcome) return read_request();
      owner_.log_.error("http: TLS handshake error from " + stream_->peer().text() + ": " + outcome.error().context());
      finish();
    });
  }

  bool done() const { return done_; }

 private:
  void read_request() {
    stream_->on_readable([this] { on_readable(); });
  }

  void on_readable() {
    if (done_ || next_.armed()) return;
    std::array<char, 4096> block;
    const runtime::io_result got = stream_->read(block);
    if (got.state == io_state::would_block) return;
    if (got.state != io_state::done) return finish();
    bytes_.append(block.data(), got.bytes);
    // The stream may change its owner, which must not happen inside its callback.
    stream_->pause_reading();
    next_.arm(owner_.loop_.now());
  }

  void serve() {
    const auto read = protocol::parse_upgrade_request(bytes_);
    using state = protocol::upgrade_parse::state;
    if (read.what == state::incomplete) return stream_->resume_reading();
    if (read.what == state::malformed) {
      answer(protocol::bad_request_answer({}));
      return finish();
    }
    if (const auto refusal = refusal_of(read.request)) {
      owner_.log_.error(stream_->peer().text() + " - websocket handshake error: " + refusal->reason);
      answer(protocol::upgrade_refusal_answer(refusal->status, http_date(owner_.loop_.now())));
      return finish();
    }
    admit(read);
  }

  std::optional<protocol::upgrade_refusal> refusal_of(const protocol::upgrade_request& what) const {
    if (auto wrong = protocol::check_upgrade_request(what)) return wrong;
    if (what.path.ends_with("/mqtt")) return protocol::upgrade_refusal{404, "MQTT is not configured"};
    if (what.path.ends_with("/leafnode"))
      return protocol::upgrade_refusal{404, "Not configured to accept leaf node connections"};
    if (auto why = origin_refusal(owner_.settings_.websocket, what, tls_ != nullptr))
      return protocol::upgrade_refusal{403, *std::move(why)};
    return std::nullopt;
  }

  void admit(const protocol::upgrade_parse& read) {
    const protocol::upgrade_request& asked = read.request;
    const websocket_options& settings = owner_.settings_.websocket;
    const bool compress = settings.compression && asked.deflate;
    connection_facts facts;
    if (tls_ != nullptr) facts.tls = tls_->facts();
    websocket_facts& about = facts.websocket.emplace();
    about.path = asked.path;
    about.local = owner_.local();
    if (runtime::kind_of_address(asked.forwarded_for) != runtime::address_kind::none)
      about.forwarded_for = asked.forwarded_for;
    about.cookie_jwt = cookie(asked, settings.jwt_cookie);
    about.cookie_user = cookie(asked, settings.user_cookie);
    about.cookie_password = cookie(asked, settings.password_cookie);
    about.cookie_token = cookie(asked, settings.token_cookie);
    const websocket_settings frames{.compress = compress,
                                    .masked = !asked.no_masking,
                                    .frame_max = asked.user_agent.starts_with("Mozilla/") ? browser_frame_max : 0,
                                    .inflated_max = inflated_max(owner_.settings_)};
    auto stream = std::make_unique<websocket_stream>(owner_.loop_, std::move(stream_), frames,
                                                     protocol::upgrade_answer(asked, compress, settings.headers),
                                                     bytes_.substr(read.size));
    websocket_stream& frames_of = *stream;
    auto front = std::make_unique<connection_front>(std::move(facts), frames_of);
    release();
    owner_.admit_(std::move(stream), std::move(front));
  }

  void answer(const std::string& text) {
    const std::string_view piece = text;
    (void)stream_->write({&piece, 1});  // a fresh socket takes so little; and if not, it is closed anyway
    stream_->shutdown_write();
  }

  void end(std::string_view why) {
    owner_.log_.error(stream_->peer().text() + " - websocket handshake error: " + std::string(why));
    finish();
  }

  void finish() {
    if (done_) return;
    stream_->close();
    release();
  }

  void release() {
    done_ = true;
    limit_.disarm();
    next_.disarm();
    owner_.loop_.post([owner = &owner_, alive = std::weak_ptr<bool>(owner_.alive_)] {
      if (!alive.expired()) owner->sweep();
    });
  }

  websocket_door& owner_;
  std::unique_ptr<runtime::byte_stream> stream_;
  runtime::tls_stream* tls_ = nullptr;  // is stream_, with TLS
  timer_queue::timer limit_, next_;
  std::string bytes_;
  bool done_ = false;
};

websocket_door::websocket_door(runtime::shard& loop, const options& settings, runtime::handshake_gate& gate,
                               runtime::host::logger& log, admit to)
    : loop_(loop), settings_(settings), gate_(gate), log_(log), admit_(std::move(to)) {}

websocket_door::~websocket_door() = default;

void websocket_door::sweep() {
  std::erase_if(pending_, [](const std::unique_ptr<request>& one) { return one->done(); });
}

result<void> websocket_door::open(runtime::transport& network) {
  const websocket_options& settings = settings_.websocket;
  const std::string host = settings.host.empty() ? settings_.host : settings.host;
  if (settings.port < ephemeral_port || settings.port > 65535)
    return fail(errc::io_error, "Unable to listen for websocket connections: invalid port");
  const auto port = static_cast<std::uint16_t>(settings.port == ephemeral_port ? 0 : settings.port);
  auto opened = network.listen({.host = host, .port = port}, [this](std::unique_ptr<runtime::byte_stream> stream) {
    if (pending_.size() >= pending_max) return stream->close();
    pending_.push_back(std::make_unique<request>(*this, std::move(stream)));
  });
  if (!opened) return fail(errc::io_error, "Unable to listen for websocket connections: " + opened.error().context());
  listener_ = std::move(*opened);
  log_.info("Listening for websocket clients on " + std::string(settings.tls ? "wss://" : "ws://") +
            listener_->local().text());
  if (!settings.tls) log_.warn("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!");
  return {};
}

void add_websocket_of_varz(json_builder& to, const options& settings, const runtime::endpoint* local) {
  const websocket_options& from = settings.websocket;
  to.begin_object("websocket");
  if (from.port != 0) {
    to.field("host", from.host.empty() ? settings.host : from.host);
    to.field("port", local != nullptr ? static_cast<int>(local->port) : from.port);
    to.field_unless_empty("advertise", from.advertise).field_unless_empty("no_auth_user", from.no_auth_user);
    to.field_unless_empty("jwt_cookie", from.jwt_cookie).field_unless_empty("user_cookie", from.user_cookie);
    to.field_unless_empty("pass_cookie", from.password_cookie).field_unless_empty("token_cookie", from.token_cookie);
    if (from.auth_timeout) to.field("auth_timeout", static_cast<double>(from.auth_timeout->count()) / 1e9);
    to.field_unless_empty("no_tls", from.no_tls);
    if (from.tls && from.tls->context->not_after() != time_point{})
      to.field("tls_cert_not_after", from.tls->context->not_after());
    to.field_unless_empty("tls_verify", from.tls && from.tls->verify);
    to.field_unless_empty("same_origin", from.same_origin);
    if (!from.allowed_origins.empty()) {
      to.begin_array("allowed_origins");
      for (const std::string& one : from.allowed_origins) to.element(one);
      to.end_array();
    }
    to.field_unless_empty("compression", from.compression);
  }
  to.end_object();
}

}  // namespace tern::server
