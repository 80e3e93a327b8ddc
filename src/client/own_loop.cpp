#include "client/own_loop.hpp"

#include <semaphore>

namespace tern::client {

own_loop::~own_loop() {
  if (thread_.joinable()) thread_.detach();  // the last owner was the thread itself
}

void own_loop::start() {
  // Until the thread has taken the loop over, the loop would believe that this thread is its own.
  std::binary_semaphore taken_over(0);
  loop_.post([&] { taken_over.release(); });
  thread_ = std::thread([self = shared_from_this()] { self->loop_.run(); });
  taken_over.acquire();
}

void own_loop::wait() {
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace tern::client
