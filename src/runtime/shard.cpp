#include "runtime/shard.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace tern::runtime {
namespace {

namespace asio = boost::asio;

// Handlers of one turn: so many that writes are worth batching, so few that timers and hooks are not held up.
constexpr std::size_t turn_handlers_max = 128;
// The longest wait. A step of the system clock makes deadlines come earlier than the steady timer knows; it is noticed
// after this time at the latest.
constexpr nanoseconds wait_max = std::chrono::seconds(1);

struct hook {
  std::move_only_function<void()> action;
  bool removed = false;  // swept at the end of the turn, since the action may be running
};

// Outlives the shard when a handle does.
struct hook_list {
  std::vector<std::unique_ptr<hook>> hooks;
  bool swept = true;
  bool running = false;

  void sweep() {
    std::erase_if(hooks, [](const auto& entry) { return entry->removed; });
    swept = true;
  }
};

class hook_registration final : public shard::hook_handle {
 public:
  hook_registration(std::shared_ptr<hook_list> list, hook& own) : list_(std::move(list)), own_(own) {}
  ~hook_registration() override {
    own_.removed = true;
    list_->swept = false;
    if (!list_->running) list_->sweep();
  }

 private:
  std::shared_ptr<hook_list> list_;
  hook& own_;
};

// Storage of the one end-of-round handler that is ever queued, so that a turn allocates nothing.
struct handler_storage {
  alignas(std::max_align_t) unsigned char bytes[256];
  bool used = false;
};

template <class T>
struct storage_allocator {
  using value_type = T;
  handler_storage* storage;

  explicit storage_allocator(handler_storage* storage) : storage(storage) {}
  template <class U>
  storage_allocator(const storage_allocator<U>& other) : storage(other.storage) {}
  template <class U>
  bool operator==(const storage_allocator<U>& other) const {
    return storage == other.storage;
  }
  T* allocate(std::size_t count) {
    if (storage->used || count * sizeof(T) > sizeof storage->bytes) return std::allocator<T>().allocate(count);
    storage->used = true;
    return reinterpret_cast<T*>(storage->bytes);
  }
  void deallocate(T* at, std::size_t count) {
    if (reinterpret_cast<unsigned char*>(at) != storage->bytes) return std::allocator<T>().deallocate(at, count);
    storage->used = false;
  }
};

// Queued behind the reactor's own entry in Asio's queue: when it runs, everything that was ready when the round began
// has run, and the reactor was asked once. Without it a busy loop would go on reading and never get to its hooks.
struct end_of_round {
  using allocator_type = storage_allocator<void>;
  handler_storage* storage;
  bool* open;
  allocator_type get_allocator() const { return allocator_type(storage); }
  void operator()() const { *open = false; }
};

}  // namespace

struct shard::implementation {
  using work = std::move_only_function<void()>;

  // --- guarded by mutex ---
  std::mutex mutex;
  std::vector<work> posted;
  std::atomic<std::thread::id> loop_thread;  // written under the mutex, read by anybody
  bool wake_is_queued = false;

  // --- any thread ---
  std::atomic<bool> has_posted = false;
  std::atomic<bool> stopping = false;

  // --- the loop's thread ---
  std::vector<work> running;  // the batch that was taken from `posted`; keeps its capacity
  std::shared_ptr<hook_list> hooks = std::make_shared<hook_list>();
  handler_storage round_storage;
  bool round_open = false;  // an end_of_round is queued
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  std::optional<asio::steady_timer> wake;  // made with the first wait, so that a test's shard has no reactor
  bool wake_is_armed = false;
  time_point wake_at{};

  // Never waits for the loop: an empty handler makes run_one() return.
  void wake_loop(asio::io_context& context) {
    asio::post(context, [] {});
  }
};

// UNSAFE_IO: sockets and timers are used on the loop's thread only, while posting stays safe from every thread.
shard::shard(clock& time, random& randomness)
    : clock_(time),
      randomness_(randomness),
      implementation_(std::make_unique<implementation>()),
      context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO) {
  implementation_->guard.emplace(context_.get_executor());
  implementation_->loop_thread = std::this_thread::get_id();
}

shard::~shard() {
  // What was posted and never ran is destroyed while everything it may touch still stands; it may post again.
  for (;;) {
    std::vector<implementation::work> rest;
    {
      const std::scoped_lock lock(implementation_->mutex);
      rest.swap(implementation_->posted);
    }
    if (rest.empty()) break;
  }
  implementation_->wake.reset();
  implementation_->guard.reset();
}

void shard::post(std::move_only_function<void()> work) {
  implementation& self = *implementation_;
  bool wake = false;
  {
    const std::scoped_lock lock(self.mutex);
    self.posted.push_back(std::move(work));
    self.has_posted.store(true, std::memory_order_release);
    if (!self.wake_is_queued && self.loop_thread.load(std::memory_order_relaxed) != std::this_thread::get_id()) {
      self.wake_is_queued = wake = true;
    }
  }
  if (wake) self.wake_loop(context_);
}

