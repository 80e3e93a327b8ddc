#include "runtime/stream_layer.hpp"

#include "runtime/shard.hpp"

#include <utility>

namespace tern::runtime {
namespace {

// Calls of one event, when each leaves something inside; the rest in the next turn.
constexpr int calls_max = 4;

}  // namespace

stream_layer::stream_layer(shard& loop, std::unique_ptr<byte_stream> below)
    : loop(loop), below(std::move(below)), again(loop.timers(), [this] {
        const auto alive = shared_from_this();
        if (!closed) on_again();
      }) {}

void stream_layer::on_readable(ready_callback callback) {
  if (closed) return;
  readable = std::move(callback);
  listen_below();
  on_listener();
  if (!holds_input()) return;
  more_inside = true;
  again.arm(loop.now());
}

void stream_layer::pause_reading() {
  paused = true;
  below->pause_reading();
}

void stream_layer::resume_reading() {
  if (closed) return;
  paused = false;
  if (!ended) below->resume_reading();
  if (more_inside) again.arm(loop.now());
}

void stream_layer::on_writable_once(ready_callback callback) {
  if (closed) return;
  writable = std::move(callback);
  wait_to_write();
}

// Once: the callback may be running.
void stream_layer::listen_below() {
  if (std::exchange(listening, true)) return;
  below->on_readable([self = shared_from_this()] {
    if (!self->closed) self->on_below_readable();
  });
}

void stream_layer::tell_readable() {
  for (int calls = 0; calls < calls_max && !closed && !paused && readable; ++calls) {
    run([this] { readable(); });
    if (closed || !more_inside) return;
  }
  if (more_inside && !closed && !paused && readable) again.arm(loop.now());
}

void stream_layer::wait_to_write() {
  below->on_writable_once([self = shared_from_this()] {
    if (!self->closed) self->tell_writable();
  });
}

void stream_layer::tell_writable() {
  if (!send_kept()) return wait_to_write();
  if (finishing && !failed) return below->shutdown_write();
  if (!writable) return;
  run([callback = std::exchange(writable, nullptr)]() mutable { callback(); });
}

void stream_layer::close() {
  if (closed) return;
  const auto alive = shared_from_this();
  on_closing();
  closed = true;
  again.disarm();
  below->close();
  if (!in_callback) drop_callbacks();
}

// They may own the connection that owns the stream.
void stream_layer::drop_callbacks() {
  const auto read = std::exchange(readable, nullptr);
  const auto write = std::exchange(writable, nullptr);
}

}  // namespace tern::runtime
