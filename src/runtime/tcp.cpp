// TCP and Unix sockets over the shard's reactor. Asio lends its address types and its resolver; the system calls are
// ours.
#include "runtime/shard.hpp"
#include "runtime/tcp_stream.hpp"
#include "runtime/transport.hpp"

#include "base/ascii.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Connections taken from one listener before other events have their turn.
constexpr int accepts_per_event = 64;
constexpr nanoseconds accept_retry_pause = std::chrono::milliseconds(100);
constexpr int listen_backlog = 1024;

error_code system_error(int error_number) { return {error_number, boost::system::system_category()}; }

// Begins with a small letter, as scripts that look for "address already in use" have it from Go.
std::string words_of(const error_code& why) {
  std::string text = why.message();
  if (!text.empty()) text.front() = lower_case(text.front());
  return text;
}

int open_socket(const tcp::endpoint& towards) {
  return ::socket(towards.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

// Accepts until it is closed. A process without free descriptors, and a peer that hung up before it was accepted, do
// not end the listener: it tries again after a pause. Shared by the listener and a running on_ready().
class acceptor final : public watched_socket, public std::enable_shared_from_this<acceptor> {
 public:
  // `unix_at`: what it is, when it is a Unix socket.
  acceptor(shard& owner, int descriptor, transport::accept_callback callback, std::optional<endpoint> unix_at = {})
      : watched_socket(owner.reactor(), descriptor),
        owner_(owner),
        unix_at_(std::move(unix_at)),
        accept_(std::move(callback)),
        retry_(owner.timers(), [this] { tell_about({.read = true}); }) {}

  void on_ready(readiness::events) override {
    const auto self = shared_from_this();
    for (int taken = 0; taken < accepts_per_event && !closed(); ++taken) {
      tcp::endpoint from;
      auto size = static_cast<socklen_t>(from.capacity());
      const int accepted = ::accept4(descriptor(), from.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) {
        if (would_block(errno)) return;
        if (errno == ECONNABORTED || errno == EINTR) continue;
        return pause();
      }
      if (!unix_at_) from.resize(size);
      auto stream = unix_at_ ? make_unix_stream(owner_.reactor(), accepted, *unix_at_)
                             : make_tcp_stream(owner_.reactor(), accepted, from);
      if (!stream) return pause();
      accept_(*std::move(stream));
    }
  }

  void close() {
    retry_.disarm();
    watched_socket::close();
  }

 private:
  // Descriptors or memory are used up. The next connection waits in the backlog; so do we.
  void pause() {
    tell_about({});
    retry_.arm(owner_.now() + accept_retry_pause);
  }

  shard& owner_;
  const std::optional<endpoint> unix_at_;
  transport::accept_callback accept_;
  timer_queue::timer retry_;
};

class tcp_listener final : public listener {
 public:
  tcp_listener(std::shared_ptr<acceptor> state, endpoint local) : state_(std::move(state)), local_(std::move(local)) {}
  ~tcp_listener() override { state_->close(); }
  const endpoint& local() const override { return local_; }
  void close() override { state_->close(); }

 private:
  std::shared_ptr<acceptor> state_;
  endpoint local_;
};

// Its file goes with it.
class unix_listener final : public listener {
 public:
  unix_listener(std::shared_ptr<acceptor> state, endpoint local) : state_(std::move(state)), local_(std::move(local)) {}
  ~unix_listener() override { close(); }
  const endpoint& local() const override { return local_; }
  void close() override {
    if (state_->closed()) return;
    state_->close();
    ::unlink(local_.host.c_str());
  }

 private:
  std::shared_ptr<acceptor> state_;
  endpoint local_;
};

// False when the path is too long for one.
bool make_unix_address(const std::string& path, sockaddr_un& into) {
  into = {};
  into.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof into.sun_path) return false;
  path.copy(into.sun_path, path.size());
  return true;
}

int open_unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// A socket's file of which the listener is gone.
bool is_stale(const sockaddr_un& at) {
  struct stat what;
  if (::lstat(at.sun_path, &what) != 0 || !S_ISSOCK(what.st_mode)) return false;
  const int probe = open_unix_socket();
  if (probe < 0) return false;
  const bool refused =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

result<std::unique_ptr<listener>> listen_on_unix_socket(shard& owner, const endpoint& at,
                                                        transport::accept_callback accept) {
  constexpr mode_t owner_and_group = 0660;
  const auto failed = [&at](std::string_view step, int number) {
    return fail(errc::io_error,
                "listen on " + at.text() + ": " + std::string(step) + ": " + words_of(system_error(number)));
  };
  sockaddr_un address;
  if (!make_unix_address(at.host, address)) return failed("bind", ENAMETOOLONG);
  const int descriptor = open_unix_socket();
  if (descriptor < 0) return failed("socket", errno);
  // Before the file is there, so that nobody else finds it open for a moment.
  ::fchmod(descriptor, owner_and_group);
  const auto bound = [&] {
    return ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  };
  bool is_bound = bound();
  if (!is_bound && errno == EADDRINUSE && is_stale(address)) is_bound = ::unlink(address.sun_path) == 0 && bound();
  if (is_bound) ::chmod(address.sun_path, owner_and_group);  // what the process's mask has taken away
  if (!is_bound || ::listen(descriptor, listen_backlog) != 0) {
    const int number = errno;
    ::close(descriptor);
    return failed(is_bound ? "listen" : "bind", number);
  }
  const auto state = std::make_shared<acceptor>(owner, descriptor, std::move(accept), at);
  if (auto watched = state->watch({.read = true}); !watched)
    return fail(errc::io_error, "listen on " + at.text() + ": " + watched.error().context());
  return std::make_unique<unix_listener>(state, at);
}

result<std::unique_ptr<byte_stream>> connect_unix_socket(shard& owner, const endpoint& to) {
  sockaddr_un address;
  const int descriptor = make_unix_address(to.host, address) ? open_unix_socket() : -1;
  // At once or not at all: a backlog that is full is a refusal.
  if (descriptor < 0 || ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int number = descriptor < 0 ? ENAMETOOLONG : errno;
    if (descriptor >= 0) ::close(descriptor);
    return fail(errc::connect_failed, "connect to " + to.text() + ": " + system_error(number).message());
  }
  return make_unix_stream(owner.reactor(), descriptor, to);
}

class connector;
using connectors = std::vector<std::shared_ptr<connector>>;

// One attempt: resolves, then tries each address in turn until one answers or the patience ends. Among the transport's
// `pending` until then.
class connector final : public readiness::watcher, public std::enable_shared_from_this<connector> {
 public:
  connector(shard& owner, connectors& pending, endpoint to, transport::connect_callback callback)
      : owner_(owner),
        pending_(pending),
        to_(std::move(to)),
        done_(std::move(callback)),
        limit_(owner.timers(), [this] { expire(); }) {}

  void start(time_point limit) {
    limit_.arm(limit);
    pending_.push_back(shared_from_this());
    // By posting, so that no callback runs inside this call.
    owner_.post([self = shared_from_this()] { self->resolve(); });
  }

  void on_ready(readiness::events) override {
    int outcome = 0;
    socklen_t size = sizeof outcome;
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &outcome, &size) != 0) outcome = errno;
    if (outcome == 0) return succeed();
    last_ = system_error(outcome);
    drop_socket();
    try_next();
  }

  // Without an answer to anybody: the transport goes away.
  void abandon() {
    limit_.disarm();
    drop_socket();
    if (resolver_) resolver_->cancel();
    const auto callback = std::exchange(done_, nullptr);
  }

 private:
  void resolve() {
    if (!done_) return;
    error_code not_numeric;
    const auto address = asio::ip::make_address(to_.host, not_numeric);
    if (!not_numeric) {
      const tcp::endpoint numeric(address, to_.port);
      addresses_ = tcp::resolver::results_type::create(numeric, to_.host, std::to_string(to_.port));
      next_ = addresses_.begin();
      return try_next();
    }
    // Asio resolves on a thread of its own.
    resolver_.emplace(owner_.context());
    resolver_->async_resolve(to_.host, std::to_string(to_.port), asio::ip::resolver_base::numeric_service,
                             [self = shared_from_this()](const error_code& status, tcp::resolver::results_type found) {
                               if (!self->done_) return;
                               if (status) return self->finish_failed(status);
                               self->addresses_ = std::move(found);
                               self->next_ = self->addresses_.begin();
                               self->try_next();
                             });
  }

  void try_next() {
    for (; next_ != addresses_.end(); ++next_) {
      address_ = next_->endpoint();
      socket_ = open_socket(address_);
      if (socket_ < 0) {
        last_ = system_error(errno);
        continue;
      }
      const int outcome = ::connect(socket_, address_.data(), static_cast<socklen_t>(address_.size())) == 0 ? 0 : errno;
      if (outcome == EINPROGRESS || outcome == EINTR) {
        if (!owner_.reactor().watch(socket_, *this, {.write = true})) {
          last_ = system_error(ENOMEM);
          drop_socket();
          continue;
        }
        watching_ = true;
        ++next_;
        return;
      }
      if (outcome == 0) return succeed();
      last_ = system_error(outcome);
      drop_socket();
    }
    finish_failed(last_);
  }

  void succeed() {
    stop_watching();
    auto stream = make_tcp_stream(owner_.reactor(), std::exchange(socket_, -1), address_);
    if (!stream) {
      return finish(fail(errc::connect_failed, "connect to " + to_.text() + ": " + stream.error().context()));
    }
    finish(std::move(stream));
  }

  void finish_failed(const error_code& status) {
    const std::string reason = status ? status.message() : "no address";
    finish(fail(errc::connect_failed, "connect to " + to_.text() + ": " + reason));
  }

  void expire() {
    drop_socket();
    if (resolver_) resolver_->cancel();
    finish(fail(errc::timeout, "connect to " + to_.text() + ": no answer in time"));
  }

  void finish(result<std::unique_ptr<byte_stream>> outcome) {
    const auto self = shared_from_this();
    limit_.disarm();
    std::erase(pending_, self);
    auto callback = std::exchange(done_, nullptr);
    callback(std::move(outcome));
  }

  void stop_watching() {
    if (std::exchange(watching_, false)) owner_.reactor().forget(socket_, *this);
  }
  void drop_socket() {
    stop_watching();
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  shard& owner_;
  connectors& pending_;
  endpoint to_;
  transport::connect_callback done_;
  timer_queue::timer limit_;
  std::optional<tcp::resolver> resolver_;
  tcp::resolver::results_type addresses_;
  tcp::resolver::results_type::const_iterator next_;
  error_code last_;
  tcp::endpoint address_;
  int socket_ = -1;
  bool watching_ = false;
};

// A socket that is bound and listens, or -1 with the failed step and errno.
struct listening_socket {
  int descriptor = -1;
  std::string_view failed_step;

  void open(const tcp::endpoint& at, bool both_families) {
    descriptor = open_socket(at);
    if (descriptor < 0) return fail_at("socket");
    set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    if (both_families) set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (::bind(descriptor, at.data(), static_cast<socklen_t>(at.size())) != 0) return fail_at("bind");
    if (::listen(descriptor, listen_backlog) != 0) return fail_at("listen");
  }

 private:
  void fail_at(std::string_view step) {
    const int number = errno;
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
    errno = number;
    failed_step = step;
  }
};

class tcp_transport final : public transport {
 public:
  explicit tcp_transport(shard& owner) : owner_(owner) {}
  ~tcp_transport() override {
    for (const auto& each : std::exchange(pending_, {})) each->abandon();
  }

  result<std::unique_ptr<listener>> listen(const endpoint& at, accept_callback accept) override {
    if (at.unix_socket) return listen_on_unix_socket(owner_, at, std::move(accept));
    const auto failed = [&](std::string_view what, const error_code& why) {
      return fail(errc::io_error, "listen on " + at.text() + ": " + std::string(what) + ": " + words_of(why));
    };
    error_code status;
    auto address = asio::ip::make_address(at.host.empty() ? "0.0.0.0" : at.host, status);
    if (status) {
      // A name such as "localhost": start-up and reload may block on it.
      tcp::resolver resolver(owner_.context());
      const auto found = resolver.resolve(at.host, std::to_string(at.port), asio::ip::resolver_base::passive, status);
      if (status) return failed("resolve", status);
      address = found.begin()->endpoint().address();
    }
    listening_socket socket;
    const bool wildcard = address.is_unspecified();
    if (wildcard) {
      // As Go has it, both wildcards take both families where the machine knows IPv6.
      socket.open({asio::ip::address_v6::any(), at.port}, true);
      if (socket.failed_step == "socket") socket = {}, socket.open({asio::ip::address_v4::any(), at.port}, false);
    } else {
      socket.open({address, at.port}, false);
    }
    if (socket.descriptor < 0) return failed(socket.failed_step, system_error(errno));
    const auto state = std::make_shared<acceptor>(owner_, socket.descriptor, std::move(accept));
    auto local = local_of(socket.descriptor);
    if (!local) return failed("local address", system_error(errno));
    if (auto watched = state->watch({.read = true}); !watched) {
      return fail(errc::io_error, "listen on " + at.text() + ": " + watched.error().context());
    }
    if (wildcard) local->host = at.host.empty() ? "0.0.0.0" : at.host;
    return std::make_unique<tcp_listener>(state, *std::move(local));
  }

  void connect(const endpoint& to, nanoseconds patience, connect_callback done) override {
    if (to.unix_socket) {
      return owner_.post([&owner = owner_, to, done = std::move(done), alive = std::weak_ptr<bool>(alive_)]() mutable {
        if (!alive.expired()) done(connect_unix_socket(owner, to));
      });
    }
    std::make_shared<connector>(owner_, pending_, to, std::move(done))->start(owner_.now() + patience);
  }

 private:
  shard& owner_;
  connectors pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<transport> make_tcp_transport(shard& owner) { return std::make_unique<tcp_transport>(owner); }

}  // namespace tern::runtime
