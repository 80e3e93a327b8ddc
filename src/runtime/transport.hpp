// Seam 3 of 4: the network, as readiness. A byte_stream is read and written without blocking; who finds nothing to do
// asks to be told when there is. Real: TCP over the reactor of the shard. Simulated and in-process: a pipe, which both
// ends see as a byte_stream. All callbacks run on the shard that owns the stream, never inside the call that asked for
// them.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tern::runtime {

class shard;

struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool in_process = false;
  bool unix_socket = false;  // `host` is the path of its file
  std::string text() const;  // "127.0.0.1:4222", "[::1]:4222", "unix:/run/tern.sock"
};

enum class io_state { done, would_block, end_of_stream, failed };

struct io_result {
  io_state state = io_state::done;
  std::size_t bytes = 0;  // moved, when done
  int error_number = 0;   // errno, when failed
};

// Owned by one connection on one shard. After close() no callback runs any more; close() and the destructor may be
// called inside a callback, which is then destroyed when it returns.
class byte_stream {
 public:
  using ready_callback = std::move_only_function<void()>;

  virtual ~byte_stream() = default;
  virtual io_result read(std::span<char> into) = 0;
  // Gathers at most 64 pieces; may take less than all of them.
  virtual io_result write(std::span<const std::string_view> pieces) = 0;
  // The callback that is called whenever reading may find something (data, end or error). Level-triggered: it is called
  // again while unread data waits, and no more once read() has returned the end or a failure. Set once; pause_reading()
  // and resume_reading() hold it back.
  virtual void on_readable(ready_callback callback) = 0;
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // One call once writing may go on. Ask again after each would_block.
  virtual void on_writable_once(ready_callback callback) = 0;
  virtual void shutdown_write() = 0;  // the peer reads an end of stream after what was written
  virtual void close() = 0;
  virtual const endpoint& local() const = 0;
  virtual const endpoint& peer() const = 0;
};

// Closing, or destroying, stops accepting.
class listener {
 public:
  virtual ~listener() = default;
  virtual const endpoint& local() const = 0;
  virtual void close() = 0;
};

// A shard's way to the network. One thread: the shard's.
class transport {
 public:
  using accept_callback = std::move_only_function<void(std::unique_ptr<byte_stream>)>;
  using connect_callback = std::move_only_function<void(result<std::unique_ptr<byte_stream>>)>;

  virtual ~transport() = default;
  // Port 0 asks for a free one; listener::local() tells which. The file of a Unix socket is made for its owner and
  // group alone, replaces one that nobody listens on, and is removed when listening ends.
  virtual result<std::unique_ptr<listener>> listen(const endpoint& at, accept_callback accept) = 0;
  // Resolves names off the loop. The callback runs exactly once, with errc::timeout when `patience` has passed;
  // not at all when the transport is destroyed before.
  virtual void connect(const endpoint& to, nanoseconds patience, connect_callback done) = 0;
};

// TCP, and Unix sockets where the endpoint says so.
std::unique_ptr<transport> make_tcp_transport(shard& owner);

// The in-process network: names instead of addresses, pipes instead of sockets. Listen and connect with endpoints whose
// `in_process` is true and whose `host` is any name. Ends may live on two shards (an embedded server's and a client's);
// bytes and readiness cross by post(). One pipe_network is shared by all shards that shall meet; it may be used from
// any thread and outlives every transport made from it.
class pipe_network {
 public:
  explicit pipe_network(std::size_t buffer_bytes = 1 << 20);  // per direction: a writer beyond it would block
  ~pipe_network();
  std::unique_ptr<transport> make_transport(shard& owner);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace tern::runtime
