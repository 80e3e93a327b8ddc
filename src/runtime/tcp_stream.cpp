#include "runtime/tcp_stream.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <array>
#include <cerrno>

namespace tern::runtime {

namespace asio = boost::asio;
using asio::ip::tcp;

bool would_block(int error_number) { return error_number == EAGAIN || error_number == EWOULDBLOCK; }

void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

// An IPv4 peer of a socket that takes both families is shown as IPv4.
endpoint endpoint_of(const tcp::endpoint& from) {
  const auto address = from.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return {.host = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string(), .port = from.port()};
  }
  return {.host = address.to_string(), .port = from.port()};
}

std::optional<endpoint> local_of(int descriptor) {
  tcp::endpoint own;
  auto size = static_cast<socklen_t>(own.capacity());
  if (::getsockname(descriptor, own.data(), &size) != 0) return std::nullopt;
  own.resize(size);
  return endpoint_of(own);
}

namespace {

constexpr std::size_t pieces_max = 64;

// The socket of a stream and its callbacks. Owned by the stream, and by its own on_ready() when the stream goes away
// inside one of the callbacks.
class stream_socket final : public watched_socket {
 public:
  using watched_socket::watched_socket;

  void on_readable(byte_stream::ready_callback callback) {
    if (closed()) return;
    readable_ = std::move(callback);
    want();
  }
  void on_writable_once(byte_stream::ready_callback callback) {
    if (closed()) return;
    writable_ = std::move(callback);
    want();
  }
  // The reactor learns of it when there is something to hold back: most pauses are over before.
  void pause_reading() { paused_ = true; }
  void resume_reading() {
    paused_ = false;
    want();
  }
  // The end or a failure was read: there is nothing more to be told.
  void end_reading() { ended_ = true; }

  void close() {
    watched_socket::close();
    if (!in_callback_) drop_callbacks();
  }

  static void release(std::unique_ptr<stream_socket> socket) {
    socket->close();
    if (!socket->in_callback_) return;
    socket->orphaned_ = true;
    (void)socket.release();
  }

  void on_ready(readiness::events what) override {
    in_callback_ = true;
    if (what.write && writable_) {
      auto callback = std::exchange(writable_, nullptr);
      callback();
    }
    const bool held_back = what.read && !closed() && !wants_read();
    if (what.read && wants_read()) readable_();
    in_callback_ = false;
    if (orphaned_) {
      delete this;
      return;
    }
    if (closed()) return drop_callbacks();
    const bool still_read = told_about().read && !held_back && !ended_;
    tell_about({.read = still_read || wants_read(), .write = static_cast<bool>(writable_)});
  }

 private:
  bool wants_read() const { return readable_ && !paused_ && !ended_ && !closed(); }

  void want() {
    if (in_callback_) return;  // looked at when it returns
    tell_about({.read = told_about().read || wants_read(), .write = told_about().write || writable_});
  }

  // They may own the connection that owns the stream; a running one is dropped when it returns.
  void drop_callbacks() {
    const auto read = std::exchange(readable_, nullptr);
    const auto write = std::exchange(writable_, nullptr);
  }

  byte_stream::ready_callback readable_;
  byte_stream::ready_callback writable_;
  bool in_callback_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool orphaned_ = false;
};

class tcp_stream final : public byte_stream {
 public:
  tcp_stream(std::unique_ptr<stream_socket> socket, endpoint local, endpoint peer)
      : socket_(std::move(socket)), local_(std::move(local)), peer_(std::move(peer)) {}
  ~tcp_stream() override { stream_socket::release(std::move(socket_)); }

  io_result read(std::span<char> into) override {
    if (socket_->closed()) return {.state = io_state::failed, .error_number = EBADF};
    for (;;) {
      const ssize_t got = ::recv(socket_->descriptor(), into.data(), into.size(), 0);
      if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
      if (got == 0 && into.empty()) return {};
      if (got == 0) {
        socket_->end_reading();
        return {.state = io_state::end_of_stream};
      }
      if (would_block(errno)) return {.state = io_state::would_block};
      if (errno != EINTR) {
        socket_->end_reading();
        return {.state = io_state::failed, .error_number = errno};
      }
    }
  }

  io_result write(std::span<const std::string_view> pieces) override {
    if (socket_->closed()) return {.state = io_state::failed, .error_number = EBADF};
    std::array<iovec, pieces_max> vector;
    std::size_t count = 0;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), pieces_max))) {
      if (!piece.empty()) vector[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    if (count == 0) return {};
    for (;;) {
      const ssize_t sent = send(std::span(vector).first(count));
      if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
      if (would_block(errno)) return {.state = io_state::would_block};
      if (errno != EINTR) return {.state = io_state::failed, .error_number = errno};
    }
  }

  void on_readable(ready_callback callback) override { socket_->on_readable(std::move(callback)); }
  void pause_reading() override { socket_->pause_reading(); }
  void resume_reading() override { socket_->resume_reading(); }
  void on_writable_once(ready_callback callback) override { socket_->on_writable_once(std::move(callback)); }
  void shutdown_write() override {
    if (!socket_->closed()) ::shutdown(socket_->descriptor(), SHUT_WR);
  }
  void close() override { socket_->close(); }
  const endpoint& local() const override { return local_; }
  const endpoint& peer() const override { return peer_; }

 private:
  // As write(2) and writev(2), and without a SIGPIPE when the peer is gone. One piece is the usual case and the cheaper
  // call.
  ssize_t send(std::span<iovec> pieces) const {
    if (pieces.size() == 1) {
      return ::send(socket_->descriptor(), pieces.front().iov_base, pieces.front().iov_len, MSG_NOSIGNAL);
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return ::sendmsg(socket_->descriptor(), &message, MSG_NOSIGNAL);
  }

  std::unique_ptr<stream_socket> socket_;
  endpoint local_;
  endpoint peer_;
};

// Whoever makes a stream reads it next. From here on the reactor cannot refuse.
result<std::unique_ptr<byte_stream>> make_stream(readiness& reactor, int descriptor, endpoint local, endpoint peer) {
  auto socket = std::make_unique<stream_socket>(reactor, descriptor);
  if (auto watched = socket->watch({.read = true}); !watched) return std::unexpected(std::move(watched).error());
  return std::make_unique<tcp_stream>(std::move(socket), std::move(local), std::move(peer));
}

}  // namespace

result<std::unique_ptr<byte_stream>> make_tcp_stream(readiness& reactor, int descriptor, const tcp::endpoint& peer) {
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  auto own = local_of(descriptor);
  return make_stream(reactor, descriptor, own ? *std::move(own) : endpoint(), endpoint_of(peer));
}

result<std::unique_ptr<byte_stream>> make_unix_stream(readiness& reactor, int descriptor, const endpoint& at) {
  return make_stream(reactor, descriptor, at, at);
}

}  // namespace tern::runtime
