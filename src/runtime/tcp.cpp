// TCP as readiness over Asio's reactor: Asio tells when a socket may be read or written, the system calls are ours.
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace tern::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t pieces_max = 64;
// Connections taken from one listener before other events have their turn.
constexpr int accepts_per_event = 64;
constexpr nanoseconds accept_retry_pause = std::chrono::milliseconds(100);
constexpr int listen_backlog = 1024;

// An IPv4 peer of a socket that takes both families is shown as IPv4.
endpoint endpoint_of(const tcp::endpoint& from) {
  const auto address = from.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return {.host = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string(), .port = from.port()};
  }
  return {.host = address.to_string(), .port = from.port()};
}

bool would_block(int error_number) { return error_number == EAGAIN || error_number == EWOULDBLOCK; }

// The socket and the callbacks, kept alive by the handlers that Asio holds: closing, or destroying the stream, in the
// middle of a callback is safe. Invariant: at most one wait per direction is pending.
struct tcp_socket : std::enable_shared_from_this<tcp_socket> {
  explicit tcp_socket(tcp::socket connected) : socket(std::move(connected)) {}

  tcp::socket socket;
  byte_stream::ready_callback readable;
  byte_stream::ready_callback writable;
  bool closed = false;
  bool in_callback = false;
  bool reading_paused = false;
  bool ended = false;  // the end or a failure was read: there is nothing more to be told
  bool wait_read_pending = false;
  bool wait_write_pending = false;

  void want_read() {
    if (closed || ended || reading_paused || wait_read_pending || !readable) return;
    wait_read_pending = true;
    socket.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code&) {
      self->wait_read_pending = false;
      if (self->closed || self->reading_paused) return;
      self->call(self->readable);
      self->want_read();
    });
  }

  void want_write() {
    if (closed || wait_write_pending) return;
    wait_write_pending = true;
    socket.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code&) {
      self->wait_write_pending = false;
      if (self->closed || !self->writable) return;
      auto callback = std::exchange(self->writable, nullptr);
      self->call(callback);
    });
  }

  void call(byte_stream::ready_callback& callback) {
    in_callback = true;
    callback();
    in_callback = false;
    if (closed) drop_callbacks();
  }

  void close() {
    if (closed) return;
    closed = true;
    error_code ignored;
    socket.close(ignored);
    if (!in_callback) drop_callbacks();
  }

  // They may own the connection that owns the stream; a running one is dropped when it returns.
  void drop_callbacks() {
    const auto read = std::exchange(readable, nullptr);
    const auto write = std::exchange(writable, nullptr);
  }
};

class tcp_stream final : public byte_stream {
 public:
  tcp_stream(tcp::socket connected, endpoint peer) : peer_(std::move(peer)) {
    error_code ignored;
    connected.non_blocking(true, ignored);
    connected.set_option(tcp::no_delay(true), ignored);
    if (const auto own = connected.local_endpoint(ignored); !ignored) local_ = endpoint_of(own);
    descriptor_ = connected.native_handle();
    state_ = std::make_shared<tcp_socket>(std::move(connected));
  }
  ~tcp_stream() override { close(); }

  io_result read(std::span<char> into) override {
    if (state_->closed) return {.state = io_state::failed, .error_number = EBADF};
    for (;;) {
      const ssize_t got = ::recv(descriptor_, into.data(), into.size(), 0);
      if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
      if (got == 0 && into.empty()) return {};
      if (got == 0) {
        state_->ended = true;
        return {.state = io_state::end_of_stream};
      }
      if (would_block(errno)) return {.state = io_state::would_block};
      if (errno != EINTR) {
        state_->ended = true;
        return {.state = io_state::failed, .error_number = errno};
      }
    }
  }