void shard::stop() {
  implementation_->stopping.store(true, std::memory_order_release);
  implementation_->wake_loop(context_);
}

void shard::read_now() const {
  // A clock that was moved by a test may only go forward, as the contract of `clock` has it.
  now_ = std::max(now_, clock_.now());
  now_is_read_ = true;
}

time_point shard::refresh_now() {
  read_now();
  return now_;
}

bool shard::on_loop_thread() const {
  return implementation_->loop_thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void shard::adopt_thread() {
  if (on_loop_thread()) return;
  const std::scoped_lock lock(implementation_->mutex);  // who posts sees the old thread and its work, or the new one
  implementation_->loop_thread = std::this_thread::get_id();
}

std::unique_ptr<shard::hook_handle> shard::at_turn_end(std::move_only_function<void()> action) {
  auto own = std::make_unique<hook>(std::move(action));
  hook& registered = *own;
  implementation_->hooks->hooks.push_back(std::move(own));
  return std::make_unique<hook_registration>(implementation_->hooks, registered);
}

void shard::run() {
  adopt_thread();
  while (!implementation_->stopping.load(std::memory_order_acquire)) turn(true);
  implementation_->stopping = false;
}

std::size_t shard::run_ready(std::size_t turn_limit) {
  adopt_thread();
  // The caller may have called into objects of the shard, so hooks run even when nothing is ready, and what they write
  // to a socket shows up as readiness only after that: two idle turns in a row are the end.
  std::size_t taken = 0;
  for (int idle = 0; idle < 2 && taken < turn_limit;) {
    if (turn(false)) {
      ++taken;
      idle = 0;
    } else {
      ++idle;
    }
  }
  return taken;
}

bool shard::turn(bool may_wait) {
  now_is_read_ = false;
  std::size_t ran = run_posted();
  bool wait = may_wait && ran == 0;
  if (const auto due = timers_.earliest(); wait && due) {
    // Read for this question only: a turn that waits reads its own time afterwards.
    wait = *due > clock_.now();
  }
  ran += run_handlers(wait);
  if (timers_.earliest()) ran += timers_.run_due(now());
  run_hooks();
  now_is_read_ = false;  // between turns nothing is cached: a paused clock may be moved
  return ran > 0;
}

std::size_t shard::run_posted() {
  implementation& self = *implementation_;
  if (!self.has_posted.load(std::memory_order_acquire)) return 0;
  {
    const std::scoped_lock lock(self.mutex);
    self.running.swap(self.posted);
    self.has_posted.store(false, std::memory_order_relaxed);
    self.wake_is_queued = false;
  }
  for (auto& work : self.running) {
    work();
    work = nullptr;  // what it owned goes now, in order, not at the end of the batch
  }
  const std::size_t ran = self.running.size();
  self.running.clear();
  return ran;
}

std::size_t shard::run_handlers(bool may_wait) {
  implementation& self = *implementation_;
  std::size_t ran = may_wait && !self.round_open ? wait_for_handler() : 0;
  if (!self.round_open) {
    self.round_open = true;
    asio::post(context_, end_of_round{&self.round_storage, &self.round_open});
  }
  while (self.round_open && ran < turn_handlers_max) {
    if (context_.poll_one() == 0) break;  // only when somebody stopped the context
    if (self.round_open) ++ran;
  }
  if (may_wait) ran += run_posted();  // what woke the loop
  return ran;
}

std::size_t shard::wait_for_handler() {
  implementation& self = *implementation_;
  if (const auto due = timers_.earliest()) {
    const time_point now = clock_.now();
    const time_point until = std::min(*due, now + wait_max);
    // A timer armed for earlier than needed is left alone: one wake for nothing is cheaper than arming for each
    // deadline.
    if (!self.wake_is_armed || until < self.wake_at) {
      if (!self.wake) self.wake.emplace(context_);
      self.wake->expires_after(std::max(nanoseconds(1), until - now));
      self.wake_is_armed = true;
      self.wake_at = until;
      self.wake->async_wait([&self](const boost::system::error_code& status) {
        if (!status) self.wake_is_armed = false;
      });
    }
  }
  return context_.run_one();
}

void shard::run_hooks() {
  hook_list& list = *implementation_->hooks;
  list.running = true;
  // By index: a hook may register another, which runs from this turn on.
  for (std::size_t i = 0; i < list.hooks.size(); ++i) {
    hook& current = *list.hooks[i];
    if (!current.removed) current.action();
  }
  list.running = false;
  if (!list.swept) list.sweep();
}

}  // namespace tern::runtime
