// Slow work off the loop: password hashes and the like. A few threads behind one shard; each result is posted back to
// it. Without threads, in simulations and tests, work runs where it is asked for.
//     workers.run([hash, text] { return bcrypt_matches(hash, text); }, [](bool ok) { ... });
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tern::runtime {

class shard;

class worker_pool {
 public:
  // Beyond so much waiting work more is refused: a flood of logins must not eat the memory.
  static constexpr std::size_t waiting_max = 4096;

  // No threads are started before the first work. The shard outlives the pool.
  worker_pool(shard& home, std::size_t threads);
  ~worker_pool();  // lets running work end; what waits is dropped, and no result comes any more
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  // On the shard's thread. `done` runs there, in a later turn, or at once when there are no threads. False: too much
  // waits already, nothing was taken.
  bool run(std::move_only_function<bool()> work, std::move_only_function<void(bool)> done);

 private:
  struct implementation;
  std::shared_ptr<implementation> implementation_;
};

}  // namespace tern::runtime