  io_result write(std::span<const std::string_view> pieces) override {
    if (state_->closed) return {.state = io_state::failed, .error_number = EBADF};
    std::array<iovec, pieces_max> vector;
    std::size_t count = 0;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), pieces_max))) {
      if (!piece.empty()) vector[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    if (count == 0) return {};
    msghdr message{};
    message.msg_iov = vector.data();
    message.msg_iovlen = count;
    for (;;) {
      // As writev(2), and without a SIGPIPE when the peer is gone.
      const ssize_t sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
      if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
      if (would_block(errno)) return {.state = io_state::would_block};
      if (errno != EINTR) return {.state = io_state::failed, .error_number = errno};
    }
  }

  void on_readable(ready_callback callback) override {
    state_->readable = std::move(callback);
    state_->want_read();
  }
  void pause_reading() override { state_->reading_paused = true; }
  void resume_reading() override {
    state_->reading_paused = false;
    state_->want_read();
  }
  void on_writable_once(ready_callback callback) override {
    state_->writable = std::move(callback);
    state_->want_write();
  }
  void shutdown_write() override {
    if (!state_->closed) ::shutdown(descriptor_, SHUT_WR);
  }
  void close() override { state_->close(); }
  const endpoint& local() const override { return local_; }
  const endpoint& peer() const override { return peer_; }

 private:
  std::shared_ptr<tcp_socket> state_;
  int descriptor_;
  endpoint local_;
  endpoint peer_;
};

// Accepts until it is closed. A process without free descriptors, and a peer that hung up before it was accepted, do
// not end the listener: it tries again after a pause.
struct tcp_acceptor : std::enable_shared_from_this<tcp_acceptor> {
  tcp_acceptor(shard& owner, transport::accept_callback callback)
      : owner(owner),
        acceptor(owner.context()),
        accept(std::move(callback)),
        retry(owner.timers(), [this] { wait(); }) {}

  shard& owner;
  tcp::acceptor acceptor;
  transport::accept_callback accept;
  timer_queue::timer retry;

  void wait() {
    acceptor.async_wait(tcp::acceptor::wait_read, [self = shared_from_this()](const error_code& status) {
      if (!status && self->acceptor.is_open()) self->take_waiting();
    });
  }

  void take_waiting() {
    for (int taken = 0; taken < accepts_per_event; ++taken) {
      error_code status;
      tcp::endpoint from;
      tcp::socket socket(owner.context());
      acceptor.accept(socket, from, status);
      if (status == asio::error::would_block || status == asio::error::try_again) break;
      if (status == asio::error::connection_aborted || status == asio::error::interrupted) continue;
      if (status) {
        // Descriptors or memory are used up. The connection waits in the backlog; so do we.
        retry.arm(owner.now() + accept_retry_pause);
        return;
      }
      accept(std::make_unique<tcp_stream>(std::move(socket), endpoint_of(from)));
      if (!acceptor.is_open()) return;
    }
    wait();
  }

  void close() {
    retry.disarm();
    error_code ignored;
    acceptor.close(ignored);
  }
};

class tcp_listener final : public listener {
 public:
  tcp_listener(std::shared_ptr<tcp_acceptor> state, endpoint local)
      : state_(std::move(state)), local_(std::move(local)) {}
  ~tcp_listener() override { state_->close(); }
  const endpoint& local() const override { return local_; }
  void close() override { state_->close(); }

 private:
  std::shared_ptr<tcp_acceptor> state_;
  endpoint local_;
};

// One attempt: resolves, then tries each address in turn until one answers or the patience ends.
struct tcp_connector : std::enable_shared_from_this<tcp_connector> {
  tcp_connector(shard& owner, endpoint to, transport::connect_callback callback)
      : owner(owner),
        to(std::move(to)),
        done(std::move(callback)),
        resolver(owner.context()),
        socket(owner.context()),
        limit(owner.timers(), [this] { expire(); }) {}

  shard& owner;
  endpoint to;
  transport::connect_callback done;
  tcp::resolver resolver;
  tcp::socket socket;
  timer_queue::timer limit;
  tcp::resolver::results_type addresses;
  tcp::resolver::results_type::const_iterator next;
  error_code last;

  void start() {
    error_code not_numeric;
    const auto address = asio::ip::make_address(to.host, not_numeric);
    if (!not_numeric) {
      const tcp::endpoint numeric(address, to.port);
      addresses = tcp::resolver::results_type::create(numeric, to.host, std::to_string(to.port));
      next = addresses.begin();
      try_next();
      return;
    }
    // Asio resolves on a thread of its own.
    resolver.async_resolve(to.host, std::to_string(to.port), asio::ip::resolver_base::numeric_service,
                           [self = shared_from_this()](const error_code& status, tcp::resolver::results_type found) {
                             if (!self->done) return;
                             if (status) return self->finish_failed(status);
                             self->addresses = std::move(found);
                             self->next = self->addresses.begin();
                             self->try_next();
                           });
  }

