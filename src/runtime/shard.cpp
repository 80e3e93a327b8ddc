#include "runtime/shard.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tern::runtime {
namespace {

namespace asio = boost::asio;

// Handlers of one turn: so many that writes are worth batching, so few that timers and hooks are not held up.
constexpr std::size_t turn_handlers_max = 128;
// The longest wait. A step of the system clock makes deadlines come earlier than the steady timer knows; it is noticed
// after this time at the latest.
constexpr nanoseconds wait_max = std::chrono::seconds(1);
// How often the context is looked at while the process has no descriptors left for Asio's reactor.
constexpr nanoseconds context_poll_pause = std::chrono::milliseconds(10);

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

// Storage of a handler of which there is never more than one, so that a turn allocates nothing.
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

// Queued behind Asio's own entry in its queue: when it runs, everything that was ready when the round began has run,
// and Asio's reactor was asked once. Without it a busy loop would go on with handlers and never get to its hooks.
struct end_of_round {
  using allocator_type = storage_allocator<void>;
  handler_storage* storage;
  bool* open;
  allocator_type get_allocator() const { return allocator_type(storage); }
  void operator()() const { *open = false; }
};

// Runs when the shard's reactor, which Asio watches while the shard waits in the context, has something to gather.
struct reactor_ready {
  using allocator_type = storage_allocator<void>;
  handler_storage* storage;
  bool* armed;
  bool* ready;
  allocator_type get_allocator() const { return allocator_type(storage); }
  void operator()(const boost::system::error_code& status) const {
    *armed = false;
    if (!status) *ready = true;
  }
};

using context_executor = asio::io_context::executor_type;

}  // namespace

struct shard::implementation {
  using work = std::move_only_function<void()>;

  // --- guarded by mutex ---
  std::mutex mutex;
  std::vector<work> posted;
  std::atomic<std::thread::id> loop_thread;  // written under the mutex, read by anybody

  // --- any thread ---
  // A loop that falls asleep says so and then looks for work and stop; who brings either then looks whether it sleeps.
  // Sequentially consistent, so that one of the two sees the other.
  std::atomic<bool> has_posted = false;
  std::atomic<bool> stopping = false;
  std::atomic<bool> asleep = false;

  // --- the loop's thread ---
  std::vector<work> running;  // the batch that was taken from `posted`; keeps its capacity
  std::shared_ptr<hook_list> hooks = std::make_shared<hook_list>();
  handler_storage round_storage;
  bool round_open = false;  // an end_of_round is queued
  // Held as long as other threads may post to the context: with work outstanding it never counts as idle.
  std::optional<asio::executor_work_guard<context_executor>> guard;
  bool context_is_idle = false;  // nothing is outstanding there
  // The reactor's set under Asio's eyes; made with the first wait in the context.
  std::optional<asio::posix::basic_stream_descriptor<context_executor>> watched_reactor;
  handler_storage watch_storage;
  bool watch_is_armed = false;
  bool reactor_is_ready = false;

  void wake(readiness& reactor) {
    if (asleep.exchange(false)) reactor.wake();
  }

  // Has Asio tell when the reactor has something. False when there are no descriptors for that.
  bool watch_reactor(asio::io_context& context, const readiness& reactor) {
    reactor_is_ready = false;
    if (watch_is_armed) return true;
    if (!watched_reactor) {
      const int copy = ::dup(reactor.descriptor());  // a descriptor of its own, since it is closed with the object
      if (copy < 0) return false;
      try {
        watched_reactor.emplace(context, copy);
      } catch (const boost::system::system_error&) {
        ::close(copy);
        return false;
      }
    }
    watch_is_armed = true;
    watched_reactor->async_wait(asio::posix::descriptor_base::wait_read,
                                reactor_ready{&watch_storage, &watch_is_armed, &reactor_is_ready});
    return true;
  }
};

// UNSAFE_IO: Asio's own sockets and timers are used on the loop's thread only, while posting stays safe from every
// thread.
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
  implementation_->watched_reactor.reset();
  implementation_->guard.reset();
}

