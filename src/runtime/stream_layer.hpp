// What a byte stream over another byte stream has to get right whatever it does with the bytes (TLS, WebSocket frames):
// it may hold bytes of which the stream below does not tell, it keeps output that the stream below has not taken, and
// it may be destroyed inside any callback.
//
// A layer is shared by its stream and by the callbacks that the stream below holds. One shard. Invariants: nothing is
// called after close(); a running callback is dropped when it returns.
#pragma once

#include "base/timer_queue.hpp"
#include "runtime/transport.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace tern::runtime {

struct stream_layer : std::enable_shared_from_this<stream_layer> {
  using ready_callback = byte_stream::ready_callback;

  stream_layer(shard& loop, std::unique_ptr<byte_stream> below);
  virtual ~stream_layer() = default;
  stream_layer(const stream_layer&) = delete;
  stream_layer& operator=(const stream_layer&) = delete;

  // --- what the layer does with the bytes ---
  // Sets `more_inside` when it has left something that the stream below does not tell of.
  virtual io_result read(std::span<char> into) = 0;
  virtual io_result write(std::span<const std::string_view> pieces) = 0;
  virtual void shutdown_write() = 0;
  // Offers what is kept to the stream below: false when it takes no more for now. True also when it never will: failed.
  virtual bool send_kept() = 0;
  virtual bool holds_input() const = 0;  // read() would give something without the stream below
  virtual void on_listener() {}          // somebody asks to be told of input
  virtual void on_below_readable() { tell_readable(); }
  virtual void on_again() { tell_readable(); }
  virtual void on_closing() {}  // the last chance to write below
  virtual void drop_callbacks();

  // --- what is the same for all ---
  void on_readable(ready_callback callback);
  void pause_reading();
  void resume_reading();
  void on_writable_once(ready_callback callback);
  void close();
  void listen_below();
  void tell_readable();
  void wait_to_write();
  void tell_writable();
  // Runs a callback that may close the stream.
  template <class Callback>
  void run(Callback&& callback) {
    in_callback = true;
    callback();
    in_callback = false;
    if (closed) drop_callbacks();
  }

  shard& loop;
  std::unique_ptr<byte_stream> below;
  timer_queue::timer again;
  ready_callback readable, writable;
  bool closed = false, failed = false, finishing = false, paused = false;
  bool ended = false;        // the end or a failure was read: there is nothing more to be told
  bool more_inside = false;  // the last read left something
  bool listening = false, in_callback = false;
};

// The stream that owns a layer and forwards to it.
class layered_stream : public byte_stream {
 public:
  ~layered_stream() override { layer_->close(); }

  io_result read(std::span<char> into) override { return layer_->read(into); }
  io_result write(std::span<const std::string_view> pieces) override { return layer_->write(pieces); }
  void on_readable(ready_callback callback) override { layer_->on_readable(std::move(callback)); }
  void pause_reading() override { layer_->pause_reading(); }
  void resume_reading() override { layer_->resume_reading(); }
  void on_writable_once(ready_callback callback) override { layer_->on_writable_once(std::move(callback)); }
  void shutdown_write() override { layer_->shutdown_write(); }
  void close() override { layer_->close(); }
  const endpoint& local() const override { return layer_->below->local(); }
  const endpoint& peer() const override { return layer_->below->peer(); }

 protected:
  explicit layered_stream(std::shared_ptr<stream_layer> layer) : layer_(std::move(layer)) {}
  stream_layer& layer() const { return *layer_; }

 private:
  std::shared_ptr<stream_layer> layer_;
};

}  // namespace tern::runtime
