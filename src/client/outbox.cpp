#include "client/outbox.hpp"

#include <utility>

#include "protocol/writer.hpp"

namespace tern::client {
namespace {

// Everything of a PUB or HPUB but subject, reply, header and payload: words, blanks, two numbers, line ends.
constexpr std::size_t frame_bytes = 64;

void append_frame(std::string& out, std::string_view subject, std::string_view reply, std::string_view header_block,
                  std::string_view payload) {
  const std::size_t before = out.size();
  const std::size_t most = before + subject.size() + reply.size() + header_block.size() + payload.size() + frame_bytes;
  if (most > out.capacity()) out.reserve(std::max(most, 2 * out.capacity()));
  out.resize_and_overwrite(most, [&](char* data, std::size_t) {
    char* at = data + before;
    at = header_block.empty() ? protocol::put_text(at, "PUB ") : protocol::put_text(at, "HPUB ");
    at = protocol::put_text(at, subject);
    *at++ = ' ';
    if (!reply.empty()) {
      at = protocol::put_text(at, reply);
      *at++ = ' ';
    }
    if (!header_block.empty()) {
      at = protocol::put_decimal(at, header_block.size());
      *at++ = ' ';
    }
    at = protocol::put_decimal(at, header_block.size() + payload.size());
    *at++ = '\r';
    *at++ = '\n';
    at = protocol::put_text(at, header_block);
    at = protocol::put_text(at, payload);
    *at++ = '\r';
    *at++ = '\n';
    return static_cast<std::size_t>(at - data);
  });
}

}  // namespace

result<void> outbox::publish(std::string_view subject, std::string_view reply, std::string_view header_block,
                             std::string_view payload, command with) {
  const std::size_t size = subject.size() + reply.size() + header_block.size() + payload.size() + frame_bytes;
  std::unique_lock lock(mutex_);
  if (bytes_.size() + size > limit_ || mode_ == mode::closed) {
    if (auto room = make_room(lock, size); !room) return room;
  }
  append_frame(bytes_, subject, reply, header_block, payload);
  if (with) commands_.push_back(std::move(with));
  messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  payload_bytes_.store(payload_bytes_.load(std::memory_order_relaxed) + header_block.size() + payload.size(),
                       std::memory_order_relaxed);
  appended(lock);
  return {};
}

result<void> outbox::control(std::string_view bytes, command with) {
  std::unique_lock lock(mutex_);
  if (mode_ == mode::closed) return fail(errc::closed, "the connection is closed");
  bytes_.append(bytes);
  if (with) commands_.push_back(std::move(with));
  appended(lock);
  return {};
}

result<void> outbox::make_room(std::unique_lock<std::mutex>& lock, std::size_t size) {
  const bool on_loop = loop_.on_loop_thread();
  for (;;) {
    switch (mode_) {
      case mode::closed:
        return fail(errc::closed, "the connection is closed");
      case mode::disconnected:
        if (bytes_.size() + size <= limits_.pending) return {};
        return fail(errc::disconnected, "no connection, and the pending buffer is full");
      case mode::connected:
        if (bytes_.empty() || bytes_.size() + size <= limits_.write) return {};
        if (on_loop) {
          if (bytes_.size() + size <= limits_.write * loop_factor) return {};
          return fail(errc::limit_exceeded, "the server does not take what is published on the loop's own thread");
        }
    }
    ++waiting_;
    room_.wait(lock);
    --waiting_;
  }
}

void outbox::appended(std::unique_lock<std::mutex>& lock) {
  has_work_.store(true, std::memory_order_release);
  // On the loop's thread the end of the turn takes it.
  const bool wake = !wake_posted_ && !loop_.on_loop_thread();
  if (wake) wake_posted_ = true;
  lock.unlock();
  if (wake) wake_();
}

bool outbox::take(std::string& bytes, std::vector<command>& commands) {
  if (!has_work()) return false;
  const std::lock_guard lock(mutex_);
  bytes.swap(bytes_);
  commands.swap(commands_);
  has_work_.store(false, std::memory_order_relaxed);
  wake_posted_ = false;
  if (waiting_ != 0) room_.notify_all();
  return true;
}

void outbox::set_mode(mode now) {
  const std::lock_guard lock(mutex_);
  mode_ = now;
  limit_ = now == mode::connected ? limits_.write : limits_.pending;
  if (waiting_ != 0) room_.notify_all();
}

}  // namespace tern::client