void shard::post(std::move_only_function<void()> work) {
  implementation& self = *implementation_;
  bool own = false;
  {
    const std::scoped_lock lock(self.mutex);
    self.posted.push_back(std::move(work));
    self.has_posted.store(true);
    own = on_loop_thread();
  }
  if (!own) self.wake(reactor_);
}

void shard::stop() {
  implementation_->stopping.store(true);
  implementation_->wake(reactor_);
}

void shard::context_sleeps_when_idle() { implementation_->guard.reset(); }

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
  if (auto opened = reactor_.open(); !opened) {
    throw std::system_error(std::make_error_code(std::errc::too_many_files_open), opened.error().context());
  }
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
  bool may_sleep = may_wait && ran == 0 && !timer_is_due();
  // A wait in the context runs its handlers; only whether it is idle must be known before.
  if (!may_sleep || !implementation_->guard) ran += run_handlers();
  may_sleep = may_sleep && ran == 0;
  ran += may_sleep ? wait() : run_events();
  if (timers_.earliest()) ran += timers_.run_due(now());
  run_hooks();
  now_is_read_ = false;  // between turns nothing is cached: a paused clock may be moved
  return ran > 0;
}

// Reads the clock for this question only: a turn that waits reads its own time afterwards.
bool shard::timer_is_due() const {
  const auto due = timers_.earliest();
  return due && *due <= clock_.now();
}

std::size_t shard::run_posted() {
  implementation& self = *implementation_;
  if (!self.has_posted.load(std::memory_order_acquire)) return 0;
  {
    const std::scoped_lock lock(self.mutex);
    self.running.swap(self.posted);
    self.has_posted.store(false, std::memory_order_relaxed);
  }
  for (auto& work : self.running) {
    work();
    work = nullptr;  // what it owned goes now, in order, not at the end of the batch
  }
  const std::size_t ran = self.running.size();
  self.running.clear();
  return ran;
}

std::size_t shard::run_handlers() {
  implementation& self = *implementation_;
  if (!self.guard) {
    // Without outstanding work this makes no system call, and stops the context, which tells us so.
    context_.restart();
    if (context_.poll_one() == 0) {
      self.context_is_idle = context_.stopped();
      return 0;
    }
    self.context_is_idle = false;
    return 1 + run_round();
  }
  return run_round();
}

std::size_t shard::run_round() {
  implementation& self = *implementation_;
  context_.restart();  // the last of its work may have stopped it
  if (!self.round_open) {
    self.round_open = true;
    asio::post(context_, end_of_round{&self.round_storage, &self.round_open});
  }
  std::size_t ran = 0;
  while (self.round_open && ran < turn_handlers_max) {
    if (context_.poll_one() == 0) break;  // only when a handler stopped the context
    if (self.round_open) ++ran;
  }
  return ran;
}

std::size_t shard::wait() {
  implementation& self = *implementation_;
  if (const auto due = timers_.earliest()) {
    const time_point now = clock_.now();
    const time_point until = std::min(*due, now + wait_max);
    reactor_.set_alarm(until, until - now);
  }
  self.asleep.store(true);
  if (self.has_posted.load() || self.stopping.load()) {
    self.asleep.store(false);
    return run_posted();
  }
  std::size_t ran = 0;
  const bool alone = !self.guard && self.context_is_idle;
  if (alone || !self.watch_reactor(context_, reactor_)) {
    if (!alone) reactor_.set_alarm(clock_.now() + context_poll_pause, context_poll_pause);
    reactor_.gather(true);
    self.asleep.store(false);
    ran = reactor_.tell();
  } else {
    ran = wait_in_context();
  }
  return ran + run_posted();  // what woke the loop
}

// One handler, waited for; the reactor is one of those that may have one.
std::size_t shard::wait_in_context() {
  implementation& self = *implementation_;
  std::size_t ran = context_.run_one();
  self.asleep.store(false);
  if (self.reactor_is_ready) return run_events();
  ran += run_round();
  // The watch counts as work of the context and could not be told from that of others.
  if (!self.guard && self.watch_is_armed) self.watched_reactor->cancel();
  return ran + run_events();
}

std::size_t shard::run_events() {
  reactor_.gather(false);
  return reactor_.tell();
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