  void try_next() {
    if (next == addresses.end()) return finish_failed(last);
    const tcp::endpoint address = *next++;
    error_code ignored;
    socket.close(ignored);
    socket.async_connect(address, [self = shared_from_this(), address](const error_code& status) {
      if (!self->done) return;
      if (status) {
        self->last = status;
        return self->try_next();
      }
      self->finish(std::make_unique<tcp_stream>(std::move(self->socket), endpoint_of(address)));
    });
  }

  void finish_failed(const error_code& status) {
    const std::string reason = status ? status.message() : "no address";
    finish(fail(errc::connect_failed, "connect to " + to.text() + ": " + reason));
  }

  void expire() {
    const auto self = shared_from_this();  // cancelling drops the handlers' references
    finish(fail(errc::timeout, "connect to " + to.text() + ": no answer in time"));
    resolver.cancel();
    error_code ignored;
    socket.close(ignored);
  }

  void finish(result<std::unique_ptr<byte_stream>> outcome) {
    limit.disarm();
    auto callback = std::exchange(done, nullptr);
    callback(std::move(outcome));
  }
};

class tcp_transport final : public transport {
 public:
  explicit tcp_transport(shard& owner) : owner_(owner) {}

  result<std::unique_ptr<listener>> listen(const endpoint& at, accept_callback accept) override {
    error_code status;
    const auto failed = [&](std::string_view what) {
      return fail(errc::io_error, "listen on " + at.text() + ": " + std::string(what) + ": " + status.message());
    };
    auto address = asio::ip::make_address(at.host.empty() ? "0.0.0.0" : at.host, status);
    if (status) {
      // A name such as "localhost": start-up and reload may block on it.
      tcp::resolver resolver(owner_.context());
      const auto found = resolver.resolve(at.host, std::to_string(at.port), asio::ip::resolver_base::passive, status);
      if (status) return failed("resolve");
      address = found.begin()->endpoint().address();
    }
    auto state = std::make_shared<tcp_acceptor>(owner_, std::move(accept));
    const bool wildcard = address.is_unspecified();
    // As Go has it, both wildcards take both families where the machine knows IPv6.
    if (wildcard) address = asio::ip::address_v6::any();
    state->acceptor.open(tcp::endpoint(address, at.port).protocol(), status);
    if (status && wildcard) {
      address = asio::ip::address_v4::any();
      state->acceptor.open(tcp::v4(), status);
    }
    if (status) return failed("socket");
    state->acceptor.set_option(tcp::acceptor::reuse_address(true), status);
    if (wildcard && address.is_v6()) state->acceptor.set_option(asio::ip::v6_only(false), status);
    state->acceptor.bind(tcp::endpoint(address, at.port), status);
    if (status) return failed("bind");
    state->acceptor.listen(listen_backlog, status);
    if (status) return failed("listen");
    state->acceptor.non_blocking(true, status);
    if (status) return failed("non-blocking");
    const auto bound = state->acceptor.local_endpoint(status);
    if (status) return failed("local address");
    state->wait();
    endpoint local = endpoint_of(bound);
    if (wildcard) local.host = at.host.empty() ? "0.0.0.0" : at.host;
    return std::make_unique<tcp_listener>(std::move(state), std::move(local));
  }

  void connect(const endpoint& to, nanoseconds patience, connect_callback done) override {
    const auto attempt = std::make_shared<tcp_connector>(owner_, to, std::move(done));
    attempt->limit.arm(owner_.now() + patience);
    // By posting, so that no callback runs inside this call. The pending handlers keep the attempt alive.
    owner_.post([attempt] { attempt->start(); });
  }

 private:
  shard& owner_;
};

}  // namespace

std::unique_ptr<transport> make_tcp_transport(shard& owner) { return std::make_unique<tcp_transport>(owner); }

}  // namespace tern::runtime
