#include "runtime/worker_pool.hpp"

#include "runtime/shard.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tern::runtime {

struct worker_pool::implementation {
  struct job {
    std::move_only_function<bool()> work;
    std::move_only_function<void(bool)> done;
  };

  implementation(shard& home, std::size_t wanted) : home(home), wanted(wanted) {}

  void serve(const std::shared_ptr<implementation>& self) {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || !waiting.empty(); });
      if (ending) return;
      job next = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      const bool outcome = next.work();
      next.work = nullptr;
      // The results of a pool that is gone are dropped on the loop, where it went.
      home.post([self, outcome, done = std::move(next.done)]() mutable {
        if (!self->gone) done(outcome);
      });
      lock.lock();
    }
  }

  shard& home;
  const std::size_t wanted;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<job> waiting;
  bool ending = false;
  bool gone = false;  // the loop's thread only
};

worker_pool::worker_pool(shard& home, std::size_t threads)
    : implementation_(std::make_shared<implementation>(home, threads)) {}

worker_pool::~worker_pool() {
  implementation& own = *implementation_;
  own.gone = true;
  {
    const std::lock_guard lock(own.mutex);
    own.ending = true;
    own.waiting.clear();
  }
  own.changed.notify_all();
  for (std::thread& one : own.threads) one.join();
}

bool worker_pool::run(std::move_only_function<bool()> work, std::move_only_function<void(bool)> done) {
  implementation& own = *implementation_;
  if (own.wanted == 0) {
    done(work());
    return true;
  }
  {
    const std::lock_guard lock(own.mutex);
    if (own.waiting.size() >= waiting_max) return false;
    own.waiting.push_back({std::move(work), std::move(done)});
  }
  if (own.threads.size() < own.wanted) own.threads.emplace_back([self = implementation_] { self->serve(self); });
  own.changed.notify_one();
  return true;
}

}  // namespace tern::runtime
