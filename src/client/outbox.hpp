// What waits to be sent: bytes in the order in which threads appended them, and the commands that belong to them
// ("this subject is answered there", "somebody waits for this PONG"). The loop takes both in one step and carries out
// the commands before it writes the bytes, so whatever a byte may bring back finds its receiver registered; everything
// else in the connection then belongs to the loop alone.
//
// Thread safety: append from any thread, take() and set_mode() from the loop. Invariant: bytes_ begins and ends between
// two operations of the protocol. Bounded: publishes by the limit of the mode; commands cost their caller a wait or
// memory of his own, so they are not.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <tern/base/error.hpp>

#include "runtime/shard.hpp"

namespace tern::client {

class outbox {
 public:
  using command = std::move_only_function<void()>;
  enum class mode { disconnected, connected, closed };
  struct limits {
    std::size_t pending;  // while disconnected
    std::size_t write;    // while connected
  };
  // On the loop's own thread nobody would make room, so it may go on to so many times the limit.
  static constexpr std::size_t loop_factor = 64;

  // `wake` is called, without a lock, by a thread that is not the loop's when the loop should take.
  outbox(runtime::shard& loop, limits bounds, std::move_only_function<void()> wake)
      : loop_(loop), limits_(bounds), limit_(bounds.pending), wake_(std::move(wake)) {}

  // PUB or HPUB; `header_block` is whole or empty. `with` runs on the loop before the bytes leave.
  result<void> publish(std::string_view subject, std::string_view reply, std::string_view header_block,
                       std::string_view payload, command with = nullptr);
  // SUB, UNSUB and PING lines, and their commands.
  result<void> control(std::string_view bytes, command with = nullptr);

  // The loop: swaps in the empty `bytes` and `commands`; false when there is nothing.
  bool take(std::string& bytes, std::vector<command>& commands);
  bool has_work() const { return has_work_.load(std::memory_order_acquire); }
  void set_mode(mode now);

  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }

 private:
  result<void> make_room(std::unique_lock<std::mutex>& lock, std::size_t size);
  void appended(std::unique_lock<std::mutex>& lock);

  runtime::shard& loop_;
  const limits limits_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::string bytes_;
  std::vector<command> commands_;
  mode mode_ = mode::disconnected;
  std::size_t limit_;
  std::size_t waiting_ = 0;   // threads that wait for room
  bool wake_posted_ = false;  // the loop knows
  std::atomic<bool> has_work_ = false;
  std::atomic<std::uint64_t> messages_ = 0;  // written under the mutex
  std::atomic<std::uint64_t> payload_bytes_ = 0;
  std::move_only_function<void()> wake_;
};

}  // namespace tern::client
